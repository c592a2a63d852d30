"""Divide one error rate among everything that a report asks.

An `ErrorBudget` divides one rate evenly into shares (Bonferroni), one for each kind of question,
and a `Share` divides its part among its questions. A betting score has to reach the threshold: the
logarithm of the number of shares times the number of questions, divided by the error rate.
Thresholds come only from shares, and a budget that is overspent raises an error, so that adding a
kind cannot break the promise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from capscope.errors import CapscopeError

ERROR_RATE = 0.05
"""The default probability of any false alarm in one report."""
_ROUNDING = 1e-9


class ErrorBudget:
    """An error rate, divided evenly into shares.

    >>> budget = ErrorBudget(0.05, shares=2)
    >>> round(budget.share("losses").threshold(questions=10), 3) == round(math.log(400), 3)
    True
    >>> budget.spent
    0.025
    """

    def __init__(self, rate: float, shares: int) -> None:
        if not 0 < rate < 1:
            raise CapscopeError(f"the error rate must be between 0 and 1, not {rate}")
        self.rate = rate
        self.shares = shares
        self._taken: dict[str, Share] = {}

    def share(self, name: str) -> Share:
        """Hand out the share of one kind of question; each name has one."""
        if name in self._taken:
            raise CapscopeError(f"the error budget has given a share to {name!r} already")
        if len(self._taken) >= self.shares:
            raise CapscopeError(
                f"no share of the error budget is left for {name!r}: it was divided into "
                f"{self.shares}, taken by {', '.join(self._taken)}"
            )
        self._taken[name] = Share(name, self)
        return self._taken[name]

    @property
    def spent(self) -> float:
        """An upper bound on the probability of any false alarm so far; at most the rate."""
        return self.rate * (sum(share.spent for share in self._taken.values()) / self.shares)


class Share:
    """The part of an error budget that belongs to one kind of question."""

    def __init__(self, name: str, budget: ErrorBudget) -> None:
        self.name = name
        self._budget = budget
        self.thresholds: list[float] = []
        """All thresholds that were handed out, in order."""
        self.spent = 0.0
        """The fraction of the share that was spent."""

    @property
    def rate(self) -> float:
        """The error rate of the whole share."""
        return self._budget.rate / self._budget.shares

    def threshold(self, questions: int, fraction: float = 1.0) -> float:
        """Return the log score that each of some questions must reach, and record the spending.

        They divide the given fraction of the share among them.
        """
        if not 0 < fraction <= 1 - self.spent + _ROUNDING:
            raise CapscopeError(
                f"{self.name!r} asks for {fraction:g} of its share of the error budget; only "
                f"{1 - self.spent:g} is left"
            )
        self.spent = min(self.spent + fraction, 1.0)
        budget = self._budget
        threshold = math.log(budget.shares * max(questions, 1) / fraction / budget.rate)
        self.thresholds.append(threshold)
        return threshold

    def reached(self, scores: Sequence[float]) -> list[bool]:
        """Return which log scores of some questions are high enough, and spend the share.

        After each question that is answered, the others divide the whole among them (Holm).

        >>> ErrorBudget(0.05, shares=1).share("losses").reached([3.1, 4.0])
        [True, True]
        """
        first, left = self.threshold(len(scores)), len(scores)
        found = [False] * left
        for place in sorted(range(left), key=lambda place: -scores[place]):
            if scores[place] < first + math.log(left / len(scores)):
                break
            found[place] = True
            left -= 1
        return found
