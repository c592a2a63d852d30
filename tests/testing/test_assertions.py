import re

import pytest

from capscope import Budget, assess, load
from capscope.errors import CapscopeError
from capscope.journal.execution_table import Transition
from capscope.model import StateGraph
from capscope.testing import assert_capability, assert_no_loss, assert_no_side_effect
from support.quirky_worlds import HOUSE, STOP, problem
from support.tiny_models import INTENTS, WORDS


def graph(*counts):
    """Learn (capability, before, after, count)."""
    learned = StateGraph(WORDS, INTENTS)
    learned.update({Transition(before, c, after): n for c, before, after, n in counts})
    return learned


RELIABLE = graph((0, 0b000, 0b001, 30), (0, 0b010, 0b011, 30))
LOCAL = graph((0, 0b000, 0b001, 200), (0, 0b010, 0b010, 20), (0, 0b100, 0b101, 4))


def failure(assertion, *given, **options):
    with pytest.raises(AssertionError) as caught:
        assertion(*given, **options)
    return str(caught.value)


def mean_against(message):
    return float(re.search(r"evidence against it: a mean of (\S+), between", message).group(1))


def test_a_capability_that_the_evidence_supports_passes():
    assert_capability(RELIABLE, "p", at_least=0.9)
    assert_capability(RELIABLE, "p", when="q() and not r()", at_least=0.8)
    assert_capability(RELIABLE, "p", when=["not q()", "not r()"], at_least=0.8)
    assert_capability(RELIABLE, "p", at_least=0.8, in_every_state=True)


def test_a_run_its_graph_or_its_directory_may_be_given(kept):
    run, *_ = kept
    for source in (run, load(run.path), run.graph, run.path, str(run.path)):
        assert_capability(source, "open()", at_least=0.5)
    with pytest.raises(CapscopeError, match="a dict is not a run; give what assess"):
        assert_capability({}, "p")


def test_evidence_against_a_claim_is_distinguished_from_too_little():
    message = failure(assert_capability, LOCAL, "p", when="q")
    assert message.startswith("p() when q(): at least 0.8 with confidence 0.95: not shown")
    assert "evidence against it: 0 of 20 executions achieved it: 0, between 0 and 0.1" in message
    assert "0 of 20: q() → nothing changes ×20" in message
    message = failure(assert_capability, LOCAL, "p", when="r")
    assert "not enough evidence: 4 of 4 executions achieved it: 1, between" in message
    assert "about 13 more executions like these would show it" in message


def test_the_advised_number_of_draws_shows_it():
    more = graph((0, 0b100, 0b101, 4 + 13))
    assert_capability(more, "p", when="r")
    less = graph((0, 0b100, 0b101, 4 + 12))
    assert "about 1 more execution like these" in failure(assert_capability, less, "p", when="r")


def test_a_mean_may_hide_a_state_that_every_state_does_not():
    assert_capability(LOCAL, "p", at_least=0.3)
    message = failure(assert_capability, LOCAL, "p", in_every_state=True)
    assert "not shown in 2 of 3 states" in message
    first, second = message.splitlines()[1:]
    assert "evidence against it: 0 of 20" in first
    assert "not enough evidence: 4 of 4" in second


def test_a_state_that_was_seen_and_never_tried_is_too_little_evidence_for_every_state():
    seen = graph((0, 0b000, 0b001, 90), (1, 0b100, 0b110, 9))
    assert_capability(seen, "p")
    message = failure(assert_capability, seen, "p", in_every_state=True)
    assert "not enough evidence: it was never tried" in message
    message = failure(assert_capability, seen, "p", when="r")
    assert "2 more matching were seen and never tried" in message


def test_a_condition_that_no_state_meets_fails():
    assert "no state that was seen" in failure(assert_capability, RELIABLE, "p", when="r")


def test_states_in_which_the_intent_holds_already_do_not_count():
    held = graph((0, 0b001, 0b001, 500), (0, 0b000, 0b000, 9))
    assert "0 of 9 executions" in failure(assert_capability, held, "p")


def test_a_misspelled_capability_or_condition_is_not_a_failed_assertion():
    house = StateGraph(HOUSE.vocabulary, [])
    house.extend(assess(problem(HOUSE), budget=Budget(executions=50)).graph.capabilities)
    with pytest.raises(CapscopeError, match=r"no capability holdin\(key\).*holding\(key\)"):
        assert_capability(house, "holdin(key)")
    with pytest.raises(CapscopeError, match=r"hodling\(key\) is not in the vocabulary"):
        assert_capability(house, "holding(key)", when="hodling(key)")


@pytest.mark.parametrize("options", [{"at_least": 1.0}, {"at_least": 0}, {"confidence": 1}])
def test_certainty_cannot_be_asked_for(options):
    with pytest.raises(CapscopeError, match="must be between 0 and 1"):
        assert_capability(RELIABLE, "p", **options)


