"""How likely the next execution of a tried pair has an outcome that nobody expects.

A pair tried once had one outcome, and a model that only counts is sure of it. Whether that is
justified depends on the agent: if pairs that were repeated always did the same, yes; if every
second repetition was something new, no. So this is learned from all repetitions in a run.

The outcomes of a pair are seen as draws from a Pitman–Yor process: after n draws with k different
outcomes, the next one is new with probability (θ + k·d)/(n + θ). Which θ and d a pair has is
unknown. Their distribution over a grid is learned at three levels, each the prior of the next
(empirical Bayes): all pairs, those that change something or those that do not, and those of the
same capability. It is then conditioned on what the pair itself has shown.

Two things matter besides the counts. That an agent which has nothing to do keeps doing nothing says
little about what it does when it acts, hence the second level. And a drive that ends with a flat
tire is no news in one more state: the model expects, of every pair, all that others of its type
have shown. So outcomes that some other pair has shown together count as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import combinations
from math import lgamma, log

import numpy as np

from capscope.logic import Effect, State
from capscope.model.outcome_types import NO_CHANGE
from capscope.model.state_graph import StateGraph
from capscope.stats.arrays import Floats

_GRID = tuple((theta, d) for d in (0.0, 0.5) for theta in (0.001, 0.01, 0.03, 0.1, 0.3, 1, 3, 10))
_PRIOR_PAIRS = 2.0  # the first grid point, an agent that always does the same, counts half of this
_ALL_PAIRS = 10.0  # all pairs together count as so many that change something, or do not
_PEERS = 10.0  # and those as so many of one capability
_ROUNDS = 30
_KINDS = _IDLE, _ACTING = 0, 1
Partition = tuple[int, ...]
"""How often each outcome of a pair was seen, in descending order."""
PairWeights = dict[Partition, float]
"""How many pairs have a partition; one that belongs to two kinds counts partly."""


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
    """The probability of an outcome that the model does not predict, for every tried pair."""

    def __init__(self, graph: StateGraph) -> None:
        self._graph = graph
        self._together = _shown_together(graph)
        tried: list[list[PairWeights]] = [[{} for _ in graph.capabilities] for _ in _KINDS]
        # In the order of states, so that the order in which they were seen decides nothing.
        for state in sorted(graph.nodes):
            for capability, pair in enumerate(graph.nodes[state].pairs):
                if pair is not None:
                    partition = self._partition(pair.counts)
                    for kind, share in _shares(pair.counts):
                        alike = tried[kind][capability]
                        alike[partition] = alike.get(partition, 0.0) + share
        first = np.full(len(_GRID), 0.5 / (len(_GRID) - 1))
        first[0] = 0.5
        of_kind = [_added(partitions) for partitions in tried]
        every = _fitted(_added(of_kind), first, _PRIOR_PAIRS)
        peers = [_fitted(partitions, every, _ALL_PAIRS) for partitions in of_kind]
        self._weights = [
            [_fitted(partitions, peers[kind], _PEERS) for partitions in tried[kind]]
            for kind in _KINDS
        ]

    def probability(self, state: State, capability: int) -> float:
        """Return how likely the next outcome of a tried pair is neither its own nor its type's."""
        pair = self._graph.pair(state, capability)
        assert pair is not None, "an untried pair has shown nothing"
        partition = self._partition(pair.counts)
        return sum(
            share * new_probability(partition, self._weights[kind][capability])
            for kind, share in _shares(pair.counts)
        )

    def _partition(self, counts: Mapping[Effect, int]) -> Partition:
        """Return how often each outcome was seen; those that others showed together are one."""
        if len(counts) == 1:
            return (*counts.values(),)
        blocks: list[set[Effect]] = []
        for effect in counts:
            linked = [b for b in blocks if any(self._elsewhere(effect, other) for other in b)]
            blocks = [b for b in blocks if b not in linked] + [{effect}.union(*linked)]
        return _descending(sum(counts[effect] for effect in block) for block in blocks)

    def _elsewhere(self, one: Effect, other: Effect) -> bool:
        """Return whether two effects of a pair were also shown together by another."""
        return self._together[frozenset((one, other))] > 1


def _shown_together(graph: StateGraph) -> Counter[frozenset[Effect]]:
    return Counter(
        frozenset(two)
        for node in graph.nodes.values()
        for pair in node.pairs
        if pair is not None
        for two in combinations(pair.counts, 2)
    )


def _shares(counts: Mapping[Effect, int]) -> Iterator[tuple[int, float]]:
    """Yield the kinds that a pair belongs to: that of one of its draws, taken at random.

    By all of its draws, only pairs that never vary would be idle.
    """
    idle = counts.get(NO_CHANGE, 0) / sum(counts.values())
    if idle > 0.0:
        yield _IDLE, idle
    if idle < 1.0:
        yield _ACTING, 1.0 - idle


def new_probability(partition: Partition, weights: Floats) -> float:
    """Return how likely the next draw is new, given how likely each grid point is a priori."""
    belief = weights * _likelihoods(partition)
    draws, kinds = sum(partition), len(partition)
    new = np.array([(theta + kinds * d) / (draws + theta) for theta, d in _GRID])
    return float(belief @ new / belief.sum())


def _descending(counts: Iterable[int]) -> Partition:
    return tuple(sorted(counts, reverse=True))


def _added(groups: Iterable[PairWeights]) -> PairWeights:
    total: PairWeights = {}
    for group in groups:
        for partition, pairs in group.items():
            total[partition] = total.get(partition, 0.0) + pairs
    return total


@lru_cache(maxsize=65536)
def _likelihoods(partition: Partition) -> Floats:
    """Return how likely each grid point makes a partition, up to a factor."""
    scores: Floats = np.array([log_likelihood(partition, theta, d) for theta, d in _GRID])
    likelihoods: Floats = np.exp(scores - scores.max())
    return likelihoods


def _fitted(partitions: PairWeights, prior: Floats, strength: float) -> Floats:
    """Return the distribution over the grid that explains pairs best (expectation maximization)."""
    if not partitions:
        return prior
    likelihood = np.array([_likelihoods(partition) for partition in partitions])
    pairs = np.array(list(partitions.values()))
    weights = prior
    for _ in range(_ROUNDS):
        shares = likelihood * weights
        shares /= shares.sum(axis=1, keepdims=True)
        weights = strength * prior + pairs @ shares
        weights /= weights.sum()
    return weights
