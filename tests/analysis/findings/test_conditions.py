from collections import Counter

from capscope.analysis.findings.conditions import find_conditions, successes
from capscope.analysis.findings.context import FindingContext
from capscope.record.execution_table import Transition
from support.error_shares import share
from support.tiny_models import ALL, learned

P, Q, R = 1, 2, 4
GET_P, GET_Q, END_R = range(3)


def seen(success, draws=40, elsewhere=True):
    """Learn of an agent that gets p with a probability by state; another way shows it possible."""
    counts = Counter()
    for state in (s for s in ALL if not s & P):
        hits = round(success(state) * draws)
        counts[Transition(state, GET_P, state | P)] += hits
        counts[Transition(state, GET_P, state)] += draws - hits
        if elsewhere:
            counts[Transition(state, GET_Q, state | P)] += 1
    return FindingContext(learned(+counts))


def test_only_states_where_the_intent_is_possible_at_once_count():
    shown = seen(lambda s: 0.0, elsewhere=True)
    hidden = seen(lambda s: 0.0, elsewhere=False)
    assert len(successes(shown, GET_P).states) == 4
    assert len(successes(hidden, GET_P).states) == 0
    assert find_conditions(hidden, share()) == []


def test_a_drop_to_nothing_is_reported_as_doing_nothing():
    (finding,) = find_conditions(seen(lambda s: 0.0 if s & R else 1.0), share())
    assert [str(clause) for clause in finding.when] == ["when r()"]
    assert "does nothing" in finding.sentence
    assert (finding.rate.hits, finding.against.probability) == (0, 1.0)


def test_two_weak_spots_are_reported_one_after_the_other():
    odds = {0: 1.0, Q: 0.0, R: 0.6, Q | R: 0.0}
    first, second = find_conditions(seen(odds.__getitem__, draws=100), share())
    assert [str(clause) for clause in first.when] == ["when q()"]
    assert [str(clause) for clause in second.when] == ["when r()", "when not q()"]
    assert second.rate.states == second.against.states == 1


def test_a_small_drop_is_not_reported():
    assert find_conditions(seen(lambda s: 0.85 if s & R else 0.9, draws=2000), share()) == []


def test_equal_success_is_no_finding():
    assert find_conditions(seen(lambda s: 0.8, draws=500), share()) == []
