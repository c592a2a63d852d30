"""The beta distribution, credible intervals by it, and sums of numbers given by their logarithms.

Jeffreys' prior gives short intervals with good coverage over the whole range. SciPy has all this
too, but the continued fraction is short and saves the core a large dependency.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache


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


def bisected(
    low: float, high: float, belongs_low: Callable[[float], bool], halvings: int
) -> tuple[float, float]:
    """Halve an interval again and again around the point at which an answer changes."""
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if belongs_low(middle) else (low, middle)
    return low, high


def log_beta(a: float, b: float) -> float:
    """Return the logarithm of the beta function."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


@lru_cache(maxsize=65536)
def credible_interval(count: float, executions: float, level: float = 0.95) -> tuple[float, float]:
    """Return the central credible interval of a proportion under Jeffreys' prior Beta(½, ½).

    At 0 or all, the interval is extended to 0 or 1, as is customary.

    >>> [round(bound, 2) for bound in credible_interval(30, 40)]
    [0.6, 0.86]
    """
    a, b = count + 0.5, executions - count + 0.5
    tail = (1 - level) / 2
    lower = 0.0 if count == 0 else beta_quantile(tail, a, b)
    upper = 1.0 if count == executions else beta_quantile(1 - tail, a, b)
    return lower, upper


def beta_quantile(share: float, a: float, b: float) -> float:
    """Return the value below which Beta(a, b) has the given share of its mass."""
    return sum(bisected(0.0, 1.0, lambda x: beta_cdf(x, a, b) < share, 60)) / 2


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the mass of Beta(a, b) below x: the regularized incomplete beta function.

    >>> beta_cdf(0.3, 1, 1)
    0.3
    """
    if x <= 0.0 or x >= 1.0:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):
        return 1.0 - beta_cdf(1 - x, b, a)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    return front / (a * _lentz(x, a, b))


def _lentz(x: float, a: float, b: float) -> float:
    """Evaluate the continued fraction of the incomplete beta function by Lentz's method."""
    tiny = 1e-300
    fraction, c, d = 1.0, 1.0, 0.0
    for i in range(1, 10_000):
        m = i // 2
        if i == 1:
            numerator = -(a + b) * x / (a + 1)
        elif i % 2 == 0:
            numerator = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            numerator = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1.0 / ((1.0 + numerator * d) or tiny)
        c = (1.0 + numerator / c) or tiny
        fraction *= c * d
        if abs(c * d - 1.0) < 1e-14:
            break
    return fraction
