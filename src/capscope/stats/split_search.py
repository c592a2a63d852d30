"""Find the shortest condition that separates low from high rates.

Splitting states by a feature gives two groups; the best feature is the one whose groups differ most
surely. All conjunctions of two are tried as well, by one matrix product, and the best of them is
extended to three. There are many more long conjunctions than short ones, and one of them fits by
accident, so each score is reduced by the logarithm of how many there are of its length.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from capscope.stats.arrays import Floats, Integers, Mask
from capscope.stats.betting import evidence_of_difference

MOST_FEATURES = 3


class SplitTerm(NamedTuple):
    """Features that separate the states in which all of them hold from the others."""

    features: list[int]
    evidence: float
    """The log score, reduced by the price of the search."""


def price(length: int, number: int) -> float:
    """Return the price of having chosen a conjunction of some length among all features."""
    return math.log(max(math.comb(number, length), 1))


def evidence_of_conjunction(
    hits: int, draws: int, other_hits: int, other_draws: int, length: int, number: int
) -> float:
    """Return the log score of one conjunction, reduced by the price of the search."""
    counts = (np.array([x]) for x in (hits, draws, other_hits, other_draws))
    return float(evidence_of_difference(*counts)[0]) - price(length, number)


def best_features(hits: Integers, draws: Integers, features: Mask, most: int) -> Integers:
    """Return the features that separate low from high rates best on their own, in their order."""
    inside_hits, inside_draws = (
        (counts @ features.astype(np.float64)).astype(np.int64) for counts in (hits, draws)
    )
    scores = evidence_of_difference(
        inside_hits, inside_draws, hits.sum() - inside_hits, draws.sum() - inside_draws
    )
    return np.sort(np.argsort(-scores, kind="stable")[:most])


def best_conjunctions(
    hits: Integers,
    draws: Integers,
    features: Mask,
    least_difference: float,
    paid: int | None = None,
) -> list[SplitTerm]:
    """Return the conjunction of each length that separates low from high rates best.

    Lengths without any are left out. `features` has a row for each state; `paid` is the number of
    features they were chosen from. Rates that differ by less than `least_difference` are not worth
    separating.
    """
    all_hits, all_draws = int(hits.sum()), int(draws.sum())

    def scores(inside_hits: NDArray[np.generic], inside_draws: NDArray[np.generic]) -> Floats:
        h, n = inside_hits.astype(np.int64), inside_draws.astype(np.int64)
        other_h, other_n = all_hits - h, all_draws - n
        apart = abs(h / np.maximum(n, 1) - other_h / np.maximum(other_n, 1))
        worth = (n > 0) & (other_n > 0) & (apart >= least_difference)
        return np.where(worth, evidence_of_difference(h, n, other_h, other_n), -np.inf)

    number = paid or features.shape[1]
    joint_hits, joint_draws = joint_counts(features, hits, draws)
    # A feature and its opposite make the same split, and so do (i, j) and (j, i).
    singles = scores(joint_hits.diagonal(), joint_draws.diagonal()) - price(1, number)
    pairs = scores(joint_hits, joint_draws) - price(2, number)
    np.fill_diagonal(pairs, -np.inf)
    i, j = np.unravel_index(int(pairs.argmax()), pairs.shape)
    both = [int(i), int(j)]
    together = features[:, both].all(axis=1)
    threes = scores(hits * together @ features, draws * together @ features)
    threes -= price(MOST_FEATURES, number)
    threes[both] = -np.inf
    first, third = int(singles.argmax()), int(threes.argmax())
    found = [
        SplitTerm([first], float(singles[first])),
        SplitTerm(both, float(pairs[i, j])),
        SplitTerm([*both, third], float(threes[third])),
    ]
    return [term for term in found if term.evidence > -math.inf]


def shortest_convincing(terms: Sequence[SplitTerm], threshold: float) -> SplitTerm | None:
    """Return the shortest conjunction that reaches a threshold; a longer one if it is far better.

    By luck a long one fits a little better than the true one. So it must be better by as much as
    the threshold. If none reaches the threshold, the best is returned.
    """
    chosen = max(terms, key=lambda term: term.evidence, default=None)
    if chosen is None or chosen.evidence < threshold:
        return chosen
    reaching = [term for term in terms if term.evidence >= threshold]
    chosen = reaching[0]
    for term in reaching[1:]:
        if term.evidence >= chosen.evidence + threshold:
            chosen = term
    return chosen


def joint_counts(features: Mask, *columns: Integers) -> list[Floats]:
    """For each column of counts, sum up those of the states that have both of two features.

    A feature mostly comes with its opposite, whose sums follow by subtraction. So each product is
    a quarter of the size; larger ones also keep a second core busy with waiting.
    """
    # Of two opposites, one is true in the first state.
    opposite = ~features[0]
    patterns, which = np.unique(features ^ opposite, axis=1, return_inverse=True)
    weights = patterns.astype(np.float64)
    found = []
    for counts in columns:
        product = weights.T @ (weights * counts[:, None])
        joint, single = product[np.ix_(which, which)], product.diagonal()[which]
        joint = np.where(opposite[:, None], single - joint, joint)
        single = np.where(opposite, counts.sum() - single, single)
        found.append(np.where(opposite, single[:, None] - joint, joint))
    return found
