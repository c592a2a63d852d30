"""What the evidence settles and what it leaves open, in numbers and in one sentence."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is settled and what is open."""

    tried: int
    """Pairs that were tried."""
    untried: int
    """Pairs of visited states that were never tried."""
    hidden: float
    """The expected number of outcomes above ε that were not seen."""
    imprecise: int
    """Rules whose probabilities are not known well enough."""
    epsilon: float
    delta: float
    precision: float

    @property
    def reached(self) -> bool:
        """Nothing is open."""
        open_ends = not self.tried or self.untried or self.imprecise
        return not open_ends and self.hidden <= self.delta

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as JSON-ready values."""
        return {**asdict(self), "reached": self.reached}

    def __str__(self) -> str:
        if self.reached:
            return (
                f"settled: with probability {1 - self.delta:g} no untested outcome above "
                f"{self.epsilon:g} remains in the visited region, and with the same probability "
                f"all rules are known to within {self.precision:g}"
            )
        still = [] if self.tried else ["nothing was tried yet"]
        if self.untried:
            still.append(f"{self.untried:,} pair{_s(self.untried)} never tried")
        if self.hidden > self.delta:
            still.append(f"{self.hidden:.2g} untested outcomes above {self.epsilon:g} expected")
        if self.imprecise:
            rules = f"{self.imprecise:,} rule{_s(self.imprecise)}"
            still.append(f"{rules} not yet within {self.precision:g}")
        return f"still open: {', '.join(still)}"


def _s(number: int) -> str:
    return "" if number == 1 else "s"
