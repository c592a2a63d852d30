"""A difference between two runs: the numbers of both sides, and where it was seen."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from capscope.analysis.diff.strata import QuestionCounts, StratumTally
from capscope.statistics.arrays import Integers, Mask
from capscope.statistics.intervals import credible_interval
from capscope.symbolic import Intent, Literal, State, Vocabulary
from capscope.symbolic.dnf import Term

_MOST_STATES = 20


class DiffKind(StrEnum):
    """What changed from A to B."""

    LOST = "lost"
    LESS_RELIABLE = "less reliable"
    GAINED = "gained"
    MORE_RELIABLE = "more reliable"
    NEW_SIDE_EFFECT = "new side effect"
    MORE_FREQUENT = "side effect more frequent"
    SIDE_EFFECT_GONE = "side effect gone"
    LESS_FREQUENT = "side effect less frequent"


LOSSES = frozenset({DiffKind.LOST, DiffKind.LESS_RELIABLE})
NEW_SIDE_EFFECTS = frozenset({DiffKind.NEW_SIDE_EFFECT, DiffKind.MORE_FREQUENT})


@dataclass(frozen=True, slots=True)
class Estimate:
    """How often an event happened on one side.

    The strata have the same weights on both sides, by the comparisons made in each, so the
    probability need not be hits / draws. If draws are not exchangeable, the interval counts each
    position as one draw.
    """

    probability: float
    low: float
    high: float
    hits: int
    draws: int

    @classmethod
    def of_both(cls, counts: QuestionCounts, members: Mask) -> tuple[Estimate, Estimate]:
        """Estimate for both sides over some of the strata."""
        weights = np.where(members, counts.weights, 0)
        return cls._of(counts.a, weights, members), cls._of(counts.b, weights, members)

    @classmethod
    def _of(cls, tally: StratumTally, weights: Integers, members: Mask) -> Estimate:
        compared = weights > 0
        weight = weights[compared] / weights.sum()
        probability = float((weight * tally.hits[compared] / tally.draws[compared]).sum())
        # The number of equally weighted draws that would say as much.
        size = float(1 / (weight**2 / tally.independent[compared]).sum())
        low, high = credible_interval(probability * size, size)
        hits, draws = tally.hits[members].sum(), tally.draws[members].sum()
        return cls(probability, low, high, int(hits), int(draws))

    def as_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON-ready values."""
        return {
            "probability": self.probability,
            "interval": [self.low, self.high],
            "hits": self.hits,
            "draws": self.draws,
        }


def change_between(a: Estimate, b: Estimate) -> tuple[float, float, float]:
    """Return the difference B − A with its 95 % interval, from the two intervals (MOVER).

    >>> a, b = Estimate(0.9, 0.8, 0.96, 36, 40), Estimate(0.5, 0.35, 0.65, 20, 40)
    >>> [round(x, 2) for x in change_between(a, b)]
    [-0.4, -0.56, -0.22]
    """
    change = b.probability - a.probability
    below = math.hypot(b.probability - b.low, a.high - a.probability)
    above = math.hypot(b.high - b.probability, a.probability - a.low)
    return change, max(change - below, -1.0), min(change + above, 1.0)


@dataclass(frozen=True, slots=True)
class StateCounts:
    """The counts of one state on both sides."""

    state: State
    hits_a: int
    draws_a: int
    hits_b: int
    draws_b: int


@dataclass(frozen=True)
class Where:
    """The states in which a difference was seen."""

    when: tuple[Term, ...]
    """A condition that holds in them and in none of the others; one empty term means all."""
    states: int
    of: int
    """All states in which the question was compared."""
    elsewhere: tuple[Estimate, Estimate] | None
    """The two sides in the other states."""


@dataclass(frozen=True)
class Difference:
    """One thing that the two agents do differently."""

    change: DiffKind
    capability: Intent
    literals: tuple[Literal, ...]
    """The side effect; empty for a change in whether the intent is achieved."""
    where: Where
    a: Estimate
    b: Estimate
    wins_a: int
    wins_b: int
    """Of the draws compared one to one: those in which it happened on one side only."""
    adjusted_p: float
    """The smallest error rate, over everything compared, at which this would be reported."""
    counts: tuple[StateCounts, ...] = field(repr=False)
    """Some of the states, those with most disagreements first."""
    vocabulary: Vocabulary = field(repr=False, compare=False)

    @property
    def difference(self) -> tuple[float, float, float]:
        """The change of the probability from A to B, with its 95 % interval."""
        return change_between(self.a, self.b)

    def as_dict(self) -> dict[str, Any]:
        """Return the difference as JSON-ready values."""
        change, low, high = self.difference
        elsewhere = self.where.elsewhere
        return {
            "change": str(self.change),
            "capability": str(self.capability),
            "literals": [str(literal) for literal in self.literals],
            "when": [[str(literal) for literal in term] for term in self.where.when],
            "states": self.where.states,
            "states compared": self.where.of,
            "a": self.a.as_dict(),
            "b": self.b.as_dict(),
            "difference": change,
            "interval": [low, high],
            "elsewhere": None
            if elsewhere is None
            else {"a": elsewhere[0].as_dict(), "b": elsewhere[1].as_dict()},
            "only a": self.wins_a,
            "only b": self.wins_b,
            "adjusted p": self.adjusted_p,
            "evidence": [self._state_dict(counts) for counts in self.counts],
        }

    def _state_dict(self, counts: StateCounts) -> dict[str, Any]:
        return {
            "state": hex(counts.state),
            "holding": [str(atom) for atom in self.vocabulary.holding(counts.state)],
            "a": {"hits": counts.hits_a, "draws": counts.draws_a},
            "b": {"hits": counts.hits_b, "draws": counts.draws_b},
        }


def state_counts(
    counts: QuestionCounts, members: Mask, states: tuple[State, ...]
) -> tuple[StateCounts, ...]:
    """List the states behind a difference, those with most disagreements first."""
    which, state = np.unique(counts.states[members], return_inverse=True)
    signs, a, b = counts.signs, counts.a, counts.b
    won = (signs.wins_a + signs.wins_b).max(axis=0)
    columns = (won, a.hits, a.draws, b.hits, b.draws)
    sums = [np.bincount(state, column[members]).astype(int) for column in columns]
    order = np.lexsort((which, -sums[0]))[:_MOST_STATES]
    return tuple(
        StateCounts(states[which[i]], *(int(column[i]) for column in sums[1:])) for i in order
    )
