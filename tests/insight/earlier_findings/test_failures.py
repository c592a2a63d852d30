import random
from collections import Counter

import pytest

from capscope.insight.earlier_findings.context import FindingContext
from capscope.insight.earlier_findings.failures import (
    achieved_by_others,
    failure_rows,
    find_drops,
    find_failures,
)
from capscope.journal.execution_table import Transition
from support.error_shares import share
from support.tiny_models import ALL, learned, random_models

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


@pytest.mark.parametrize("seed", range(20))
def test_failures_are_counted_in_the_states_where_other_requests_achieve_it(seed):
    context = FindingContext(random_models(random.Random(seed), share=0.8))
    for capability in range(3):
        others = achieved_by_others(context, capability)
        for node, _ in context.tried[capability]:
            ways = [
                other
                for c, other in enumerate(context.intents)
                if c != capability
                and (tried := node.pairs[c]) is not None
                and any(context.holds(capability, e.apply(node.state)) for e in tried.counts)
            ]
            assert set(others.get(node.state, [])) <= set(ways)
        states, failed, draws = failure_rows(context, capability, set(others))
        for i, hits, total in zip(states, failed, draws, strict=True):
            state = context.nodes[i].state
            ends = Counter(
                {e.apply(state): n for e, n in context.pair(capability, state).counts.items()}
            )
            assert total == ends.total()
            assert hits == sum(n for t, n in ends.items() if not context.holds(capability, t))


def test_a_slip_of_another_request_that_happened_to_achieve_it_shows_no_way():
    counts = Counter()
    for state in (s for s in ALL if not s & P):
        counts[Transition(state, GET_P, state)] += 40
        counts[Transition(state, GET_Q, state)] += 20
        counts[Transition(state, GET_Q, state | P)] += 1
    context = FindingContext(learned(counts))
    assert achieved_by_others(context, GET_P) == {}
    assert find_failures(context, share()) == []


def test_an_intent_that_is_never_achieved_is_told_only_if_another_request_does_it():
    (finding,) = find_failures(seen(lambda s: 0.0), share())
    assert "never achieves it, although asking for q() does at once" in finding.sentence
    assert (finding.rate.hits, finding.rate.executions, finding.rate.states) == (0, 160, 4)
    assert find_failures(seen(lambda s: 0.0, elsewhere=False), share()) == []


def test_a_failure_under_a_condition_names_it():
    (finding,) = find_failures(seen(lambda s: 0.0 if s & R else 1.0), share())
    assert [str(clause) for clause in finding.when] == ["when r()"]
    assert (finding.rate.estimate, finding.against.estimate) == (0.0, 1.0)


def test_a_drop_names_the_condition():
    (finding,) = find_drops(seen(lambda s: 0.5 if s & R else 1.0, draws=80), share())
    assert [str(clause) for clause in finding.when] == ["when r()"]
    assert (finding.rate.estimate, finding.against.estimate) == (0.5, 1.0)


def test_a_small_drop_is_not_reported():
    assert find_drops(seen(lambda s: 0.85 if s & R else 0.9, draws=2000), share()) == []


def test_equal_success_is_no_finding():
    assert find_drops(seen(lambda s: 0.8, draws=500), share()) == []


def test_states_are_not_chosen_by_what_the_capability_showed_there():
    """Another request works only where r holds; with one draw each, chance must not look like r."""
    for seed in range(20):
        rng = random.Random(seed)
        counts = Counter()
        for state in (s for s in ALL if not s & P):
            counts[Transition(state, GET_P, state | (P if rng.random() < 0.8 else 0))] += 1
            if state & R:
                counts[Transition(state, GET_Q, state | P)] += 5
        context = FindingContext(learned(counts))
        assert find_drops(context, share()) == []


def test_a_step_that_a_slip_saves_is_no_drop():
    """With r and without q, the agent gets q first; a slip leads to p at once."""
    counts = Counter()
    for state in (s for s in ALL if not s & P):
        step = state & R and not state & Q
        counts[Transition(state, GET_P, state | (Q if step else P))] += 34
        counts[Transition(state, GET_P, state | P)] += 6
    assert find_drops(FindingContext(learned(counts)), share()) == []
