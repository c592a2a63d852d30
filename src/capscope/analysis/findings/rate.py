"""How often something happened, and when that is worth reporting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from capscope.statistics.beta import credible_interval
from capscope.statistics.betting import evidence_above

LEAST_DIFFERENCE = 0.1
"""Two probabilities closer than this count as equal for a reader."""
LEAST_RATE = 0.02
"""A rarer event is not reported, however sure it is."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something happened, in how many draws, in how many states.

    >>> Rate(30, 40, 4).text
    '0.75 (95 % interval 0.60 to 0.86; 40 draws in 4 states)'
    """

    hits: int
    draws: int
    states: int

    @property
    def probability(self) -> float:
        """The relative frequency."""
        return self.hits / self.draws

    @property
    def interval(self) -> tuple[float, float]:
        """The central 95 % credible interval of the probability."""
        return credible_interval(self.hits, self.draws)

    @property
    def text(self) -> str:
        """The probability with its interval and sample size."""
        low, high = self.interval
        draws = f"{self.draws:,} draw{'' if self.draws == 1 else 's'}"
        states = f"{self.states:,} state{'' if self.states == 1 else 's'}"
        bounds = f"95 % interval {low:.2f} to {high:.2f}"
        return f"{self.probability:.2f} ({bounds}; {draws} in {states})"

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        size = {"draws": self.draws, "states": self.states}
        return {"probability": self.probability, "interval": list(self.interval), **size}

    def surely_above(self, bound: float, threshold: float) -> bool:
        """Return whether the evidence that the probability exceeds a bound reaches a threshold."""
        return evidence_above(self.hits, self.draws, bound) >= threshold

    def clearly_above(self, bound: float, threshold: float) -> bool:
        """Return whether it is surely above a bound, and by enough to matter to a reader."""
        worth = self.interval[0] >= min(bound + LEAST_DIFFERENCE, (1 + bound) / 2)
        return worth and self.surely_above(bound, threshold)

    def gap_to(self, higher: Rate) -> float:
        """Return by how much another rate is higher at least, by the intervals; 0 if they meet."""
        return max(higher.interval[0] - self.interval[1], 0.0)

    def agrees_with(self, other: Rate) -> bool:
        """Return whether two rates may be reported as one."""
        if abs(self.probability - other.probability) <= LEAST_DIFFERENCE:
            return True
        (low, high), (other_low, other_high) = self.interval, other.interval
        return low <= other_high and other_low <= high
