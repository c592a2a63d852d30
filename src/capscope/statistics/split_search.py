"""Find the shortest condition that separates low from high rates.

Each state has hits and draws, and a set of features that hold in it or not. Splitting the states by
a feature gives two groups; the best feature is the one whose groups differ most surely. One feature
may not be enough ("only if the hand is full *and* the light is off"), so all conjunctions of two
are tried, and the best of them is extended to three. Counting each conjunction by visiting every
state would be slow; with the states as a matrix of bits, all pairs are one matrix product.

There are many more long conjunctions than short ones, and one of them fits by accident. So the
score of each conjunction is reduced by the logarithm of how many there are of its length. The
result makes lengths comparable (a second feature must earn its place) and must reach the threshold.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from capscope.statistics.arrays import Floats, Integers, Mask
from capscope.statistics.betting import evidence_of_difference

MOST_FEATURES = 3


class SplitTerm(NamedTuple):
    """Features that separate the states in which all of them hold from the others."""

    features: list[int]
    evidence: float
    """The log score, reduced by the price of the search."""


def best_conjunction(
    hits: Integers, draws: Integers, features: Mask, least_difference: float
) -> SplitTerm | None:
    """Return the conjunction that separates low from high rates best; None if there is none.

    `features` has a row for each state. Rates that differ by less than `least_difference` are not
    worth separating.
    """
    all_hits, all_draws = int(hits.sum()), int(draws.sum())

    def scores(inside_hits: NDArray[np.generic], inside_draws: NDArray[np.generic]) -> Floats:
        h, n = inside_hits.astype(np.int64), inside_draws.astype(np.int64)
        other_h, other_n = all_hits - h, all_draws - n
        apart = abs(h / np.maximum(n, 1) - other_h / np.maximum(other_n, 1))
        worth = (n > 0) & (other_n > 0) & (apart >= least_difference)
        return np.where(worth, evidence_of_difference(h, n, other_h, other_n), -np.inf)

    number = features.shape[1]
    joint_hits, joint_draws = joint_counts(features, hits, draws)
    # A feature and its opposite make the same split, and so do (i, j) and (j, i).
    singles = scores(joint_hits.diagonal(), joint_draws.diagonal()) - math.log(number)
    pairs = scores(joint_hits, joint_draws) - math.log(max(number * (number - 1) / 2, 1))
    np.fill_diagonal(pairs, -np.inf)
    i, j = np.unravel_index(int(pairs.argmax()), pairs.shape)
    both = [int(i), int(j)]
    together = features[:, both].all(axis=1)
    threes = scores(hits * together @ features, draws * together @ features)
    threes -= math.log(max(math.comb(number, MOST_FEATURES), 1))
    threes[both] = -np.inf
    first, third = int(singles.argmax()), int(threes.argmax())
    evidence, _, chosen = max(
        (float(singles[first]), 2, [first]),
        (float(pairs[i, j]), 1, both),
        (float(threes[third]), 0, [*both, third]),
    )
    return None if evidence == -np.inf else SplitTerm(chosen, evidence)


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
