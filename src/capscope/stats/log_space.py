"""Sums and means of numbers that are given by their logarithms, without overflow."""

import math
from collections.abc import Sequence


def log_sum_exp(logs: Sequence[float]) -> float:
    """Return the logarithm of the sum of the exponentials.

    >>> math.isclose(log_sum_exp([1000.0, 1000.0]), 1000 + math.log(2))
    True
    """
    largest = max(logs)
    if largest == -math.inf:
        return largest
    return largest + math.log(math.fsum(math.exp(x - largest) for x in logs))


def log_mean_exp(logs: Sequence[float]) -> float:
    """Return the logarithm of the mean of the exponentials: the mean of betting scores is one."""
    return log_sum_exp(logs) - math.log(len(logs))


def log_beta(a: float, b: float) -> float:
    """Return the logarithm of the beta function."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
