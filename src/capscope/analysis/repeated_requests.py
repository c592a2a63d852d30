"""The chain of asking for one intent again and again until it holds.

Where an execution ends with the first change, one execution of a planner that always gets there is
a step on the way. What matters is whether its intent holds in the end, and that follows from the
outcomes of the capability alone: they are the transitions of a Markov chain over the states in
which it was tried. One stops asking when the intent holds, or when three executions in a row
changed nothing; without that, an agent with any chance at all would get there.

How sure that is. The naive way is to solve the chain by its frequencies and to say nothing more; a
state drawn once then counts as known. Here each outcome of a rule has an interval that is valid at
any time, and the chain is solved for the least and the most favorable probabilities within them
(an interval Markov chain): in each round, a state gives the probability that is free to its worst,
or best, outcomes. What was never seen, be it an outcome or a state in which the capability was not
tried, is failure in one case and success in the other. The rounds begin with failure, or success,
everywhere, so that bounds hold whenever they end.

States of one rule are taken to have the same probabilities, unless the draws show that they differ
(`Outcome.spread`); then each has its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from capscope.model import Rule, StateGraph
from capscope.statistics.arrays import Floats, Integers
from capscope.statistics.stratified_mean import single_interval
from capscope.symbolic import Effect, Intent, State

PATIENCE = 3
"""Executions in a row without a change after which one stops asking."""
_ROUNDS = 1_000
_SMALLEST_CHANGE = 1e-7
_FAILURE, _SUCCESS, _UNKNOWN = 0, 1, 2
_TARGETS = 3
"""Where outcomes lead besides states that were tried: failure, success, anything never seen."""


@dataclass(frozen=True)
class OutcomeBounds:
    """The probabilities of an outcome of one state."""

    effect: Effect
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class StateOutcomes:
    """What a capability does in one state."""

    state: State
    outcomes: tuple[OutcomeBounds, ...]
    unseen: float
    """An upper bound on the probability of everything that was never seen."""


@dataclass(frozen=True)
class Persistence:
    """For each state, the probability that the intent holds in the end if it is asked for."""

    states: tuple[State, ...]
    share: Floats
    """By the frequencies; a state never tried counts as failure."""
    low: Floats
    high: Floats


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
        for state in states:
            pair = graph.pair(state, capability)
            own: Mapping[Effect, int] = pair.counts if pair else {}
            shares = rule.distribution(own)
            found.append(_bounded(state, shares, own if differ else pooled, each))
    return found


def _states_differ(rule: Rule) -> bool:
    return any(outcome.spread is not None for outcome in rule.outcomes)


def _bounded(
    state: State, shares: Mapping[Effect, float], counts: Mapping[Effect, int], confidence: float
) -> StateOutcomes:
    draws = sum(counts.values())
    bounds = {e: single_interval(counts.get(e, 0), draws, confidence) for e in shares}
    outcomes = tuple(OutcomeBounds(e, share, *bounds[e]) for e, share in shares.items())
    return StateOutcomes(state, outcomes, single_interval(0, draws, confidence)[1])


def persistence(graph: StateGraph, intent: Intent, confidence: float = 0.95) -> Persistence:
    """Solve the chain of asking for one intent until it holds."""
    tried = outcomes_tried(graph, intent, confidence)
    chain = _Chain.of(tried, graph, intent)
    return Persistence(
        tuple(one.state for one in tried), chain.solved(), chain.least(), chain.most()
    )


@dataclass(frozen=True)
class _Chain:
    """The outcomes of all states as arrays: a row for each state, padded to the same length."""

    target: Integers
    """Where an outcome leads: a state by its row, after the three other targets."""
    share: Floats
    low: Floats
    high: Floats
    """Zero in the padding."""

    @classmethod
    def of(cls, tried: list[StateOutcomes], graph: StateGraph, intent: Intent) -> _Chain:
        holds = intent.test(graph.vocabulary)
        row = {one.state: _TARGETS + i for i, one in enumerate(tried)}
        # The last column is for all that was never seen.
        size = len(tried), 1 + max((len(one.outcomes) for one in tried), default=0)
        target = np.zeros(size, dtype=np.int64)
        share, low, high = np.zeros(size), np.zeros(size), np.zeros(size)
        for i, one in enumerate(tried):
            for k, outcome in enumerate(one.outcomes):
                after = outcome.effect.apply(one.state)
                target[i, k] = _SUCCESS if holds(after) else row.get(after, _UNKNOWN)
                share[i, k] = outcome.share
                low[i, k], high[i, k] = outcome.low, outcome.high
            target[i, -1], high[i, -1] = _UNKNOWN, one.unseen
        return cls(target, share, low, high)

    def solved(self) -> Floats:
        """Solve by the frequencies; each round allows one more execution."""
        return self._iterated(lambda values: self.share, 0.0)

    def least(self) -> Floats:
        """Return the probability in the least favorable case, or less."""
        return self._iterated(self._allotted, 0.0)

    def most(self) -> Floats:
        """Return the probability in the most favorable case, or more."""
        return self._iterated(lambda values: self._allotted(-values), 1.0)

    def _allotted(self, rank: Floats) -> Floats:
        """Give each outcome its lower bound, and what is free to those of the lowest rank."""
        order = np.argsort(rank, axis=1, kind="stable")
        room = np.take_along_axis(self.high - self.low, order, axis=1)
        free = 1 - self.low.sum(axis=1, keepdims=True)
        given = np.clip(free - (np.cumsum(room, axis=1) - room), 0.0, room)
        extra = np.empty_like(given)
        np.put_along_axis(extra, order, given, axis=1)
        allotted: Floats = self.low + extra
        return allotted

    def _iterated(self, choose: Callable[[Floats], Floats], unknown: float) -> Floats:
        """Repeat until nothing changes; `choose` gives the probabilities at the present values."""
        states = len(self.target)
        values = np.full(_TARGETS + states, unknown)
        values[_FAILURE], values[_SUCCESS] = 0.0, 1.0
        stays = self.target == np.arange(states)[:, None] + _TARGETS
        for _ in range(_ROUNDS):
            ahead, left = values[self.target], np.zeros(states)
            for _ in range(PATIENCE):
                # After an execution without a change, one less may follow.
                worth = np.where(stays, left[:, None], ahead)
                left = (choose(worth) * worth).sum(axis=1)
            change = np.abs(left - values[_TARGETS:]).max(initial=0.0)
            values[_TARGETS:] = left
            if change < _SMALLEST_CHANGE:
                break
        solved: Floats = values[_TARGETS:]
        return solved
