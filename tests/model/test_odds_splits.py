"""Splits of states by atoms, against a twin that tries everything."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

from capscope.model.odds_splits import best_split, classify, leaves
from capscope.stats.betting import evidence_of_splits, evidence_of_two_distributions
from capscope.stats.partial_pooling import CONCENTRATIONS


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
