"""A rule: in these states, these effects, this often; with honest uncertainty.

The probability of an effect is its relative frequency, pooled over the states of the rule. A
frequency alone hides how much evidence stands behind it: 3 of 3 and 300 of 300 are both 1.0. So
each outcome carries the central 95 % credible interval of its probability under Jeffreys' prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from capscope.model.beta import beta_quantile
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
    lower = 0.0 if count == 0 else beta_quantile(tail, a, b)
    upper = 1.0 if count == executions else beta_quantile(1 - tail, a, b)
    return lower, upper