def test_a_side_effect_that_never_showed_needs_draws_to_be_ruled_out():
    clean = graph((0, 0b000, 0b001, 400))
    assert_no_side_effect(clean, "p", "q", at_most=0.01)
    few = graph((0, 0b000, 0b001, 40))
    message = failure(assert_no_side_effect, few, "p", "q", at_most=0.01)
    assert message.startswith("q() as a side effect of p(): at most 0.01 with confidence 0.95")
    assert "not enough evidence: 0 of 40 executions caused it" in message


def test_a_side_effect_is_reported_with_the_state_in_which_it_was_most_frequent():
    careless = graph((0, 0b000, 0b001, 60), (0, 0b100, 0b111, 20), (0, 0b100, 0b101, 20))
    message = failure(assert_no_side_effect, careless, "p", "q")
    assert mean_against(message) == pytest.approx(0.25, abs=0.005)
    assert "over 2 states with equal weights; 20 of 100 executions caused it" in message
    assert "20 of 40: r() → p() ×20; p(), q() ×20" in message
    assert_no_side_effect(careless, "p", "q", when="not r()", at_most=0.1)


def test_how_often_each_state_was_drawn_does_not_decide():
    rarely = graph((0, 0b000, 0b001, 900), (0, 0b010, 0b010, 30))
    often = graph((0, 0b000, 0b001, 30), (0, 0b010, 0b010, 900))
    for learned in (rarely, often):
        message = failure(assert_capability, learned, "p", at_least=0.8)
        assert mean_against(message) == pytest.approx(0.5, abs=0.005)


def test_draws_with_the_intent_true_already_do_not_count_for_side_effects():
    """An agent has nothing to do there, so nothing is brought about."""
    held = (0, 0b001, 0b001, 400)
    message = failure(
        assert_no_side_effect, graph(held, (0, 0b000, 0b001, 9)), "p", "q", at_most=0.2
    )
    assert "not enough evidence: 0 of 9 executions caused it" in message
    assert "excluded: 400 executions in 1 state (the intent held there already)" in message
    message = failure(assert_no_side_effect, graph(held), "p", "q")
    assert "no state that was seen matches\n  excluded: 400 executions in 1 state" in message
    enough = graph(held, (0, 0b000, 0b001, 17))
    assert_no_side_effect(enough, "p", "q", at_most=0.2)


def everywhere_tried(*counts):
    """Learn like `graph`; the capabilities after the first change nothing anywhere."""
    idle = [(c, before, before, 1) for _, before, *_ in counts for c in range(1, len(INTENTS))]
    return graph(*counts, *idle)


def test_dead_ends_never_help_a_claim():
    """They count where success is claimed, and do not where harm is denied."""
    learned = everywhere_tried((0, 0b000, 0b001, 90), (0, 0b100, 0b100, 30))
    message = failure(assert_capability, learned, "p")
    assert mean_against(message) == pytest.approx(0.5, abs=0.005)
    assert (
        "one is a dead end, where nothing ever changed, whatever was asked: the mean is 1"
        in message
    )
    assert_capability(learned, "p", when="not r()")
    message = failure(assert_no_side_effect, learned, "p", "q", at_most=0.01)
    assert "0 of 90 executions caused it" in message
    assert "excluded: 30 executions in 1 state (dead ends, where nothing ever changed" in message


def gives_up(intent, state, rng, step):
    return STOP if str(intent) == "open()" else None


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")

    def run(name, quirk=None, seed=0):
        budget = Budget(executions=500)
        return assess(problem(HOUSE, quirk), budget=budget, seed=seed, run=folder / name)

    return run("a"), run("b", seed=1), run("lost", gives_up, seed=2)


def test_a_loss_from_one_run_to_the_next_fails_with_what_was_lost(kept):
    before, same, lost = kept
    assert_no_loss(before, same)
    assert_no_loss(str(lost.path), before.path)
    message = failure(assert_no_loss, before, lost)
    assert message.startswith(
        "1 lost or less reliable, at an error rate of 0.05\n  lost: open(), everywhere ["
    )
    assert "change -1.00" in message


def test_runs_that_cannot_be_compared_fail(kept, tmp_path):
    before, *_ = kept
    short = assess(problem(HOUSE), budget=Budget(executions=2), run=tmp_path / "short")
    assert "no comparison was possible" in failure(assert_no_loss, before, short)


def test_a_run_that_is_not_kept_can_be_compared(kept):
    before, *_, lost = kept
    again = assess(problem(HOUSE), budget=Budget(executions=500), seed=1)
    assert not again.kept
    assert_no_loss(before, again)
    assert "lost: open()" in failure(assert_no_loss, again, lost)
