"""A rule: in these states, these effects, this often; with honest uncertainty.

The probability of an effect is its relative frequency, pooled over the states of the rule. A
frequency alone hides how much evidence stands behind it: 3 of 3 and 300 of 300 are both 1.0. So
each outcome carries the central 95 % credible interval of its probability under Jeffreys' prior.
"""

from dataclasses import dataclass

from capscope.statistics.beta import credible_interval
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
