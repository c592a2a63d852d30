"""A run whose agent changed, or never changed anything, is not called settled anywhere."""

import pytest

from capscope import Settings, assess
from capscope.insight.findings import Kind
from capscope.journal.run_meta import StopKind
from capscope.logic import to_json
from capscope.report.digest import digest_run
from capscope.report.digest.build import facts_of
from capscope.report.overview import findings_document, rule_lines, run_document, run_lines
from capscope.testing import assert_capability, assert_no_loss, assert_no_side_effect
from support.changing_agents import Failing
from support.toy_worlds import Board, Scripted, board_problem

CHANGED = "the agent changed while the run was under way"
IDLE = "no execution changed anything"


@pytest.fixture(scope="module", params=["adaptive", "exhaustive"])
def strategy(request):
    return request.param


@pytest.fixture(scope="module")
def drifted(strategy):
    settings = Settings(min_draws=12, intents=("lit(a)", "not lit(a)", "lit(b)", "not lit(b)"))
    return assess(board_problem(Board(), Failing(120)), strategy=strategy, settings=settings)


@pytest.fixture(scope="module")
def idle(strategy):
    settings = Settings(intents=("lit(a)", "lit(b)"))
    return assess(board_problem(agent=Scripted("wait")), strategy=strategy, settings=settings)


@pytest.fixture(params=["drifted", "idle"])
def withheld(request, strategy):
    return request.getfixturevalue(request.param)


def test_the_criterion_is_met_in_vain(withheld, strategy):
    if strategy == "adaptive":
        assert withheld.stop_reason.kind is StopKind.AUDITED
        assert withheld.audit.passed
    else:
        assert withheld.stop_reason.kind is StopKind.SETTLED
        assert withheld.verdict.reached


def test_no_view_calls_it_settled(withheld):
    reason = withheld.claim_withheld
    lines = [*run_lines(withheld), *rule_lines(withheld, None)]
    assert lines.count(f"HOW SURE  nothing is settled: {reason}") == 1
    assert lines.count(f"nothing is settled: {reason}") == 1
    assert f"stopped: its criterion was met, but {reason}" in " ".join(" ".join(lines[:2]).split())
    assert dict(facts_of(withheld))["stop reason"] == f"its criterion was met, but {reason}"
    shown = withheld._repr_html_()
    assert f"nothing is settled: {reason}" in shown
    for text in (*lines, shown):
        assert "settled:" not in text.replace("nothing is settled:", "")
        assert "nothing left to settle" not in text


def test_the_document_says_why(withheld):
    verdict = run_document(withheld)["verdict"]
    assert verdict["reached"] is False
    assert verdict["withheld"] == withheld.claim_withheld


def test_an_agent_that_changed_is_warned_about_with_an_example(drifted):
    assert drifted.claim_withheld == CHANGED
    (note,) = drifted.notes()
    assert note.startswith(f"warning: {CHANGED}, after about ")
    assert " executions before ended with " in note
    assert note.endswith("all rates are mixtures of what it did before and after")
    assert note in digest_run(drifted)["notes"]
    first, *others = drifted.first_screen.warnings
    assert (first.serious, first.what) == (True, CHANGED)
    (example,) = (one for one in others if [f.kind for f in one.findings] == [Kind.DRIFT])
    assert " before, and " in example.what
    assert f"after about {drifted.drift.executions:,} executions" in first.evidence
    assert run_document(drifted)["drift"] == to_json(drifted.drift)
    assert findings_document(drifted, None, None)["drift"] == to_json(drifted.drift)


def test_an_agent_that_never_changes_anything_is_asked_about(idle):
    assert idle.claim_withheld == IDLE
    assert list(idle.notes()) == [f"warning: {IDLE}; does the agent act on this world?"]
    assert run_document(idle)["drift"] is None
    first = idle.first_screen.warnings[0]
    assert first.what == "nothing ever changed; does the agent act on this world?"
    assert first.evidence == f"{len(idle.executions):,} executions"


def test_nothing_can_be_asserted_of_it(withheld):
    for assertion in (
        lambda: assert_capability(withheld, "lit(a)"),
        lambda: assert_no_side_effect(withheld, "lit(a)", "lit(b)"),
    ):
        with pytest.raises(AssertionError, match=withheld.claim_withheld):
            assertion()


def test_an_agent_that_changed_cannot_be_compared_and_an_idle_one_can(drifted, idle):
    settled = assess(board_problem(), settings=Settings(intents=("lit(a)", "lit(b)")))
    assert settled.claim_withheld is settled.drift is None
    with pytest.raises(AssertionError, match=CHANGED):
        assert_no_loss(settled, drifted)
    with pytest.raises(AssertionError, match="lost"):
        assert_no_loss(settled, idle)
