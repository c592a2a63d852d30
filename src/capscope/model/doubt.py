"""Predictions of the learned model, what they rest on, and how likely they fail.

**Tried pairs** (`unseen_outcomes`). Whether a pair tried once has other outcomes depends on the
agent, so it is learned from all repetitions in a run. The outcomes of a pair are seen as draws from
a Pitman–Yor process: after n draws with k different outcomes, the next one is new with probability
(θ + k·d)/(n + θ). The distribution of θ and d over a grid is learned at three levels, each the
prior of the next (empirical Bayes): all pairs, those that change something or those that do not,
and those of the same capability. It is then conditioned on what the pair itself has shown. Outcomes
that some other pair has shown together count as one, because the model expects, of every pair, all
that others of its type have shown.

**Inferred pairs** (`calibrated_doubt`). The experts' disagreement is not a probability: all may
have learned the same habit. So every state is held out once: what was tried there is predicted from
all other states, and compared. The log odds of a failure are

    a + b · (log odds of the disagreement) + (an offset of the capability)

fitted separately to predictions that something changes and that nothing does, which differ most.
Normal priors draw the slope towards 1 and everything else towards 0.

**Held-out pairs** (`divided`): halves of the pairs to weigh the experts, and parts of the states to
see how often predictions fail. The latter is harder, and nearer to what a prediction is for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import combinations
from math import exp, lgamma, log
from typing import NamedTuple

import numpy as np

from capscope.logic import Effect, State
from capscope.model.outcome_types import NO_CHANGE
from capscope.model.state_graph import StateGraph
from capscope.seeds import child_seed
from capscope.stats.arrays import Floats, Integers
from capscope.stats.beta import credible_interval


class Provenance(StrEnum):
    """What a prediction rests on."""

    TRIED = "tried"
    INFERRED = "inferred"
    UNKNOWN = "unknown"


class Support(NamedTuple):
    """The evidence behind a prediction."""

    rule: tuple[Effect, ...]
    """The effects of the outcome type."""
    draws: int
    """The executions that showed this type, or types of its kind if none did, of any pair."""
    own_draws: int
    """Those of the pair itself."""
    worth: float
    """How many executions of the pair alone would say as much about its probabilities."""
    leaf: int = 0
    """Which of the conditions holds that the probabilities of the type depend on."""


class LearnedPrediction(dict[State, float]):
    """Successor → probability, with what it rests on; empty if nothing is predicted."""

    __slots__ = ("_doubt", "provenance", "support")

    def __init__(
        self,
        shares: Mapping[State, float],
        provenance: Provenance,
        doubt: Callable[[], float],
        support: Support,
    ) -> None:
        """`doubt` is computed on first use: it takes longer than the prediction."""
        super().__init__(shares)
        self._doubt = doubt
        self.provenance = provenance
        self.support = support

    @property
    def doubt(self) -> float:
        """The probability that the next execution ends in none of the predicted states."""
        return self._doubt()

    def share(self, ends: Iterable[State]) -> float:
        """Return the probability of ending in one of some states."""
        share = sum(self.get(end, 0.0) for end in ends)
        return 1.0 if share > _CERTAIN else share

    def interval(self, ends: Iterable[State]) -> tuple[float, float]:
        """Return the central 95 % interval of the probability of ending in one of some states."""
        worth = self.support.worth
        return credible_interval(self.share(ends) * worth, worth)

    def __repr__(self) -> str:
        return f"<{self.provenance}, doubt {self.doubt:.2g}: {super().__repr__()}>"


_CERTAIN = 1.0 - 1e-12  # apart from rounding
_GRID = tuple((theta, d) for d in (0.0, 0.5) for theta in (0.001, 0.01, 0.03, 0.1, 0.3, 1, 3, 10))
_PRIOR_PAIRS = 2.0  # the first grid point, an agent that always does the same, counts half of this
_ALL_PAIRS = 10.0  # prior weight of all pairs together, in pairs
_PEERS = 10.0  # prior weight of the pairs of one capability, in pairs
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


def unseen_outcomes(graph: StateGraph) -> Callable[[State, int], float]:
    """Return how likely the next outcome of a tried pair is neither its own nor its type's."""
    together = shown_together(graph)
    tried: list[list[PairWeights]] = [[{} for _ in graph.capabilities] for _ in _KINDS]
    # In the order of states, so that the order in which they were seen decides nothing.
    for state in sorted(graph.nodes):
        for capability, pair in enumerate(graph.nodes[state].pairs):
            if pair is not None:
                partition = merged(pair.counts, together)
                for kind, share in _shares(pair.counts):
                    alike = tried[kind][capability]
                    alike[partition] = alike.get(partition, 0.0) + share
    first = np.full(len(_GRID), 0.5 / (len(_GRID) - 1))
    first[0] = 0.5
    of_kind = [_added(partitions) for partitions in tried]
    every = _fitted(_added(of_kind), first, _PRIOR_PAIRS)
    peers = [_fitted(partitions, every, _ALL_PAIRS) for partitions in of_kind]
    weights = [[_fitted(own, peers[kind], _PEERS) for own in tried[kind]] for kind in _KINDS]

    def probability(state: State, capability: int) -> float:
        pair = graph.pair(state, capability)
        assert pair is not None, "an untried pair has shown nothing"
        partition = merged(pair.counts, together)
        return sum(
            share * new_probability(partition, weights[kind][capability])
            for kind, share in _shares(pair.counts)
        )

    return probability


