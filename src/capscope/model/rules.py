"""A rule: in these states, these effects, this often; with honest uncertainty.

The probability of an effect is its relative frequency, pooled over the states of the rule. A
frequency alone hides how much evidence stands behind it (3 of 3 and 300 of 300 are both 1.0), and
that states may differ a little although no condition was found. So each outcome carries the central
95 % interval of its probability *in a state of the rule*, and the range of the states if they are
seen to differ; see `statistics/partial_pooling.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from capscope.logic import Effect, State
from capscope.stats.beta import credible_interval
from capscope.stats.partial_pooling import PartialPooling


@dataclass(frozen=True, slots=True)
class Outcome:
    """One effect of a rule, how often it was seen, and its probability."""

    effect: Effect
    count: int
    probability: float
    pooling: PartialPooling | None = field(default=None, repr=False, compare=False)
    """The counts of the states of the rule; without them, all draws are those of one state."""
    place: int = field(default=0, repr=False, compare=False)
    """The place of the effect in these counts."""

    @property
    def interval(self) -> tuple[float, float]:
        """The central 95 % interval of the probability in a state of the rule."""
        if self.pooling is not None:
            return self.pooling.interval(self.place)
        executions = round(self.count / self.probability) if self.count else 0
        return credible_interval(self.count, executions)

    @property
    def spread(self) -> tuple[float, float] | None:
        """The central 95 % range of the states' probabilities; None if no spread is seen."""
        return None if self.pooling is None else self.pooling.spread(self.place)


@dataclass(frozen=True, slots=True)
class Rule:
    """States in which a capability has the same effects, as far as the evidence shows."""

    states: tuple[State, ...]
    outcomes: tuple[Outcome, ...]

    @property
    def executions(self) -> int:
        """The executions behind the rule."""
        return sum(outcome.count for outcome in self.outcomes)

    def distribution(self, counts: Mapping[Effect, int]) -> dict[Effect, float]:
        """Return the distribution in a state that showed these effects this often.

        The more draws a state has, and the more the states differ, the more its own draws count.
        """
        effects = [outcome.effect for outcome in self.outcomes]
        pooling = self.outcomes[0].pooling
        if pooling is None or len(effects) == 1:
            return {outcome.effect: outcome.probability for outcome in self.outcomes}
        own = pooling.distribution(tuple(counts.get(effect, 0) for effect in effects))
        return dict(zip(effects, own, strict=True))
