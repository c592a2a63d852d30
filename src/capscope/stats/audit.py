"""The audit: how often does the agent surprise the model when it is used, and how sharp is it?

The model is frozen. Then executions are drawn as in use: a reset with a seed of its own and a
sequence of one to `length` random capabilities, of which one execution is scored: a surprise if it
ends in an outcome that the model held impossible, or could not predict at all. One execution of
each sequence makes the samples independent, and each execution of such sequences is equally likely
to be scored.

Against the hypothesis that the rate of surprises is at least ε, a bettor who expects the rate q < ε
multiplies its wealth by (1 − q)/(1 − ε) for each execution as foreseen and by q/ε for each
surprise; if the hypothesis is true, wealth ever reaches 1/δ with probability at most δ (Ville). Two
bettors share the start capital. A round that is not going well is abandoned: its draws are learned
from, and a later round audits the next model. All rounds together spend no more than δ.

A model that holds everything possible is never surprised. So a second bet, with a δ of its own, is
about the mean probability that the model gave to what happened (`mean_bounds`). It is small for a
model that says little, and for an agent of which nobody could say more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from capscope.stats import mean_bounds
from capscope.stats.beta import bisected, log_sum_exp

_BETTORS = ((2 / 3, 0.0), (1 / 3, 0.25))
"""Part of the capital, and the expected rate of surprises as a fraction of ε."""
_ABANDONED = 0.4
"""Wealth below which a new round is cheaper."""
_FIRST_ROUND = 0.7
"""The fraction of the error rate that round 1 may spend; each later round, of the rest."""


def error_of_round(number: int, error_rate: float) -> float:
    """Return what round 1, 2, … may spend.

    >>> total = sum(error_of_round(number, 0.05) for number in range(1, 100))
    >>> math.isclose(total, 0.05)
    True
    """
    return error_rate * _FIRST_ROUND * (1.0 - _FIRST_ROUND) ** (number - 1)


def log_wealth(samples: int, surprises: int, rate: float) -> float:
    """Return the logarithm of the wealth after some samples, against "the rate is at least this".

    One execution as foreseen earns a little, a surprise costs all but a twelfth. Without surprises,
    356 executions suffice in the first round.

    >>> [round(math.exp(log_wealth(1, surprises, 0.01)), 4) for surprises in (0, 1)]
    [1.0093, 0.0833]
    >>> needed = 1 / error_of_round(1, 0.05)
    >>> [math.exp(log_wealth(samples, 0, 0.01)) >= needed for samples in (355, 356)]
    [False, True]
    """
    logs = []
    for capital, expected in _BETTORS:
        q = expected * rate
        if q or not surprises:
            clean = (samples - surprises) * (math.log1p(-q) - math.log1p(-rate))
            lost = surprises * math.log(expected) if q else 0.0
            logs.append(math.log(capital) + clean + lost)
    return log_sum_exp(logs)


def upper_bound(samples: int, surprises: int, error_rate: float) -> float:
    """Return the smallest rate that the samples rule out; 1 if they rule out none.

    Each rate has a bet of its own, so the bound holds at any time.
    """
    highest = 1.0 - 1e-9

    def too_low(rate: float) -> bool:
        return log_wealth(samples, surprises, rate) < -math.log(error_rate)

    return 1.0 if too_low(highest) else bisected(0.0, highest, too_low, 60)[1]


@dataclass(frozen=True, slots=True)
class AuditResult:
    """How far an audit got."""

    rate: float
    """The rate of surprises that is to be ruled out."""
    confidence: float
    length: int
    """The longest sequence; 0 if pairs of seen states were drawn uniformly."""
    round: int
    since_query: int
    """The query that began the round: the model knows what was recorded before it."""
    samples: int
    surprises: int
    executions: int
    """All executions of the round, those that lead to the scored ones included."""
    probability: float = 0.0
    """The sum of the probabilities that the model gave to what the scored executions showed."""
    added_to: int = 0
    """The pairs that showed an outcome that the model held impossible, scored or not."""

    json_properties: ClassVar = ("passed", "bound", "sharpness", "sharpness_bound", "statement")

    @property
    def passed(self) -> bool:
        """Whether the statement holds."""
        return self._log_wealth >= -math.log(self._error)

    @property
    def abandoned(self) -> bool:
        """Whether it is cheaper to learn and to audit again."""
        return self._log_wealth < math.log(_ABANDONED)

    @property
    def _log_wealth(self) -> float:
        return log_wealth(self.samples, self.surprises, self.rate)

    @property
    def _error(self) -> float:
        return error_of_round(self.round, 1.0 - self.confidence)

    @property
    def bound(self) -> float:
        """The rate of surprises that the round rules out so far."""
        return upper_bound(self.samples, self.surprises, self._error)

    @property
    def sharpness(self) -> float:
        """The mean probability that the model gave to what the scored executions showed."""
        return self.probability / self.samples if self.samples else 0.0

    @property
    def sharpness_bound(self) -> float:
        """What that is at least among all executions drawn like these; holds at any time."""
        if not self.probability:
            return 0.0
        return mean_bounds.lower_bound([(self.probability, self.samples)], 1.0 - self._error)

    @property
    def statements(self) -> tuple[str, ...]:
        """What may be claimed: how rare surprises are, how sharp the model is, and of which one."""
        claimed = self.rate if self.passed else self.bound
        if claimed >= 1.0:
            return (f"the audit had just begun ({self.samples} scored executions)",)
        sure = f"with {self.confidence:.4g} confidence"
        surprises = (
            f"{sure}, at most {100 * claimed:.3g} % of executions {self._of} end in an outcome "
            f"that the model held impossible (audit of {self.executions:,} executions, "
            f"{self.samples:,} scored, {self.surprises} "
            f"surprise{'' if self.surprises == 1 else 's'})"
        )
        sharpness = (
            f"{sure}, the mean probability that the model gives to what happens in them is at "
            f"least {_rounded_down(self.sharpness_bound)} ({self.sharpness:.2f} in the audit)"
        )
        if not self.added_to:
            return surprises, sharpness
        pairs = f"{self.added_to:,} pair{'' if self.added_to == 1 else 's'}"
        audited = f"the audited model is that before the audit, which added outcomes to {pairs}"
        return surprises, sharpness, audited

    @property
    def statement(self) -> str:
        """The statements in one line."""
        return "; ".join(self.statements)

    @property
    def _of(self) -> str:
        if self.length == 1:
            return "of a random capability from the beginning"
        if self.length:
            return f"in sequences of 1 to {self.length} random capabilities from the beginning"
        return "of random capabilities in random seen states"


def _rounded_down(bound: float) -> str:
    return f"{math.floor(100 * bound) / 100:.2f}"


def step_weights(length: int) -> Sequence[float]:
    """Return how likely the scored execution is the first, second, … of its sequence.

    Sequences of 1 to `length` capabilities are equally likely, and so is each of their executions.

    >>> step_weights(2)
    [0.6666666666666666, 0.3333333333333333]
    """
    whole = length * (length + 1) / 2
    return [(length - i) / whole for i in range(length)]
