from capscope import Budget, assess
from capscope.insight.findings import find_findings
from capscope.report.text import finding_lines
from support.quirky_worlds import LAMPS, lights_another, problem


def test_a_finding_is_shown_with_an_example():
    graph = assess(problem(LAMPS, lights_another), budget=Budget(executions=1000)).graph
    (finding,) = find_findings(graph)
    first, *rest = finding_lines(finding)
    assert first == "collateral change"
    shown = " ".join(line.strip() for line in rest)
    assert shown.startswith(finding.sentence)
    assert shown.endswith("to get there: this is where the run begins")
    assert "asked for on(b) in 0x0 (no atom holds): on(b), on(c)" in shown
    assert all(len(line) <= 96 for line in rest)
