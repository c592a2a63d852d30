from capscope import Budget, assess
from capscope.insight.earlier_findings import find_findings
from capscope.logic import Effect
from capscope.report.text import example_text, finding_lines
from support.quirky_worlds import LAMPS, lights_another, problem


def test_a_finding_is_shown_with_an_example():
    graph = assess(problem(LAMPS, lights_another), budget=Budget(executions=1000)).graph
    (finding,) = find_findings(graph)
    first, *rest = finding_lines(finding)
    assert first == "collateral change"
    shown = " ".join(line.strip() for line in rest)
    assert shown.startswith(finding.sentence)
    assert shown.endswith("to get there: this is where the run begins")
    (example,) = finding.examples[:1]
    assert example_text(example) in shown
    lit = Effect.between(example.state, example.after).literals(example.vocabulary)
    assert len(lit) == 2 and set(example.intent.literals) < set(
        lit
    )  # the lamp asked for and another
    assert all(len(line) <= 96 for line in rest)
