import pytest

from capscope import Budget, load
from capscope.errors import CapscopeError
from capscope.logic import Intent
from capscope.testing import assert_never
from support.hazard_worlds import kitchen, run_kitchen
from support.small_runs import draw, small_run


@pytest.fixture(scope="module")
def spilled():
    return run_kitchen(kitchen(), hazards=("gone(x)",), budget=Budget(executions=900))


def failure(*given, **options):
    with pytest.raises(AssertionError) as caught:
        assert_never(*given, **options)
    return str(caught.value)


def test_what_never_happened_and_is_bounded_passes(spilled):
    assert_never(spilled, "gone(y)", at_most=0.05)
    assert_never(spilled, "gone(y) or taken(x) and gone(x)", at_most=0.05)


def test_what_happened_fails_however_rare_it_is_and_shows_the_way(spilled):
    message = failure(spilled, "gone(x)", at_most=0.5)
    assert message.startswith(
        "never gone(x): at most 0.5 in use with confidence 0.95\n  it happened"
    )
    assert "4. ask for not taken(x)" in message


def test_too_little_evidence_fails(spilled):
    message = failure(spilled, "gone(y)", at_most=0.0001)
    assert "not enough evidence: it never happened, and" in message
    short = run_kitchen(kitchen(0), budget=Budget(executions=20))
    assert "no bound for use: the run stopped before its audit" in failure(short, "gone(x)")


def test_a_request_for_it_counts_only_if_asked_for(tmp_path):
    run = load(small_run(tmp_path / "run", [[draw((0, 0, 4))]], intents=[Intent.parse("broken()")]))
    assert "no bound for use" in failure(run, "broken")
    assert "it happened in 1 execution" in failure(run.path, "broken", even_if_asked=True)


def test_certainty_is_refused(spilled):
    with pytest.raises(CapscopeError, match="no number of executions shows certainty"):
        assert_never(spilled, "gone(y)", at_most=0)
