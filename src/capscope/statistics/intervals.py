"""Credible intervals of proportions.

A relative frequency alone hides how much evidence is behind it: 3 of 3 and 300 of 300 are both 1.0.
Jeffreys' prior gives short intervals with good coverage over the whole range.
"""

from __future__ import annotations

from functools import lru_cache

from capscope.statistics.beta import beta_quantile


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
