"""The Markov chain of repeating one request until its intent holds.

Where an execution ends with the first change, one execution of a planner that always arrives is
one step of its path. The probability that the intent holds in the end follows from the outcomes of
the capability alone: they are the transitions of a Markov chain over the states in which it was
tried. The requests end when the intent holds, or when three executions in a row changed nothing;
without that, every agent with a positive probability of success would arrive.

A chain often leads into states in which the capability was never tried. If the model infers what
happens there, its predictions continue the chain. Where it infers nothing, the end of the path is
open: a mean over states leaves such paths out, and if they are the majority there is no mean
(`Persistence.mean`). Counted as failure, planners that always arrive seemed to do so from 0.6 of
the states, as in all worlds in which few pairs are tried. Weighting inferences by their doubt did
not improve the rates, and estimating doubts takes several times as long as the model.

The interval. Solving the chain by its frequencies alone would treat a state drawn once as known.
Here each outcome of a rule has an interval that is valid at any time, and the chain is solved for
the least and the most favorable probabilities within them (an interval Markov chain): in each
round, a state gives the free probability to its worst, or best, outcomes. Unseen outcomes and
untried states are failure in one case and success in the other, whatever the model infers. The
rounds begin with failure, or success, everywhere, so that bounds hold whenever they end.

States of one rule are taken to have the same probabilities, unless the draws show that they differ
(`Outcome.spread`); then each has its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from capscope.logic import Effect, Intent, State, StateTest
from capscope.model import LearnedModel, Rule, StateGraph
from capscope.stats.arrays import Floats
from capscope.stats.stratified_mean import single_interval

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


@dataclass(frozen=True)
class OutcomeBounds:
    """The probabilities of an outcome of one state."""

    effect: Effect
    share: float
    low: float
    high: float


_Outcomes = tuple[tuple[OutcomeBounds, ...], float]


@dataclass(frozen=True)
class StateOutcomes:
    """What a capability does in one state."""

    state: State
    outcomes: tuple[OutcomeBounds, ...]
    unseen: float
    """An upper bound on the probability of everything that was never seen."""


def outcomes_tried(graph: StateGraph, intent: Intent, confidence: float) -> list[StateOutcomes]:
    """Return what happens in each state in which the intent did not hold and was asked for.

    With the given confidence, all bounds hold together.
    """
    capability, holds = graph.index[intent], intent.test(graph.vocabulary)
    rules = [
        (rule, [state for state in rule.states if not holds(state)], _states_differ(rule))
        for rule in graph.rules(intent)
    ]
    questions = sum(
        (len(states) if differ else bool(states)) * (len(rule.outcomes) + 1)
        for rule, states, differ in rules
    )
    each = 1 - (1 - confidence) / max(questions, 1)
    found = []
    for rule, states, differ in rules:
        pooled = {outcome.effect: outcome.count for outcome in rule.outcomes}
        known: dict[frozenset[tuple[Effect, int]], _Outcomes] = {}
        for state in states:
            pair = graph.pair(state, capability)
            own: Mapping[Effect, int] = pair.counts if pair else {}
            key = frozenset(own.items())
            if key not in known:
                known[key] = _bounded(rule.distribution(own), own if differ else pooled, each)
            found.append(StateOutcomes(state, *known[key]))
    return found


def _states_differ(rule: Rule) -> bool:
    return any(outcome.spread is not None for outcome in rule.outcomes)


def _bounded(
    shares: Mapping[Effect, float], counts: Mapping[Effect, int], confidence: float
) -> _Outcomes:
    draws = sum(counts.values())
    bounds = {e: single_interval(counts.get(e, 0), draws, confidence) for e in shares}
    outcomes = tuple(OutcomeBounds(e, share, *bounds[e]) for e, share in shares.items())
    return outcomes, single_interval(0, draws, confidence)[1]


def persistences(
    graph: StateGraph, inference: LearnedModel | None = None, confidence: float = 0.95
) -> dict[Intent, Persistence]:
    """Solve the chain of asking for one intent until it holds, for each capability."""
    tried = {intent: outcomes_tried(graph, intent, confidence) for intent in graph.capabilities}
    rows = {intent: list(own) for intent, own in tried.items()}
    if inference is not None:
        _continue(rows, graph, inference)
    return {
        intent: Persistence(rows[intent], len(own), intent.test(graph.vocabulary))
        for intent, own in tried.items()
    }


def _continue(
    rows: Mapping[Intent, list[StateOutcomes]], graph: StateGraph, inference: LearnedModel
) -> None:
    """Add what is inferred about the untried states that the chains lead into, level by level.

    It says nothing about the bounds: all that is certain is left to what was never seen.
    """
    met = {intent: {one.state for one in own} for intent, own in rows.items()}
    newest, left = rows, MOST_INFERRED
    while any(newest.values()):
        ahead = {
            intent: _untried_after(newest[intent], known, intent.test(graph.vocabulary))
            for intent, known in met.items()
        }
        # States that are new to the model take long one at a time.
        inference.anticipate(state for states in ahead.values() for state in states)
        newest = {}
        for intent, states in ahead.items():
            newest[intent] = [_inferred(state, intent, inference) for state in states[:left]]
            left -= len(newest[intent])
            rows[intent].extend(newest[intent])


def _untried_after(rows: Sequence[StateOutcomes], met: set[State], holds: StateTest) -> list[State]:
    """Return the states that some rows lead into and that were not met before."""
    found = []
    for one in rows:
        for outcome in one.outcomes:
            after = outcome.effect.apply(one.state)
            if after not in met and not holds(after):
                met.add(after)
                found.append(after)
    return found


def _inferred(state: State, intent: Intent, inference: LearnedModel) -> StateOutcomes:
    outcomes = tuple(
        OutcomeBounds(Effect.between(state, end), share, 0.0, 0.0)
        for end, share in inference.predict(state, intent).items()
    )
    return StateOutcomes(state, outcomes, 1.0)


class Persistence:
    """For each state tried, the probability that the intent holds in the end if it is asked for.

    The outcomes of all states are arrays: a row for each state, those that were tried first, padded
    to the same length; the last column is for all that was never seen.
    """

    def __init__(self, rows: Sequence[StateOutcomes], tried: int, holds: StateTest) -> None:
        """Take the outcomes of all states; the first of them were tried."""
        self.states = tuple(one.state for one in rows[:tried])
        row = {one.state: _TARGETS + i for i, one in enumerate(rows)}
        size = len(rows), 1 + max((len(one.outcomes) for one in rows), default=0)
        self._target = np.zeros(size, dtype=np.int64)
        self._share, self._low, self._high = np.zeros((3, *size))
        for i, one in enumerate(rows):
            for k, outcome in enumerate(one.outcomes):
                after = outcome.effect.apply(one.state)
                self._target[i, k] = _SUCCESS if holds(after) else row.get(after, _UNKNOWN)
                self._share[i, k] = outcome.share
                self._low[i, k], self._high[i, k] = outcome.low, outcome.high
            self._target[i, -1], self._high[i, -1] = _UNKNOWN, one.unseen
            self._share[i, -1] = max(0.0, 1 - self._share[i].sum())

    @cached_property
    def share(self) -> Floats:
        """By the frequencies and, in untried states, by the inferences; open is failure."""
        return self._solved(lambda values: self._share, success=1.0)

    @cached_property
    def open(self) -> Floats:
        """The probability that the path leads to where nothing is known or inferred."""
        return self._solved(lambda values: self._share, unknown=1.0)

    @cached_property
    def measured(self) -> Floats:
        """By the frequencies alone; an untried state counts as failure."""
        share = self._share.copy()
        share[len(self.states) :] = 0.0
        return self._solved(lambda values: share, success=1.0)

    @cached_property
    def low(self) -> Floats:
        """In the least favorable case, or less."""
        return self._solved(self._allotted, success=1.0)

    @cached_property
    def high(self) -> Floats:
        """In the most favorable case, or more."""
        return self._solved(
            lambda values: self._allotted(-values), success=1.0, unknown=1.0, states=1.0
        )

    def mean(self, weights: Mapping[State, int]) -> float | None:
        """Return the mean over states, of the paths whose ends are known; None if most are open."""
        each = np.array([weights.get(state, 0) for state in self.states], dtype=np.float64)
        known = float(each @ (1 - self.open))
        if not 0 < _LEAST_KNOWN * each.sum() <= known:
            return None
        return float(each @ self.share) / known

    def _allotted(self, rank: Floats) -> Floats:
        """Give each outcome its lower bound, and what is free to those of the lowest rank."""
        order = np.argsort(rank, axis=1, kind="stable")
        room = np.take_along_axis(self._high - self._low, order, axis=1)
        free = 1 - self._low.sum(axis=1, keepdims=True)
        given = np.clip(free - (np.cumsum(room, axis=1) - room), 0.0, room)
        extra = np.empty_like(given)
        np.put_along_axis(extra, order, given, axis=1)
        allotted: Floats = self._low + extra
        return allotted

    def _solved(
        self,
        choose: Callable[[Floats], Floats],
        *,
        success: float = 0.0,
        unknown: float = 0.0,
        states: float = 0.0,
    ) -> Floats:
        """Repeat until nothing changes; `choose` gives the probabilities at the present values.

        The other arguments are what each target is worth before the first round.
        """
        size = len(self._target)
        values = np.full(_TARGETS + size, states)
        values[_FAILURE], values[_SUCCESS], values[_UNKNOWN] = 0.0, success, unknown
        stays = self._target == np.arange(size)[:, None] + _TARGETS
        for _ in range(_ROUNDS):
            ahead, left = values[self._target], np.zeros(size)
            for _ in range(PATIENCE):
                # After an execution without a change, one less may follow.
                worth = np.where(stays, left[:, None], ahead)
                left = (choose(worth) * worth).sum(axis=1)
            change = np.abs(left - values[_TARGETS:]).max(initial=0.0)
            values[_TARGETS:] = left
            if change < _SMALLEST_CHANGE:
                break
        return values[_TARGETS : _TARGETS + len(self.states)]
