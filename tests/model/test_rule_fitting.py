"""Rules fitted to worlds whose odds are known, and against a twin that tries everything."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

from capscope.logic import Effect, Intent, Vocabulary
from capscope.model import StateGraph
from capscope.model.rules import best_split, classify, fit_rules, leaves, outcome_types
from capscope.stats.betting import evidence_of_splits, evidence_of_two_distributions
from capscope.stats.partial_pooling import CONCENTRATIONS
from support.chance_worlds import BROKEN, DONE, LOST, NOTHING, ChanceWorld, X, succeeds
from support.odd_names import odd_models

SEEDS = range(6)


def by_one_atom(state, _):
    return succeeds(0.9 if state & X[0] else 0.6)


def by_two_atoms(state, _):
    return succeeds(0.9 if state & X[0] and state & X[1] else 0.6)


def rarely_failing(_, __):
    return succeeds(0.95)


def failing_in_several_ways(_, __):
    return {DONE: 0.7, NOTHING: 0.1, BROKEN: 0.1, LOST: 0.1}


def sharing_an_effect(state, _):
    return {BROKEN: 0.8, NOTHING: 0.2} if state & X[0] else {LOST: 0.6, NOTHING: 0.4}


def uneven(_, rng):
    return succeeds(rng.betavariate(5.6, 2.4))


def slightly_uneven(_, rng):
    return succeeds(rng.betavariate(48, 12))


def parts(world):
    return {frozenset(rule.states) for rule in world.rules}


def divided(world, inside):
    own = frozenset(state for state in world.states if inside(state))
    return {own, frozenset(world.states) - own}


@pytest.mark.parametrize(("states", "draws"), [(20, 40), (60, 15), (200, 4)])
def test_odds_that_depend_on_an_atom_are_two_rules(states, draws):
    worlds = [ChanceWorld(by_one_atom, states, draws, seed) for seed in SEEDS]
    assert sum(parts(w) == divided(w, lambda s: s & X[0]) for w in worlds) >= len(worlds) - 1


def test_odds_that_depend_on_two_atoms_are_two_rules_and_not_three():
    worlds = [ChanceWorld(by_two_atoms, 100, 15, seed) for seed in SEEDS]
    assert all(parts(w) == divided(w, lambda s: s & X[0] and s & X[1]) for w in worlds)


@pytest.mark.parametrize("odds", [rarely_failing, failing_in_several_ways])
@pytest.mark.parametrize(("states", "draws"), [(30, 20), (150, 5)])
def test_the_same_odds_everywhere_are_one_rule_whatever_a_state_happened_to_show(
    odds, states, draws
):
    worlds = [ChanceWorld(odds, states, draws, seed) for seed in SEEDS]
    assert [len(world.rules) for world in worlds] == [1] * len(worlds)
    assert len({frozenset(seen) for world in worlds for seen in world.counts.values()}) > 1


def test_an_effect_that_two_types_share_does_not_unite_them():
    worlds = [ChanceWorld(sharing_an_effect, 60, 5, seed) for seed in SEEDS]
    # Also the states that showed only the shared effect are where they belong.
    assert all(parts(w) == divided(w, lambda s: s & X[0]) for w in worlds)
    assert any(set(seen) == {NOTHING} for w in worlds for seen in w.counts.values())


def test_states_that_differ_without_a_reason_are_one_rule_that_says_so():
    for seed in SEEDS:
        (rule,) = ChanceWorld(uneven, 60, 20, seed).rules
        low, high = rule.outcomes[0].spread
        assert low < 0.5
        assert high > 0.85
    (rule,) = ChanceWorld(rarely_failing, 60, 20, 0).rules
    assert rule.outcomes[0].spread is None


@pytest.mark.parametrize("odds", [by_one_atom, rarely_failing, slightly_uneven, uneven])
def test_the_interval_of_a_rule_covers_the_truth_of_its_states(odds):
    covered = []
    for seed in SEEDS:
        world = ChanceWorld(odds, 80, 15, seed)
        for rule in world.rules:
            for state, outcome in itertools.product(rule.states, rule.outcomes):
                low, high = outcome.interval
                covered.append(low <= world.truth[state][outcome.effect] <= high)
    assert sum(covered) >= 0.93 * len(covered)


def test_the_draws_of_a_state_count_more_if_states_differ():
    for odds, own in ((uneven, True), (rarely_failing, False)):
        world = ChanceWorld(odds, 60, 20, seed=1)
        (rule,) = world.rules
        (pooled,) = (o.probability for o in rule.outcomes if o.effect == DONE)
        error = {True: 0.0, False: 0.0}
        for state in world.states:
            truth, estimate = world.truth[state][DONE], rule.distribution(world.counts[state])
            assert sum(estimate.values()) == pytest.approx(1)
            error[True] += abs(estimate[DONE] - truth)
            error[False] += abs(pooled - truth)
        assert (error[True] < 0.8 * error[False]) is own


WORDS = Vocabulary.of_atoms("pqr")
INTENT = Intent.parse("p")


def rules_of(counts):
    """Fit rules to counts by state and successor."""
    graph = StateGraph(WORDS, [INTENT])
    graph.update({(before, 0, after): n for (before, after), n in counts.items()})
    return {rule.states: {o.effect: o.count for o in rule.outcomes} for rule in graph.rules(INTENT)}


def test_if_every_state_gives_one_answer_each_effect_is_a_rule():
    counts = {(0b000, 0b001): 1, (0b010, 0b011): 1, (0b100, 0b100): 9, (0b001, 0b001): 1}
    assert rules_of(counts) == {
        (0b001, 0b100): {Effect(0, 0): 10},
        (0b000, 0b010): {Effect(1, 0): 2},
    }


def test_an_effect_that_is_impossible_in_a_state_is_no_outcome_there():
    counts = {(0b000, 0b001): 3, (0b000, 0b000): 3, (0b010, 0b010): 1, (0b001, 0b001): 1}
    assert rules_of(counts) == {
        # p may come true where it is false, although it did not yet ...
        (0b000, 0b010): {Effect(0, 0): 4, Effect(1, 0): 3},
        # ... and cannot where it is true.
        (0b001,): {Effect(0, 0): 1},
    }


def test_a_single_draw_is_no_reason_for_a_condition():
    counts = {(0b000, 0b001): 10**6, (0b000, 0b000): 1, (0b010, 0b010): 1}
    assert list(rules_of(counts)) == [(0b000, 0b010)]


@given(odd_models())
def test_each_tried_state_is_in_one_rule_with_effects_that_are_possible_and_all_its_draws(graph):
    for capability, intent in enumerate(graph.capabilities):
        rules = fit_rules(graph, capability)
        assert rules == graph.rules(intent)
        tried = [s for s, node in graph.nodes.items() if node.pairs[capability] is not None]
        assert sorted(state for rule in rules for state in rule.states) == sorted(tried)
        for rule in rules:
            seen = [graph.pair(state, capability).counts for state in rule.states]
            for outcome in rule.outcomes:
                assert outcome.count == sum(counts.get(outcome.effect, 0) for counts in seen) > 0
                for state in rule.states:
                    assert Effect.between(state, outcome.effect.apply(state)) == outcome.effect
            assert rule.executions == sum(sum(counts.values()) for counts in seen)


A, B, C, D = (Effect(1 << i, 0) for i in range(4))


@pytest.mark.parametrize(
    ("shown", "types"),
    [
        ([(A,), (B,)], [(A,), (B,)]),
        ([(A, B), (B,), (A,)], [(A, B)]),
        ([(A, D), (B, D), (D,)], [(A, D), (B, D)]),
        ([(A, B), (B, C), (A, C)], [(A, B, C)]),
        ([(A, B, D), (B, C), (C,)], [(A, B, D), (B, C)]),
    ],
)
def test_effects_seen_together_each_with_each_are_one_type(shown, types):
    assert outcome_types(shown) == types


def test_a_tree_classifies_by_the_atom_that_separates_the_examples():
    assert classify([0b0111, 0b1000], [[0b0000, 0b0010], [0b0001, 0b1011]], 4) == [1, 0]
    assert classify([3], [[], []], 4) == [0]


def naive_explanation(counts, concentration):
    """The log likelihood of states around their mean, and the price of not knowing it."""
    worth = [
        sum(row) if concentration == math.inf
        else sum(row) * (concentration + 1) / (concentration + sum(row))
        for row in counts
    ]  # fmt: skip
    size, number = sum(worth), len(counts[0])
    mean = [
        sum(w * row[j] / sum(row) for w, row in zip(worth, counts, strict=True)) / size
        for j in range(number)
    ]
    total = 0.0
    for row in counts:
        if concentration == math.inf:
            total += sum(n * math.log(m) for n, m in zip(row, mean, strict=True) if n)
            continue
        total += gammaln(concentration) - gammaln(concentration + sum(row))
        for n, m in zip(row, mean, strict=True):
            total += gammaln(concentration * m + n) - gammaln(concentration * m) if n else 0.0
    total += gammaln(number / 2) - gammaln(size + number / 2) - number * gammaln(0.5)
    total += sum(gammaln(m * size + 0.5) - (m * size * math.log(m) if m else 0) for m in mean)
    return total


def naive_explanations(*sides):
    return np.logaddexp.reduce(
        [sum(naive_explanation(s, k) for s in sides) for k in CONCENTRATIONS]
    )


def naive_split(bits, counts, price):
    """Try every atom and every conjunction of two literals; return the states on both sides."""
    number = len(
        {tuple(min(c, tuple(not x for x in c))) for c in map(tuple, bits.T)}
        - {(False,) * len(bits)}
    )
    literals = [column == value for column in bits.T for value in (True, False)]
    tried = {}
    for one, other in itertools.product(literals, repeat=2):
        inside = frozenset(np.flatnonzero(one & other).tolist())
        outside = frozenset(range(len(bits))) - inside
        single = any((one & other == literal).all() for literal in literals)
        cost = math.log(number if single else 2 * number * (number - 1))
        if inside and outside:
            tried[frozenset([inside, outside])] = cost
    best, found = -math.inf, None
    everything = counts.tolist()
    for sides, cost in tried.items():
        one, other = ([everything[i] for i in sorted(side)] for side in sides)
        totals = [dict(enumerate(map(sum, zip(*side, strict=True)))) for side in (one, other)]
        if min(sum(total.values()) for total in totals) < 2:
            continue
        score = evidence_of_two_distributions(*totals, counts.shape[1]) - cost
        gain = naive_explanations(one, other) - naive_explanations(everything) - cost
        if min(score, gain) >= price and gain > best + 1e-9:
            best, found = gain, sides
    return found


@pytest.mark.parametrize("seed", range(40))
def test_the_split_is_the_one_that_trying_everything_gives(seed):
    rng = np.random.default_rng(seed)
    states, outcomes = int(rng.integers(4, 20)), int(rng.integers(2, 4))
    bits = rng.random((states, 4)) < 0.5
    bits[:, 3] ^= bits[:, 2] if seed % 3 else False
    odds = np.where(bits[:, :1] & (bits[:, 1:2] | (seed % 2 == 0)), 0.9, 0.3)
    draws = rng.integers(1, 30, states)
    first = rng.binomial(draws, odds[:, 0])
    second = rng.binomial(draws - first, 0.5 if outcomes == 3 else 1.0)
    counts = np.column_stack([first, second, draws - first - second])[:, :outcomes]
    side = best_split(bits, counts, price=1.0)
    expected = naive_split(bits, counts, price=1.0)
    if side is None:
        assert expected is None
    else:
        own = frozenset(np.flatnonzero(side).tolist())
        assert own in expected


def test_leaves_are_a_partition_and_none_of_them_is_split_again():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        bits = rng.random((150, 6)) < 0.5
        chance = 0.2 + 0.3 * bits[:, 0] + 0.4 * (bits[:, 1] & bits[:, 2])
        hits = rng.binomial(40, chance)
        counts = np.column_stack([hits, 40 - hits])
        found = leaves(bits, counts, 0.05)
        assert sorted(np.concatenate(found).tolist()) == list(range(150))
        assert len(found) > 2
        for one, other in itertools.combinations(found, 2):
            sums = counts[one].sum(axis=0)[None], counts[other].sum(axis=0)[None]
            assert evidence_of_splits(*sums)[0] >= math.log(20)


def test_scores_of_splits_have_a_mean_of_at_most_one_if_nothing_differs():
    """Draws go where an answer was unusual, and end when the score is high."""
    rng = np.random.default_rng(5)
    for chances in ([0.5, 0.5], [0.9, 0.1], [0.6, 0.3, 0.1]):
        reached = []
        for _ in range(150):
            bits = rng.random((8, 3)) < 0.5
            counts = np.zeros((8, len(chances)), dtype=np.int64)
            for number in range(61):
                unusual = int((counts[:, 1:].sum(axis=1) / (counts.sum(axis=1) + 1)).argmax())
                state = number if number < 8 else unusual if number % 2 else int(rng.integers(8))
                counts[state, rng.choice(len(chances), p=chances)] += 1
                if number % 4:
                    continue
                inside = bits.T.astype(np.int64) @ counts
                score = np.exp(evidence_of_splits(inside, counts.sum(axis=0) - inside)).mean()
                if score >= 20:
                    break
            reached.append(score)
        assert np.mean(reached) <= 1
        assert np.mean(np.array(reached) >= 20) <= 0.05


@given(st.lists(st.tuples(*[st.integers(0, 60)] * 6), min_size=1, max_size=5))
def test_all_scores_at_once_are_those_of_each_split(rows):
    table = np.array(rows)
    inside, outside = table[:, :3], table[:, 3:]
    expected = [
        evidence_of_two_distributions(dict(enumerate(a)), dict(enumerate(b)), 3)
        for a, b in zip(inside.tolist(), outside.tolist(), strict=True)
    ]
    assert evidence_of_splits(inside, outside) == pytest.approx(expected)
