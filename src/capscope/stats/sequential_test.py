"""Decide a claim about a probability with as few draws as possible: Wald's sequential test.

It compares two probabilities, one that is clearly too low and one that is clearly high enough, and
stops as soon as the likelihood ratio of the draws speaks for one of them; between the two, either
answer is acceptable. It is cut after a number of draws that keeps both error rates; then the
likelier of the two wins. Errors and costs are computed exactly, so the cost is known in advance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from capscope.errors import CapscopeError
from capscope.stats.arrays import Floats, Mask

_MOST_DRAWS = 20_000
_UNCUT, _CUT = 0.8, 0.9  # shares of the error rate: of the bounds, and with the last draw


@dataclass(frozen=True)
class SequentialTest:
    """Whether a probability is `high` (or more) or `low` (or less), with an error rate for each.

    >>> test = SequentialTest(low=0.7, high=0.9, error_rate=0.05)
    >>> test.verdict(5, 5), test.verdict(14, 14), test.verdict(0, 3)
    (None, True, False)
    """

    low: float
    high: float
    error_rate: float

    def __post_init__(self) -> None:
        if not (0 < self.low < self.high < 1 and 0 < self.error_rate < 0.5):
            raise CapscopeError(
                f"a sequential test needs 0 < low < high < 1, not {self.low:g} and {self.high:g}"
            )

    def verdict(self, hits: int, draws: int) -> bool | None:
        """Return True for `high`, False for `low`, None if more draws are needed."""
        score = float(self._score(hits, draws))
        if abs(score) >= self._enough:
            return score > 0
        return score > 0 if draws >= self.most_draws else None

    def first_verdict(self, values: Floats) -> bool | None:
        """Return the first verdict along draws in order; values between 0 and 1 count as parts."""
        scores = self._score(np.cumsum(values), np.arange(1, len(values) + 1))
        last = np.arange(1, len(values) + 1) >= self.most_draws
        above = (scores >= self._enough) | (last & (scores > 0))
        below = (scores <= -self._enough) | (last & (scores <= 0))
        return first_decision(above, below)

    def expected_draws(self, probability: float) -> float:
        """Return how many draws the test takes on average at a probability."""
        return self._course(probability, self.most_draws)[1]

    @cached_property
    def most_draws(self) -> int:
        """The draws after which the test decides at the latest."""
        return _most_draws(self)

    @property
    def _enough(self) -> float:
        return math.log(1 / (_UNCUT * self.error_rate) - 1)

    def _score(self, hits: Any, draws: Any) -> Any:
        misses = draws - hits
        return hits * math.log(self.high / self.low) + misses * math.log(
            (1 - self.high) / (1 - self.low)
        )

    def _course(self, probability: float, most: int) -> tuple[float, float]:
        """Return the probability of the verdict `high` and the mean number of draws."""
        going = np.ones(1)  # the probability of each number of hits, undecided so far
        passed = mean = 0.0
        for draws in range(1, most + 1):
            mean += float(going.sum())
            going = np.append(going * (1 - probability), 0.0) + np.append(0.0, going * probability)
            scores = self._score(np.arange(draws + 1), draws)
            over = scores >= self._enough
            under = scores <= -self._enough
            if draws == most:
                over, under = scores > 0, scores <= 0
            passed += float(going[over].sum())
            going = np.where(over | under, 0.0, going)
        return passed, mean


def first_decision(above: Mask, below: Mask) -> bool | None:
    """Return which of two claims is shown first along draws in order; None if neither is."""
    shown = np.flatnonzero(above | below)
    return bool(above[shown[0]]) if len(shown) else None


@lru_cache(maxsize=64)
def _most_draws(test: SequentialTest) -> int:
    """Return the fewest draws, in steps of a tenth, that keep both error rates."""
    most = 1
    while most < _MOST_DRAWS:
        most = math.ceil(most * 1.1)
        wrong = test._course(test.low, most)[0], 1 - test._course(test.high, most)[0]
        if max(wrong) <= _CUT * test.error_rate:
            return most
    raise CapscopeError(
        f"{test.low:g} and {test.high:g} are too close to be told apart in {_MOST_DRAWS:,} "
        "executions; allow a larger margin"
    )
