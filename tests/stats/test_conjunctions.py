import itertools
import math

import numpy as np
import pytest

from capscope.stats import conjunctions
from capscope.stats.conjunctions import Rows, Scorer, Units, best_conjunction, joint_counts
from capscope.stats.partial_pooling import MEANS

THRESHOLD = math.log(20)


def rows_of(hits, draws, literals, units=(), constants=None):
    number = literals.shape[1]
    return Rows(
        np.array(hits),
        np.array(draws),
        literals,
        np.full(number, 1 / number),
        [Units(np.arange(len(hits))), *(units or [Units(np.arange(len(hits)))])],
        constants or [frozenset()] * number,
    )


def mixture(hits, misses):
    """Average the likelihood over Beta(½, ½)."""
    return math.lgamma(hits + 0.5) + math.lgamma(misses + 0.5) - math.lgamma(
        hits + misses + 1
    ) - math.log(math.pi)  # fmt: skip


def best(hits, misses):
    draws = hits + misses
    return sum(n * math.log(n / draws) for n in (hits, misses) if n)


def beta_binomial(hits, misses, a, b):
    return (
        math.lgamma(a + hits) - math.lgamma(a) + math.lgamma(b + misses) - math.lgamma(b)
        - math.lgamma(a + b + hits + misses) + math.lgamma(a + b)
    )  # fmt: skip


def naive_evidence(hits, draws, units, inside):
    """Sum over units, sizes and means one by one."""

    def scores(side, one):
        for size in conjunctions._SIZES[:, 0]:
            yield [
                sum(
                    beta_binomial(
                        sum(h for h, u, s in zip(hits, one, side, strict=True) if s and u == unit),
                        sum(
                            n - h
                            for h, n, u, s in zip(hits, draws, one, side, strict=True)
                            if s and u == unit
                        ),
                        size * m,
                        size * (1 - m),
                    )
                    for unit in set(one)
                )
                for m in MEANS[:, 0]
            ]

    def mean(logs):
        top = max(logs)
        return top + math.log(sum(math.exp(x - top) for x in logs) / len(logs))

    everything = [True] * len(hits)
    sides = [list(inside), [not x for x in inside]]
    h, n = sum(hits), sum(draws)
    null = max(best(h, n - h), *(max(map(max, scores(everything, u))) for u in units))
    counts = [
        (
            sum(h for h, s in zip(hits, side, strict=True) if s),
            sum(n - h for h, n, s in zip(hits, draws, side, strict=True) if s),
        )
        for side in sides
    ]
    sizes, total = len(conjunctions._SIZES), 0.0
    for side, (hit, missed), certain in zip(
        sides, counts, (counts[0][1] == 0, counts[1][0] == 0), strict=True
    ):
        terms = [math.log(0.5) + mixture(hit, missed)] + ([math.log(0.25)] if certain else [])
        terms += [
            math.log(0.25 / len(units) / sizes) + mean(own)
            for one in units
            for own in scores(side, one)
        ]
        total += mean(terms) + math.log(len(terms))
    return total - null


@pytest.mark.parametrize("seed", range(4))
def test_the_evidence_is_the_one_computed_unit_by_unit(seed):
    rng = np.random.default_rng(seed)
    draws = rng.integers(1, 4, size=12)
    inside = rng.random(12) < 0.5
    likely = [(0.4, 0.4), (0.4, 0.0), (1.0, 0.4), (1.0, 0.0)][seed]
    hits = rng.binomial(draws, np.where(inside, *likely))
    units = [np.arange(12), rng.integers(0, 4, size=12)]
    scorer = Scorer(hits, draws, [Units(one) for one in units])
    expected = naive_evidence(hits.tolist(), draws.tolist(), [u.tolist() for u in units], inside)
    assert scorer.evidence(inside) == pytest.approx(expected)


def every_conjunction(rows):
    """Yield the literals, the rows inside and the price of each conjunction."""
    number = rows.literals.shape[1]
    for length in (1, 2, 3):
        for columns in itertools.combinations(range(number), length):
            for signs in itertools.product((True, False), repeat=length):
                inside = np.all(rows.literals[:, columns] == signs, axis=1)
                prior = (0.7, 0.2, 0.1)[length - 1] / (2**length if length > 1 else 1)
                ways = math.factorial(length) * prior
                price = -math.log(ways / number**length)
                yield tuple(zip(columns, signs, strict=True)), inside, price


