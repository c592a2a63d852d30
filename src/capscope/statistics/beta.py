"""The beta distribution: the posterior of a probability after some successes and failures.

SciPy has it too, but the continued fraction is short and saves the core a large dependency.
"""

from __future__ import annotations

import math


def beta_quantile(share: float, a: float, b: float) -> float:
    """Return the value below which Beta(a, b) has the given share of its mass."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if beta_cdf(middle, a, b) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


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
