"""A rule: in these states, these effects, this often; with honest uncertainty.

The probability of an effect is its relative frequency, pooled over the states of the rule. A
frequency alone hides how much evidence stands behind it: 3 of 3 and 300 of 300 are both 1.0. So
each outcome carries the central 95 % credible interval of its probability under Jeffreys' prior.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from capscope.symbolic import Effect, State


@dataclass(frozen=True, slots=True)
class Outcome:
    """One effect of a rule, how often it was seen, and its share of all executions."""

    effect: Effect
    count: int
    probability: float

    @property
    def interval(self) -> tuple[float, float]:
        """The central 95 % credible interval of the probability."""
        executions = round(self.count / self.probability) if self.count else 0
        return credible_interval(self.count, executions)


@dataclass(frozen=True, slots=True)
class Rule:
    """The states that showed one and the same set of effects, and those effects."""

    states: tuple[State, ...]
    outcomes: tuple[Outcome, ...]

    @property
    def executions(self) -> int:
        """The executions behind the rule."""
        return sum(outcome.count for outcome in self.outcomes)


@lru_cache(maxsize=65536)
def credible_interval(count: int, executions: int, level: float = 0.95) -> tuple[float, float]:
    """Return the central credible interval of a proportion under Jeffreys' prior Beta(½, ½).

    At 0 or all, the interval is extended to 0 or 1, as is customary.

    >>> [round(bound, 2) for bound in credible_interval(30, 40)]
    [0.6, 0.86]
    """
    a, b = count + 0.5, executions - count + 0.5
    tail = (1 - level) / 2
    lower = 0.0 if count == 0 else _beta_quantile(tail, a, b)
    upper = 1.0 if count == executions else _beta_quantile(1 - tail, a, b)
    return lower, upper


def _beta_quantile(share: float, a: float, b: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if _beta_cdf(middle, a, b) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularized incomplete beta function.

    SciPy has it too; the continued fraction is short and spares the core a large dependency.
    """
    if x <= 0.0 or x >= 1.0:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _beta_cdf(1 - x, b, a)
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