def shown_together(graph: StateGraph) -> Counter[frozenset[Effect]]:
    """Count the pairs that have shown both of two effects."""
    return Counter(
        frozenset(two)
        for node in graph.nodes.values()
        for pair in node.pairs
        if pair is not None
        for two in combinations(pair.counts, 2)
    )


def merged(counts: Mapping[Effect, int], together: Counter[frozenset[Effect]]) -> Partition:
    """Return how often each outcome was seen; those that another pair showed together are one."""
    if len(counts) == 1:
        return (*counts.values(),)
    blocks: list[set[Effect]] = []
    for effect in counts:
        linked = [b for b in blocks if any(together[frozenset((effect, o))] > 1 for o in b)]
        blocks = [b for b in blocks if b not in linked] + [{effect}.union(*linked)]
    return tuple(sorted((sum(counts[e] for e in block) for block in blocks), reverse=True))


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


# Standard deviations of the priors. Those of the offsets were chosen by the log loss of untried
# pairs in Blocksworld and Overcooked.
_INTERCEPT = 1.5
_SLOPE = 0.5
_OFFSET = 1.0
_LEAST = 0.01  # disagreement below this says no more
_NEWTON_STEPS = 50
_CONVERGED = 1e-9


class HeldOutPrediction(NamedTuple):
    """A prediction for a tried pair that was made without what was tried in its state."""

    capability: int
    changes: bool
    """Whether it predicted that the state changes."""
    disagreement: float
    missed: float
    """The fraction of the pair's executions that ended in none of the predicted states."""


def calibrated_doubt(
    held_out: Iterable[HeldOutPrediction],
) -> Callable[[int, bool, float], float]:
    """Return how likely a prediction fails, given capability, `changes` and disagreement."""
    held_out = list(held_out)
    weights = [
        fit([one for one in held_out if one.changes == changes]) for changes in (False, True)
    ]

    def doubt(capability: int, changes: bool, disagreement: float) -> float:
        intercept, slope, *offsets = weights[changes].tolist()
        score = intercept + slope * _log_odds(disagreement)
        if capability < len(offsets):
            score += offsets[capability]
        return 1.0 / (1.0 + exp(-score))

    return doubt


def _log_odds(disagreement: float) -> float:
    share = min(max(disagreement, _LEAST), 1.0 - _LEAST)
    return log(share / (1.0 - share))


def fit(held_out: Sequence[HeldOutPrediction]) -> Floats:
    """Return the intercept, the slope and the offsets that are most probable a posteriori."""
    capabilities = 1 + max((one.capability for one in held_out), default=-1)
    prior = np.zeros(2 + capabilities)
    prior[1] = 1.0
    spread = np.array([_INTERCEPT, _SLOPE, *[_OFFSET] * capabilities])
    score = np.array([_log_odds(one.disagreement) for one in held_out])
    column: Integers = np.array([2 + one.capability for one in held_out], dtype=np.int64)
    features = np.zeros((len(held_out), len(prior)))
    features[:, 0] = 1.0
    features[:, 1] = score
    features[np.arange(len(held_out)), column] = 1.0
    missed = np.array([one.missed for one in held_out])

    def log_posterior(weights: Floats) -> float:
        score = features @ weights
        prior_loss = (((weights - prior) / spread) ** 2).sum() / 2
        return float(missed @ score - np.logaddexp(0.0, score).sum() - prior_loss)

    weights, reached = prior, log_posterior(prior)
    for _ in range(_NEWTON_STEPS):  # Newton's method; the posterior has one maximum
        failing = 1.0 / (1.0 + np.exp(-(features @ weights)))
        gradient = features.T @ (missed - failing) - (weights - prior) / spread**2
        curvature = (features.T * (failing * (1.0 - failing))) @ features + np.diag(spread**-2.0)
        step = np.linalg.solve(curvature, gradient)
        while log_posterior(weights + step) < reached and np.abs(step).max() > _CONVERGED:
            step = step / 2  # a full step may go too far
        weights = weights + step
        reached = log_posterior(weights)
        if np.abs(step).max() <= _CONVERGED:
            break
    return weights


MOST_PAIRS = 1_200
"""Of each capability; beyond, a sample is enough."""
FOLDS = 5
"""Parts of the states, each held out once."""
_FOLD = -11  # the place that seeds the division of states
IsAsked = Callable[[State, int], bool]
"""Whether a pair of a state and a capability is held out."""
Labels = dict[int, int]
"""The outcome type of each row of the state matrix in which a capability was tried."""


def in_half(half: int) -> IsAsked:
    """Return a test for one half of the pairs, by a hash."""
    return lambda state, capability: (child_seed(state, capability) & 1) == half


def in_fold(fold: int) -> IsAsked:
    """Return a test for all pairs of one part of the states, by a hash."""
    return lambda state, _: child_seed(_FOLD, state) % FOLDS == fold


def divided(
    labels: Sequence[Mapping[int, int]], states: Sequence[State], is_asked: IsAsked
) -> tuple[list[Labels], list[Labels]]:
    """Return the labels of each capability that are known, and those that are held out."""
    known: list[Labels] = []
    asked: list[Labels] = []
    for capability, own in enumerate(labels):
        rows = list(own)
        if len(rows) > MOST_PAIRS:
            order = sorted(rows, key=lambda row: child_seed(states[row], capability))
            chosen = set(order[:MOST_PAIRS])
            rows = [row for row in rows if row in chosen]
        parts: tuple[Labels, Labels] = ({}, {})
        for row in rows:
            parts[is_asked(states[row], capability)][row] = own[row]
        known.append(parts[False])
        asked.append(parts[True])
    return known, asked
