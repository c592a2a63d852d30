"""Evidence about the mean of values between 0 and 1, valid however often one looks.

A bet stakes the fraction f of the money on "the mean is above the bound": a value v multiplies the
money by 1 − f + f·v/bound, which is 1 on average if the mean is at the bound, whatever the values
are. The score is the money of several fractions together, so it is a betting score as in `betting`.
A difference d between two scores of one sample is the value (1 + d)/2; against
"no difference", a sample with the same score twice then costs nothing.

The fractions were chosen in trials with 10 to 35 % of samples that differ and differences of 2 to
20 points: of eight sets, these needed the fewest samples on average.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from capscope.stats.arrays import Floats
from capscope.stats.beta import bisected, log_mean_exp
from capscope.stats.sequential_test import first_decision

_FRACTIONS = 0.95 * 0.5 ** np.arange(5)
_HALVINGS = 30


def _log_factors(values: Floats, bound: float) -> Floats:
    """Return the logarithm of what each value multiplies the money by: a row per fraction."""
    rows: Floats = np.log1p(_FRACTIONS[:, None] * (values / bound - 1))
    return rows


def log_score(values: Floats, bound: float, times: float = 1.0) -> float:
    """Return the log score against "the mean is at most the bound".

    Args:
        values: Between 0 and 1, in any order.
        bound: Between 0 and 1, both excluded.
        times: How often the values are repeated, to foresee what more of the kind would show.

    Returns:
        The log score; ⅟α is reached with probability α at most if the mean is not above the bound.

    >>> log_score(np.ones(30), 0.8) > math.log(20) > log_score(np.ones(10), 0.8)
    True
    """
    return log_mean_exp((times * _log_factors(values, bound).sum(axis=1)).tolist())


def interval(values: Floats, threshold: float) -> tuple[float, float]:
    """Return the bounds that the mean is not shown to be beyond.

    Args:
        values: Between 0 and 1.
        threshold: The log score that shows that the mean is beyond a bound.

    Returns:
        The lower and the upper bound.

    >>> [round(bound, 2) for bound in interval(np.repeat([0.0, 1.0], 50), math.log(40))]
    [0.35, 0.65]
    """

    def lower(side: Floats) -> float:
        def shown(bound: float) -> bool:
            return bound > 0 and log_score(side, bound) >= threshold

        return bisected(0.0, float(side.mean()), shown, _HALVINGS)[0]

    return lower(values), 1.0 - lower(1.0 - values)


@dataclass(frozen=True)
class MeanTest:
    """Whether a mean is `high` (or more) or `low` (or less), with an error rate for each.

    `SequentialTest` does the same for a probability; it is quicker, because it knows the variance.
    """

    low: float
    high: float
    error_rate: float

    def first_verdict(self, values: Floats) -> bool | None:
        """Return the first verdict along values in order: True for `high`; None if undecided."""
        enough = -math.log(self.error_rate)
        above = _running(values, self.low) >= enough
        below = _running(1 - values, 1 - self.high) >= enough
        return first_decision(above, below)


def _running(values: Floats, bound: float) -> Floats:
    """Return the log score after each value."""
    money = np.cumsum(_log_factors(values, bound), axis=1)
    scores: Floats = np.logaddexp.reduce(money, axis=0) - math.log(len(money))
    return scores
