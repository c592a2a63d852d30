"""The graph of what was seen, against plain searches over the transitions themselves."""

import random

import pytest

from capscope.insight.earlier_findings.context import DISCOUNT, FindingContext
from capscope.journal.execution_table import Transition
from support.tiny_models import INTENTS, WORDS, learned, random_models

P, Q, R = 1, 2, 4


def seen(*transitions):
    """Learn from (before, capability, after), each seen ten times."""
    return FindingContext(learned({Transition(*t): 10 for t in transitions}))


def edges_of(context):
    """List every pair's outcomes with the probabilities of its rule."""
    for place in context.nodes:
        for pair in place.pairs:
            if pair is not None:
                ends = [after.state for after in pair.successors]
                yield place.state, dict(zip(ends, pair.group.probabilities(), strict=True))


def settled_by_looking(context, capability, *, lucky, hopeful):
    """Sweep over all pairs, one by one, until nothing moves."""
    value = {}
    for place in context.nodes:
        untried = hopeful and place.tried < len(place.pairs)
        held = context.holds(capability, place.state)
        value[place.state] = 1.0 if held else DISCOUNT * untried
    while True:
        moved = 0.0
        for state, ends in edges_of(context):
            worth = [value[end] for end in ends]
            mean = sum(value[end] * p for end, p in ends.items())
            now = DISCOUNT * (max(worth) if lucky else mean)
            moved = max(moved, now - value[state])
            value[state] = max(value[state], now)
        if moved < 1e-12:
            return value


@pytest.mark.parametrize("seed", range(8))
def test_nearness_is_what_sweeping_over_all_pairs_gives(seed):
    context = FindingContext(random_models(random.Random(seed), share=0.7))
    for capability in range(len(INTENTS)):
        near = context.nearness(capability)
        for hopeful, values in ((False, near.at_worst), (True, near.at_best)):
            for lucky, found in zip((True, False), values, strict=True):
                naive = settled_by_looking(context, capability, lucky=lucky, hopeful=hopeful)
                for state, i in near.position.items():
                    assert found[i] == pytest.approx(naive[state], abs=1e-6)


def test_a_step_on_the_way_is_nearer():
    context = seen((0, 0, Q), (Q, 0, P | Q))
    near = context.nearness(0)
    assert near.at_least_as_near(Q, 0)
    assert not near.at_least_as_near(0, Q)


def test_a_state_where_something_is_untried_is_not_known_to_be_far():
    transitions = [(0, 0, Q), (0, 1, R), (0, 2, 0), (R, 0, P | R)]
    unknown = seen(*transitions)
    assert not unknown.nearness(0).at_least_as_near(0, Q)
    # Once everything was tried there, it is known to lead nowhere.
    known = seen(*transitions, *((Q, c, Q) for c in range(3)))
    assert known.nearness(0).at_least_as_near(0, Q)


@pytest.mark.parametrize("seed", range(8))
def test_what_was_tried_is_what_going_through_all_pairs_gives(seed):
    context = FindingContext(random_models(random.Random(seed), share=0.6))
    for capability in range(len(INTENTS)):
        tried = {
            place.state
            for place in context.nodes
            if place.pairs[capability] is not None and not context.holds(capability, place.state)
        }
        assert {place.state for place, _ in context.tried[capability]} == tried


@pytest.mark.parametrize("seed", range(8))
def test_ways_count_the_draws_of_each_capability_that_led_there(seed):
    context = FindingContext(random_models(random.Random(seed), share=0.7))
    for place in context.nodes:
        counted = {}
        for capability, pair in enumerate(place.pairs):
            for effect, draws in (pair.counts if pair else {}).items():
                end = effect.apply(place.state)
                if end != place.state:
                    counted.setdefault(end, {})[capability] = draws
        assert context.ways[place.state] == counted
        assert context.ways[place.state].keys() == counted.keys()


def test_only_places_where_the_intent_does_not_hold_count_as_tried():
    context = seen((0, 0, P), (P, 0, P))
    assert [place.state for place, _ in context.tried[0]] == [0]
    assert WORDS is context.vocabulary
