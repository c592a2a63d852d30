"""How often something happened, and when that is worth reporting.

The rate of several pairs of a state and a capability is the mean of their probabilities, each with
the same weight. Adding up all draws instead would give the pairs the weights that the strategy
happened to give them, and the mean of their frequencies is too low where a strategy draws again
after a hit (`statistics/partial_pooling.py`). The interval is one for that mean
(`statistics/mean_bounds.py`); it holds however the draws were chosen.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from capscope.stats import mean_bounds
from capscope.stats.betting import evidence_above
from capscope.stats.error_budget import ERROR_RATE
from capscope.stats.partial_pooling import mean_probability

LEAST_DIFFERENCE = 0.1
"""Two probabilities closer than this count as equal for a reader."""
LEAST_RATE = 0.02
"""A rarer event is not reported, however sure it is."""
_LUCK = 0.2
"""How often an intent may be achieved without a needed change, by a slip."""
_OFTEN = 0.3
"""How often it must be, at least, for the change to be called unneeded."""
PairCounts = tuple[tuple[float, int, int], ...]
"""Hits and draws of a pair, and how many pairs have these; sorted. Hits may be means."""


@dataclass(frozen=True)
class Rate:
    """How often something happened, in how many draws, in how many states.

    >>> Rate.of([(10, 10), (10, 10), (10, 20)]).text
    '0.83 (95 % interval 0.56 to 0.95; 40 draws in 3 states)'
    """

    hits: float
    draws: int
    states: int
    """The number of different states; pairs of one state and several capabilities share it."""
    counts: PairCounts = field(repr=False)
    selected_from: int = 1
    """Of how many rates this is the most striking; the interval is wider to make up for that."""

    @classmethod
    def of(
        cls, pairs: Iterable[tuple[float, int]], states: int | None = None, selected_from: int = 1
    ) -> Rate:
        """Make a rate of the hits and draws of pairs; pairs without draws do not count."""
        times = Counter((hits, draws) for hits, draws in pairs if draws)
        counts = tuple(sorted((hits, draws, n) for (hits, draws), n in times.items()))
        hits = sum(h * n for h, _, n in counts)
        draws = sum(d * n for _, d, n in counts)
        number = sum(n for *_, n in counts)
        return cls(hits, draws, number if states is None else states, counts, selected_from)

    @property
    def probability(self) -> float:
        """The mean of the pairs' probabilities, as far as the draws tell."""
        return _probability(self.counts)

    @property
    def interval(self) -> tuple[float, float]:
        """Bounds on the mean of the pairs' probabilities, with confidence 95 %."""
        return _interval(self.counts, ERROR_RATE / self.selected_from)

    @property
    def missed(self) -> Rate:
        """The rate of draws in which it did not happen."""
        pairs = [(d - h, d) for h, d, n in self.counts for _ in range(n)]
        return Rate.of(pairs, self.states, self.selected_from)

    @property
    def text(self) -> str:
        """The probability with its interval and sample size."""
        low, high = self.interval
        draws = f"{self.draws:,} draw{'' if self.draws == 1 else 's'}"
        states = f"{self.states:,} state{'' if self.states == 1 else 's'}"
        bounds = f"95 % interval {low:.2f} to {high:.2f}"
        return f"{self.probability:.2f} ({bounds}; {draws} in {states})"

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        size = {"draws": self.draws, "states": self.states}
        return {"probability": self.probability, "interval": list(self.interval), **size}

    def surely_above(self, bound: float, threshold: float) -> bool:
        """Return whether the evidence that the probability exceeds a bound reaches a threshold."""
        return evidence_above(self.hits, self.draws, bound) >= threshold

    def clearly_above(self, bound: float, threshold: float) -> bool:
        """Return whether it is surely above a bound, and by enough to matter to a reader."""
        if not self.surely_above(bound, threshold):
            return False
        return self.interval[0] >= min(bound + LEAST_DIFFERENCE, (1 + bound) / 2)

    def gap_to(self, higher: Rate) -> float:
        """Return by how much another rate is higher at least, by the intervals; 0 if they meet."""
        return max(higher.interval[0] - self.interval[1], 0.0)


def more_than_luck(spared: int, caused: int) -> bool:
    """Return whether executions were often spared a change, and surely not by luck.

    Count neither for the execution of each pair that showed the change first: it is why one looks.
    """
    if not spared:
        return False
    sure = evidence_above(spared, spared + caused, _LUCK) >= -math.log(ERROR_RATE)
    return sure and is_often_spared(spared, caused)


def is_often_spared(spared: int, caused: int) -> bool:
    """Return whether executions were spared a change in a good part of the cases."""
    return spared >= _OFTEN * (spared + caused)


@lru_cache(maxsize=4096)
def _probability(counts: PairCounts) -> float:
    return mean_probability([(h, d, 1) for h, d, n in counts for _ in range(n)])


@lru_cache(maxsize=4096)
def _interval(counts: PairCounts, error_rate: float) -> tuple[float, float]:
    pairs = [(h, d) for h, d, n in counts for _ in range(n)]
    one_sided = 1 - error_rate / 2
    return mean_bounds.lower_bound(pairs, one_sided), mean_bounds.upper_bound(pairs, one_sided)
