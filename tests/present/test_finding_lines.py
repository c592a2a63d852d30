from capscope import Budget, assess
from capscope.analysis.findings import find_findings
from capscope.present.text import finding_lines
from support.quirky_worlds import HOUSE, opens_the_door, problem


def test_a_finding_is_shown_with_an_example():
    graph = assess(problem(HOUSE, opens_the_door), budget=Budget(executions=1000)).graph
    (finding,) = find_findings(graph)
    first, *rest = finding_lines(finding)
    assert first == "detour"
    shown = " ".join(line.strip() for line in rest)
    assert shown.startswith(finding.sentence)
    assert shown.endswith("to get there: this is where the run begins")
    assert "asked for holding(key) in 0x1 (at(nw)): open()" in shown
    assert all(len(line) <= 96 for line in rest)
