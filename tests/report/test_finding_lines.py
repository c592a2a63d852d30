from capscope import Budget, assess
from capscope.logic import Effect
from capscope.report.text import example_text, finding_lines
from support.quirky_worlds import LAMPS, lights_another, problem


def test_a_finding_is_shown_with_an_example():
    run = assess(problem(LAMPS, lights_another), budget=Budget(executions=1000))
    finding, *_ = run.findings()
    first, *rest = finding_lines(run, finding)
    assert first == "does more"
    shown = " ".join(line.strip() for line in rest)
    assert shown.startswith(finding.sentence)
    assert shown.endswith("to get there: this is where the run begins")
    example = finding.example
    assert example_text(run.graph, example) in shown
    did = ", ".join(map(str, run.actions(example.execution)))
    assert f"to replay it: {did} (query {run.executions.query[example.execution]}, " in shown
    lit = Effect.between(example.before, example.after).literals(run.graph.vocabulary)
    assert len(lit) == 2 and set(example.intent.literals) < set(lit)  # the one asked for, another
    assert all(len(line) <= 96 for line in rest)
