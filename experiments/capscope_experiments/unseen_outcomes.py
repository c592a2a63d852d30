"""How likely the next execution of a pair has an outcome that nobody expects.

A pair tried once had one outcome, and a model that only counts is sure of it. Whether that is
justified depends on the agent: if pairs that were repeated always did the same, yes; if every
second repetition was something new, no. So this is learned from all repetitions in a run.

The outcomes of a pair are seen as draws from a Pitman–Yor process: after n draws with k different
outcomes, the next one is new with probability (θ + k·d)/(n + θ). Which θ and d a pair has is
unknown. Their distribution over a grid is fitted to the pairs of each capability, with the
distribution over all pairs as the prior (empirical Bayes), and then conditioned on what the pair
itself has shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from math import lgamma, log

import numpy as np

from capscope.model import StateGraph
from capscope.statistics.arrays import Floats
from capscope.symbolic import Intent, State

_GRID = tuple((theta, d) for d in (0.0, 0.5) for theta in (0.001, 0.01, 0.03, 0.1, 0.3, 1, 3, 10))
_PRIOR_PAIRS = 2.0  # the first grid point, an agent that always does the same, counts half of this
_CAPABILITY_PAIRS = 10.0  # all pairs together count as so many of one capability
_ROUNDS = 30
Partition = tuple[int, ...]
"""How often each outcome of a pair was seen, in descending order."""


def log_likelihood(partition: Partition, theta: float, d: float) -> float:
    """Return the log probability that draws coincide like this (Pitman, 1995).

    >>> log_likelihood((1,), 1.0, 0.0)
    0.0
    >>> round(float(np.exp(log_likelihood((1, 1), 3.0, 0.0))), 2)
    0.75
    """
    found = sum(log(theta + i * d) for i in range(1, len(partition)))
    drawn = sum(log(theta + i) for i in range(1, sum(partition)))
    repeated = sum(lgamma(times - d) - lgamma(1.0 - d) for times in partition)
    return found + repeated - drawn


class UnseenOutcomes:
    """The probability of an outcome that a model does not predict, for every pair of a run."""

    def __init__(self, graph: StateGraph) -> None:
        self._graph = graph
        tried: list[Counter[Partition]] = [Counter() for _ in graph.capabilities]
        for node in graph.nodes.values():
            for capability, pair in enumerate(node.pairs):
                if pair is not None:
                    tried[capability][_partition(pair.counts.values())] += 1
        first = np.full(len(_GRID), 0.5 / (len(_GRID) - 1))
        first[0] = 0.5
        every = _fitted(sum(tried, Counter()), first, _PRIOR_PAIRS)
        self._weights = [_fitted(partitions, every, _CAPABILITY_PAIRS) for partitions in tried]

    def probability(self, state: State, intent: Intent, predicted: Mapping[State, float]) -> float:
        """Return how likely the next outcome is none of those that a model predicts.

        What the model predicts although the pair never showed it is not new to the model. A pair
        that was never tried counts as one that had its most likely outcome once.
        """
        capability = self._graph.index.get(intent)
        if capability is None or not predicted:
            return 1.0
        pair = self._graph.pair(state, capability)
        counts = {} if pair is None else {e.apply(state): n for e, n in pair.counts.items()}
        shown = counts or {max(predicted, key=lambda after: predicted[after]): 1}
        new = new_probability(_partition(shown.values()), self._weights[capability])
        foreseen = sum(share for after, share in predicted.items() if after not in shown)
        return max(new - foreseen, 0.0)


def new_probability(partition: Partition, weights: Floats) -> float:
    """Return how likely the next draw is new, given how likely each grid point is a priori."""
    belief = weights * np.exp(_log_likelihoods(partition))
    draws, kinds = sum(partition), len(partition)
    new = np.array([(theta + kinds * d) / (draws + theta) for theta, d in _GRID])
    return float(belief @ new / belief.sum())


def _partition(counts: Collection[int]) -> Partition:
    return tuple(sorted(counts, reverse=True))


def _log_likelihoods(partition: Partition) -> Floats:
    scores: Floats = np.array([log_likelihood(partition, theta, d) for theta, d in _GRID])
    scores -= scores.max()
    return scores


def _fitted(partitions: Mapping[Partition, int], prior: Floats, strength: float) -> Floats:
    """Return the distribution over the grid that explains pairs best (expectation maximization)."""
    if not partitions:
        return prior
    likelihood = np.exp([_log_likelihoods(partition) for partition in partitions])
    times = np.array(list(partitions.values()), dtype=float)
    weights = prior
    for _ in range(_ROUNDS):
        shares = likelihood * weights
        shares /= shares.sum(axis=1, keepdims=True)
        weights = strength * prior + times @ shares
        weights /= weights.sum()
    return weights
