"""Bounds on a weighted mean over strata, some with many draws and some with none.

Each stratum has its own probability; which is drawn next may depend on everything seen before, and
so may the end. Adding up an interval for each stratum is far too wide: with fifty strata of one
draw each it excludes nothing. So all draws together are one bet (`mean_bounds`): stakes on success,
multiplied, divided by the most that they can be expected to pay over all probabilities whose mean
is at the bound. By weak duality every price for that constraint gives an upper bound, and the
lowest of several is used: it costs a little power and no validity.

If one stratum has most of the draws, bets on these drown the others. So one bet is on the first
draws of each stratum only, as many as its weight; others on four and sixteen times as many, and one
on all of them. The score is the mean of the four. Which draws count is known before they are made.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from capscope.stats import mean_bounds
from capscope.stats.arrays import Floats, Mask
from capscope.stats.beta import bisected, log_mean_exp
from capscope.stats.partial_pooling import mean_probability

_ROUNDS = (1, 4, 16, None)
_STAKES = 16
_PRICES = 24
_HALVINGS = 12


@dataclass(frozen=True)
class Stratum:
    """A stratum with its draws in the order in which they were made."""

    weight: int
    hits: Mask

    def first(self, rounds: int | None) -> tuple[int, int]:
        """Return hits and draws within as many rounds of draws as the weight has."""
        kept = self.hits if rounds is None else self.hits[: rounds * self.weight]
        return int(kept.sum()), len(kept)

    @cached_property
    def share(self) -> float:
        """The fraction of hits."""
        return float(self.hits.mean())


def mean_of_tried(strata: Sequence[Stratum]) -> float | None:
    """Estimate the weighted mean of the probabilities of the strata with draws."""
    tried = [(*stratum.first(None), stratum.weight) for stratum in strata if len(stratum.hits)]
    return mean_probability(tried) if tried else None


def mean_interval(strata: Sequence[Stratum], confidence: float = 0.95) -> tuple[float, float]:
    """Return bounds on the weighted mean of all strata, valid at any time.

    A stratum without draws may have any probability, so of the mean only the share of the others
    is known.

    >>> full, none = np.ones(40, dtype=bool), np.ones(0, dtype=bool)
    >>> [round(bound, 2) for bound in mean_interval([Stratum(1, full)])]
    [0.89, 1.0]
    >>> [round(bound, 2) for bound in mean_interval([Stratum(1, full), Stratum(1, none)])]
    [0.43, 1.0]
    >>> [round(bound, 2) for bound in mean_interval([Stratum(3, full), Stratum(1, none)])]
    [0.66, 1.0]
    """
    if len(strata) == 1:
        hits, draws = strata[0].first(None)
        return single_interval(hits, draws, confidence) if draws else (0.0, 1.0)
    missed = [Stratum(stratum.weight, ~stratum.hits) for stratum in strata]
    one_sided = (1 + confidence) / 2
    return _lower_bound(strata, one_sided), 1.0 - _lower_bound(missed, one_sided)


@lru_cache(maxsize=4096)
def single_interval(hits: int, draws: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return bounds on one probability, valid at any time.

    >>> [round(bound, 2) for bound in single_interval(30, 40)]
    [0.5, 0.92]
    """
    one_sided = (1 + confidence) / 2
    counts = [(hits, draws)]
    return mean_bounds.lower_bound(counts, one_sided), mean_bounds.upper_bound(counts, one_sided)


def _lower_bound(strata: Sequence[Stratum], confidence: float) -> float:
    enough = -math.log1p(-confidence)
    weight = sum(stratum.weight for stratum in strata)
    scores = [_log_score_of(strata, rounds) for rounds in _ROUNDS]
    high = sum(s.weight * s.share for s in strata if len(s.hits)) / weight
    if not high:
        return 0.0

    def exceeded(bound: float) -> bool:
        return log_mean_exp([log_score(bound) for log_score in scores]) >= enough

    return bisected(0.0, high, exceeded, _HALVINGS)[0]


def _log_score_of(strata: Sequence[Stratum], rounds: int | None) -> Callable[[float], float]:
    """Return a function of a bound: the log score of "the mean is above the bound"."""
    counts = [(*stratum.first(rounds), stratum.weight) for stratum in strata]
    all_hits, whole = sum(hits for hits, *_ in counts), float(sum(w for *_, w in counts))
    # Strata with the same numbers are taken together.
    alike = Counter((draws, weight) for _, draws, weight in counts if draws)
    sizes = np.array([(*size, times) for size, times in alike.items()], dtype=np.float64)
    draws, weights, times = sizes.reshape(-1, 3).T

    def most_paid(bound: float, odds: Floats) -> Floats:
        """Return an upper bound on the log payment expected of each stake."""
        slack = 1 / (odds[:, None] - 1)
        ratio = draws / weights
        # Between these prices lies the one at which the mean is at the bound.
        first, last = np.log(ratio.min() / (1 + slack)), np.log(ratio.max() / (bound + slack))
        price = np.exp(first + (last - first) * np.linspace(0, 1, _PRICES))[:, :, None]
        slack = slack[:, :, None]
        p = np.clip(ratio / price - slack, 0.0, 1.0)
        gained = draws * np.log1p(p / slack) - price * weights * p
        paid: Floats = (gained @ times + price[:, :, 0] * bound * whole).min(axis=1)
        return paid

    def log_score(bound: float) -> float:
        if not all_hits:
            return 0.0 if not len(draws) else -math.inf
        odds = mean_bounds.stakes_on_success(bound, _STAKES)
        return log_mean_exp((all_hits * np.log(odds) - most_paid(bound, odds)).tolist())

    return log_score