def best_by_trying(rows, difference):
    """Score all conjunctions; a longer one must be better by the threshold."""
    scorer = Scorer(rows.hits, rows.draws, rows.units)
    chosen, reached = None, 0.0
    candidates = {}
    for literals, inside, price in every_conjunction(rows):
        if inside.any() and not inside.all():
            shares = [rows.hits[s].sum() / rows.draws[s].sum() for s in (inside, ~inside)]
            h, n = rows.hits[inside].sum(), rows.draws[inside].sum()
            g, m = rows.hits[~inside].sum(), rows.draws[~inside].sum()
            plain = mixture(h, n - h) + mixture(g, m - g) - best(h + g, n + m - h - g)
            if shares[0] - shares[1] >= difference:
                score = min(scorer.evidence(inside), plain) - price
                candidates.setdefault(len(literals), []).append((score, literals))
    for _, scores in sorted(candidates.items()):
        score, literals = max(scores)
        if score >= THRESHOLD + reached:
            chosen, reached = literals, score
    return chosen, reached


@pytest.mark.parametrize("seed", range(12))
def test_the_search_finds_what_trying_all_conjunctions_finds(seed):
    rng = np.random.default_rng(seed)
    number = 120
    literals = rng.random((number, 5)) < 0.5
    length = seed % 4
    planted = literals[:, :length].all(axis=1) if length else np.zeros(number, dtype=bool)
    hits = (rng.random(number) < np.where(planted, 0.95, 0.05)).astype(int)
    rows = rows_of(hits, np.ones(number, dtype=int), literals)
    found = best_conjunction(rows, THRESHOLD, 0.1)
    expected, evidence = best_by_trying(rows, 0.1)
    assert (found and found.literals) == expected
    assert length == 0 or found is not None
    if found:
        assert found.evidence == pytest.approx(evidence)
        assert dict(found.literals) == dict.fromkeys(range(length), True)


def test_the_same_few_units_drawn_often_are_no_evidence():
    states = np.repeat(np.arange(10), 3)
    literals = (states % 2 == 0)[:, None]
    hits = np.isin(states, (0, 2, 4, 6, 8, 1)).astype(int) * 50
    rows = rows_of(hits, np.full(30, 50), literals, [Units(states)])
    assert best_conjunction(rows, THRESHOLD, 0.1) is None
    alone = rows_of(hits, np.full(30, 50), literals)
    assert best_conjunction(alone, THRESHOLD, 0.1) is not None


def test_an_object_that_differs_is_told_as_a_constant_only():
    objects = np.arange(60) % 4
    literals = (objects == 3)[:, None]
    units = [Units(np.arange(60)), Units(objects, role=0)]
    hits = (objects == 3).astype(int)
    property_ = rows_of(hits, np.ones(60, dtype=int), literals, units)
    assert best_conjunction(property_, THRESHOLD, 0.1) is None
    constant = rows_of(hits, np.ones(60, dtype=int), literals, units, [frozenset({0})])
    assert best_conjunction(constant, THRESHOLD, 0.1).literals == ((0, True),)


def test_in_a_few_states_it_is_enough_that_one_side_is_above_the_other():
    literals = np.array([[True], [False]])
    rows = rows_of([90, 60], [100, 100], literals)
    assert best_conjunction(rows, THRESHOLD, 0.1).literals == ((0, True),)
    mixed = rows_of([90, 60, 10, 20], [100] * 4, np.array([[True], [False], [True], [False]]))
    assert best_conjunction(mixed, THRESHOLD, 0.1) is None


def test_rates_that_hardly_differ_are_not_separated():
    rows = rows_of([90_000, 85_000], [100_000, 100_000], np.array([[True], [False]]))
    assert best_conjunction(rows, THRESHOLD, 0.1) is None
    assert best_conjunction(rows, THRESHOLD, 0.01) is not None


@pytest.mark.parametrize("seed", range(12))
def test_joint_counts_are_those_of_the_states_with_both_features(seed):
    rng = np.random.default_rng(seed)
    bits = rng.random((9, 4)) < 0.5
    # Some features come with their opposites, some alone, some twice.
    features = np.hstack([bits, ~bits])[:, rng.permutation(8)[:6]]
    counts = rng.integers(0, 30, size=9)
    both = features[:, :, None] & features[:, None, :]
    (found,) = joint_counts(features, counts)
    assert found.tolist() == (both * counts[:, None, None]).sum(axis=0).tolist()
