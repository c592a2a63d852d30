"""What is said of the states in which a capability was tried, in worlds whose odds are known."""

import itertools
import statistics

import pytest
from hypothesis import given, settings

from capscope.insight.tried_rules import tried_rules
from capscope.logic import Effect
from capscope.model import LearnedModel
from support.chance_worlds import ASKED, BROKEN, DONE, LOST, NOTHING, ChanceWorld, X, succeeds
from support.odd_names import odd_models

SEEDS = range(6)


def by_one_atom(state, _):
    return succeeds(0.9 if state & X[0] else 0.6)


def rarely_failing(_, __):
    return succeeds(0.95)


def failing_in_several_ways(_, __):
    return {DONE: 0.7, NOTHING: 0.1, BROKEN: 0.1, LOST: 0.1}


def uneven(_, rng):
    return succeeds(rng.betavariate(5.6, 2.4))


def slightly_uneven(_, rng):
    return succeeds(rng.betavariate(48, 12))


def parts(world):
    """Return the states of each rule; a state in which nothing ever happened may be any."""
    acted = {state for state, seen in world.counts.items() if set(seen) != {NOTHING}}
    return {frozenset(acted.intersection(rule.states)) for rule in world.rules} - {frozenset()}


@pytest.mark.parametrize(("states", "draws"), [(20, 40), (60, 15), (200, 4)])
def test_odds_that_depend_on_an_atom_are_two_rules(states, draws):
    def divided(world):
        acted = {state for state, seen in world.counts.items() if set(seen) != {NOTHING}}
        own = frozenset(state for state in acted if state & X[0])
        return {own, frozenset(acted) - own}

    worlds = [ChanceWorld(by_one_atom, states, draws, seed) for seed in SEEDS]
    assert sum(parts(world) == divided(world) for world in worlds) >= len(worlds) - 1


@pytest.mark.parametrize("odds", [rarely_failing, failing_in_several_ways])
@pytest.mark.parametrize(("states", "draws"), [(30, 20), (150, 5)])
def test_the_same_odds_everywhere_are_one_rule_whatever_a_state_happened_to_show(
    odds, states, draws
):
    worlds = [ChanceWorld(odds, states, draws, seed) for seed in SEEDS]
    assert [len(parts(world)) for world in worlds] == [1] * len(worlds)
    assert len({frozenset(seen) for world in worlds for seen in world.counts.values()}) > 1


@pytest.mark.parametrize(
    # Where states differ much, draws that follow unusual answers shift the mean of the type.
    ("odds", "least"),
    [(by_one_atom, 0.93), (rarely_failing, 0.93), (slightly_uneven, 0.93), (uneven, 0.85)],
)
def test_the_interval_of_a_prediction_covers_the_truth_of_its_state(odds, least):
    covered, widths = [], []
    for seed in SEEDS:
        world = ChanceWorld(odds, 80, 15, seed)
        model = world.model
        for state, effect in itertools.product(world.states, (DONE, NOTHING)):
            low, high = model.predict(state, ASKED).interval([effect.apply(state)])
            covered.append(low <= world.truth[state][effect] <= high)
            widths.append(high - low)
    assert sum(covered) >= least * len(covered)
    assert sum(widths) / len(widths) < 0.5


def test_the_draws_of_a_state_count_more_if_states_differ():
    worth = {}
    for odds in (uneven, rarely_failing):
        world = ChanceWorld(odds, 60, 20, seed=1)
        model = world.model
        found = [model.predict(state, ASKED).support.worth for state in world.states]
        worth[odds] = statistics.median(found)
    assert 10 < worth[uneven] < worth[rarely_failing] <= 60 * 20


@given(odd_models())
@settings(max_examples=40)
def test_each_tried_state_is_in_one_rule_with_all_its_executions(graph):
    model = LearnedModel.fitted(graph)
    for capability, intent in enumerate(graph.capabilities):
        holds, rules = intent.test(graph.vocabulary), tried_rules(model, intent)
        tried = [s for s, node in graph.nodes.items() if node.pairs[capability] is not None]
        assert sorted(state for rule in rules for state in rule.states) == sorted(tried)
        for rule in rules:
            assert {holds(state) for state in rule.states} == {rule.held}
            seen = [graph.pair(state, capability).counts for state in rule.states]
            assert rule.executions == sum(sum(counts.values()) for counts in seen)
            assert sum(one.probability for one in rule.outcomes) == pytest.approx(1.0, abs=0.02)
            for one in rule.outcomes:
                assert one.count == sum(counts.get(one.effect, 0) for counts in seen)
                assert {holds(one.effect.apply(state)) for state in rule.states} == {one.achieved}
                predicted = [
                    model.predict(state, intent).share([one.effect.apply(state)])
                    for state in rule.states
                ]
                assert one.probability == pytest.approx(sum(predicted) / len(predicted))
                assert one.interval[0] <= min(predicted) <= max(predicted) <= one.interval[1]
                if one.count:
                    assert any(
                        Effect.between(s, one.effect.apply(s)) == one.effect for s in rule.states
                    )
