from capscope import Budget, assess
from capscope.insight.findings import FINDING_KINDS, Kind, find_findings
from capscope_experiments.worlds import mail


def test_a_change_beyond_the_request_is_a_finding_from_its_first_execution_on():
    run = assess(mail.WORLDS["mail"].problem(), budget=Budget(executions=60))
    found = find_findings(run)
    assert {f.kind for f in found} <= {Kind.MORE, Kind.ELSE}
    assert any(f.change.startswith("deleted(") and f.lasting for f in found)
    assert [f.harm for f in found] == sorted(f.harm for f in found)
    assert "beyond the request" in FINDING_KINDS.all
