"""The Markov chain of repeating one request until its intent holds.

Where an execution ends with the first change, one execution of a planner that always arrives is
one step of its path. The probability that the intent holds in the end follows from the outcomes of
the capability alone, as the model predicts them: they are the transitions of a Markov chain over
the states in which it was tried. The requests end when the intent holds, or when three executions
in a row changed nothing; without that, every agent with a positive probability of success would
arrive.

A chain often leads into states in which the capability was never tried. If the model infers what
happens there, its predictions continue the chain. Where it infers nothing, the end of the path is
open: a mean over states leaves such paths out, and if they are the majority there is no mean
(`Persistence.mean`). Counted as failure, planners that always arrive seemed to do so from 0.6 of
the states, as in all worlds in which few pairs are tried. Weighting inferences by their doubt did
not improve the rates, and estimating doubts takes several times as long as the model.

**The interval.** Solving the chain by its probabilities alone would treat a state drawn once as
known, and with an interval for each state, all would be at their worst at once. So the
probabilities of all pairs are sampled together, from what all draws of the run say about how often
a pair repeats what it did (`stats/repetition.py`), and the chain is solved for each sample: once
with failure for whatever was never seen, untried states included, and once with success. Inferences
do not count.

Pairs are put into an outcome type because of what they showed, so its draws do not tell whether
they would show it again. Hence each pair has probabilities of its own. Outcomes are grouped by
capability and by whether anything changed: an agent that slips does nothing once and something the
next time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from capscope.insight.tried_rules import predictions
from capscope.logic import Effect, Intent, State, StateTest
from capscope.model import LearnedModel
from capscope.seeds import child_seed
from capscope.stats.arrays import Floats, Mask
from capscope.stats.repetition import (
    ProbabilitySampler,
    Stick,
    in_order_of_appearance,
    sampled_distributions,
    sticks_of,
)

PATIENCE = 3
"""Executions in a row without a change after which one stops asking."""
MOST_INFERRED = 20_000
"""Pairs that are inferred for all capabilities of a run together."""
_LEAST_KNOWN = 0.5
"""Fraction of the paths whose ends must be known for a statement about all."""
_ROUNDS = 1_000
_SMALLEST_CHANGE = 1e-7
_FAILURE, _SUCCESS, _UNKNOWN = 0, 1, 2
_TARGETS = 3
"""Where outcomes lead besides states of the chain: failure, success, anything never seen."""
_TAIL = 0.025


@dataclass(frozen=True)
class StateOutcomes:
    """What a capability does in one state."""

    state: State
    shares: Mapping[Effect, float]
    """How probable each effect is, by the model."""
    counts: Mapping[Effect, int] = field(default_factory=dict)
    """How often each effect was drawn; none if it was never tried."""


def outcomes_tried(model: LearnedModel, intent: Intent) -> list[StateOutcomes]:
    """Return what happens in each state in which the intent did not hold and was asked for."""
    holds = intent.test(model.graph.vocabulary)
    return [
        StateOutcomes(state, _shares(state, predicted), pair.counts)
        for state, pair, predicted in predictions(model, intent)
        if not holds(state)
    ]


def _shares(state: State, predicted: Mapping[State, float]) -> dict[Effect, float]:
    return {Effect.between(state, end): p for end, p in predicted.items()}


def persistences(
    model: LearnedModel, seed: int = 0, *, inferring: bool = False
) -> dict[Intent, Persistence]:
    """Solve the chain of asking for one intent until it holds, for each capability.

    Args:
        model: What is known of pairs.
        seed: For the intervals.
        inferring: Whether what it infers continues the chains where nothing was tried.

    Returns:
        The solved chains.
    """
    words = model.graph.vocabulary
    tried = {intent: outcomes_tried(model, intent) for intent in model.graph.capabilities}
    rows = {intent: list(own) for intent, own in tried.items()}
    if inferring:
        _continue(rows, model)
    samplers = _samplers(list(tried.values()), seed)
    return {
        intent: Persistence(rows[intent], intent.test(words), *sampler)
        for intent, sampler in zip(tried, samplers, strict=True)
    }


def _samplers(
    tried: Sequence[Sequence[StateOutcomes]], seed: int
) -> list[tuple[list[list[Effect]], ProbabilitySampler]]:
    """Return for each capability the effects of each state in order, and the sampler of these."""
    rng = np.random.default_rng(seed)
    ordered = [[in_order_of_appearance(one.counts, rng) for one in own] for own in tried]
    sticks = [[sticks_of([*row.values()]) for row in rows] for rows in ordered]
    idle = [[not e.adds and not e.deletes for row in rows for e in row] for rows in ordered]
    groups: list[list[Stick]] = []
    for rows, which in zip(sticks, idle, strict=True):
        flat = [stick for row in rows for stick in row]
        for side in (False, True):
            groups.append([s for s, own in zip(flat, which, strict=True) if own == side])
    cells = sampled_distributions(groups, rng)
    return [
        (
            [list(row) for row in ordered[number]],
            ProbabilitySampler(
                sticks[number],
                [int(own) for own in idle[number]],
                cells[2 * number : 2 * number + 2],
                child_seed(seed, number),
            ),
        )
        for number in range(len(tried))
    ]


def _continue(rows: Mapping[Intent, list[StateOutcomes]], model: LearnedModel) -> None:
    """Add what is inferred about the untried states that the chains lead into, level by level.

    It says nothing about the bounds: all that is certain is left to what was never seen.
    """
    met = {intent: {one.state for one in own} for intent, own in rows.items()}
    newest, left = rows, MOST_INFERRED
    while any(newest.values()):
        ahead = {
            intent: _untried_after(newest[intent], known, intent.test(model.graph.vocabulary))
            for intent, known in met.items()
        }
        # States that are new to the model take long one at a time.
        model.anticipate(state for states in ahead.values() for state in states)
        newest = {}
        for intent, states in ahead.items():
            newest[intent] = [
                StateOutcomes(state, _shares(state, model.predict(state, intent)))
                for state in states[:left]
            ]
            left -= len(newest[intent])
            rows[intent].extend(newest[intent])


def _untried_after(rows: Sequence[StateOutcomes], met: set[State], holds: StateTest) -> list[State]:
    """Return the states that some rows lead into and that were not met before."""
    found = []
    for one in rows:
        for effect in one.shares:
            after = effect.apply(one.state)
            if after not in met and not holds(after):
                met.add(after)
                found.append(after)
    return found


class Persistence:
    """For each state tried, the probability that the intent holds in the end if it is asked for.

    The outcomes of all states are edges of a graph, in arrays: states that were tried come first.
    What a state may do besides is unknown.
    """

    def __init__(
        self,
        states: Sequence[StateOutcomes],
        holds: StateTest,
        effects: Sequence[Sequence[Effect]],
        sampler: ProbabilitySampler,
    ) -> None:
        """Take the outcomes of all states, and the effects that the sampler is about."""
        self.states = tuple(one.state for one in states if one.counts)
        self._size, self.sampler, self.effects = len(states), sampler, effects
        number = {one.state: _TARGETS + i for i, one in enumerate(states)}
        # The place of each outcome in the samples; the last is for outcomes never drawn there.
        pairs = [(i, effect) for i, own in enumerate(effects) for effect in own]
        places = {pair: place for place, pair in enumerate(pairs)}
        edges = [
            (i, target, share, places.get((i, effect), len(places)))
            for i, one in enumerate(states)
            for effect, share in one.shares.items()
            for after in [effect.apply(one.state)]
            for target in [_SUCCESS if holds(after) else number.get(after, _UNKNOWN)]
        ]
        source, target, share, place = np.array(edges, dtype=np.float64).reshape(-1, 4).T
        self._source, self._place = source.astype(np.int64), place.astype(np.int64)
        self._target, self._share = target.astype(np.int64), share
        self._stays: Mask = self._target == self._source + _TARGETS

    @cached_property
    def share(self) -> Floats:
        """By the model's probabilities, in untried states by the inferences; open is failure."""
        return self._by_shares(self._share, success=1.0)

    @cached_property
    def open(self) -> Floats:
        """The probability that the path leads to where nothing is known or inferred."""
        return self._by_shares(self._share, unknown=1.0)

    @cached_property
    def measured(self) -> Floats:
        """By the probabilities of tried pairs alone; an untried state counts as failure."""
        tried = self._source < len(self.states)
        return self._by_shares(self._share * tried, success=1.0)

    def _by_shares(self, shares: Floats, **worth: float) -> Floats:
        values: Floats = self._solved(shares[None, :], **worth)[0]
        return values

    def mean(self, weights: Mapping[State, int]) -> float | None:
        """Return the mean over states, of the paths whose ends are known; None if most are open."""
        each = self._each(weights)
        known = float(each @ (1 - self.open))
        if not 0 < _LEAST_KNOWN * each.sum() <= known:
            return None
        return float(each @ self.share) / known

    def _each(self, weights: Mapping[State, int]) -> Floats:
        return np.array([weights.get(state, 0) for state in self.states], dtype=np.float64)

    def interval(self, weights: Mapping[State, int]) -> tuple[float, float]:
        """Return the 95 % interval of the mean over states, all paths included.

        At the lower end everything that was never seen is failure, at the upper end success.
        """
        each = self._each(weights)
        low, high = np.hstack(
            [
                (
                    self._solved(shares, success=1.0) @ each,
                    self._solved(shares, success=1.0, unknown=1.0, states=1.0) @ each,
                )
                for shares in self.sampler.batches(self._place)
            ]
        )
        ends = np.quantile(low, _TAIL), np.quantile(high, 1 - _TAIL)
        return float(ends[0] / each.sum()), float(ends[1] / each.sum())

    def _solved(
        self, shares: Floats, *, success: float = 0.0, unknown: float = 0.0, states: float = 0.0
    ) -> Floats:
        """Repeat until nothing changes, for each row of probabilities of the edges.

        The other arguments are what each target is worth, states before the first round.
        """
        values = np.full((len(shares), _TARGETS + self._size), states)
        values[:, :_TARGETS] = 0.0, success, unknown
        stayed, moved = shares * self._stays, shares * ~self._stays
        # After an execution without a change, one less may follow.
        stay = self._summed(stayed)
        times = sum(stay**k for k in range(PATIENCE))
        rest = unknown * np.clip(1 - self._summed(shares), 0.0, None)
        for _ in range(_ROUNDS):
            left = times * (self._summed(moved * values[:, self._target]) + rest)
            change = np.abs(left - values[:, _TARGETS:]).max(initial=0.0)
            values[:, _TARGETS:] = left
            if change < _SMALLEST_CHANGE:
                break
        return values[:, _TARGETS : _TARGETS + len(self.states)]

    def _summed(self, edges: Floats) -> Floats:
        """Add up what each state's edges are worth; every state with an edge has its own run."""
        total = np.zeros((len(edges), self._size))
        if len(self._source):
            first = np.flatnonzero(np.diff(self._source, prepend=-1))
            total[:, self._source[first]] = np.add.reduceat(edges, first, axis=1)
        return total
