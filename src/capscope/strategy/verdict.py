"""What the evidence settles and what is still open, as numbers and in one sentence."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any

from capscope.model import OutcomeGroup
from capscope.strategy.missed_outcomes import MISSED_SHARE


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is settled and what is open."""

    tried: int
    """Pairs that were tried."""
    untried: int
    """Pairs of visited states that were never tried."""
    hidden: float
    """A bound on the probability that an outcome above ε was missed in a pair that was tried."""
    imprecise: int
    """Rules whose probabilities are not precise enough."""
    thin: int
    """Pairs that were tried less often than `min_draws`."""
    least_draws: int
    """How often the pair was tried that was tried least often."""
    epsilon: float
    delta: float
    precision: float

    @property
    def reached(self) -> bool:
        """Whether nothing is open."""
        open_ends = not self.tried or self.untried or self.imprecise or self.thin
        return not open_ends and not self._may_hide

    @property
    def _may_hide(self) -> bool:
        return self.hidden > self.delta * MISSED_SHARE

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {**asdict(self), "reached": self.reached}

    def __str__(self) -> str:
        if self.reached:
            return f"settled: {self.claim}"
        return f"still open: {', '.join(self.open_points())}"

    @property
    def claim(self) -> str:
        """The claim that holds if the verdict is reached."""
        escape = (1 - self.epsilon) ** self.least_draws
        return (
            f"with probability {1 - self.delta:g}, no outcome with probability above "
            f"{self.epsilon:g} was missed in the states seen (every pair was tried at least "
            f"{_times(self.least_draws)}; an outcome of probability {self.epsilon:g} escapes that "
            f"with probability {escape:.2g}), and the probabilities of all rules with several "
            f"outcomes are known to within {self.precision:g} on average over the executions of "
            "each rule"
        )

    def open_points(self) -> Iterator[str]:
        """Yield what is still open."""
        if not self.tried:
            yield "nothing was tried yet"
        if self.untried:
            yield f"{_pairs(self.untried)} of a state and a capability never tried"
        if self._may_hide:
            yield (
                f"an outcome with probability above {self.epsilon:g} may have been missed with "
                f"probability up to {self.hidden:.2g} (settled at "
                f"{self.delta * MISSED_SHARE:.2g}; the least-tried "
                f"pair was tried {_times(self.least_draws)})"
            )
        if self.imprecise:
            rules = "1 rule" if self.imprecise == 1 else f"{self.imprecise:,} rules"
            yield f"{rules} not yet known to within {self.precision:g}"
        if self.thin:
            yield f"{_pairs(self.thin)} tried less often than --min-draws asks for"


def _pairs(number: int) -> str:
    return f"{number:,} pair{'' if number == 1 else 's'}"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"


def half_width(group: OutcomeGroup, width: float) -> float:
    """Return the error bound of a rule's largest probability, at `width` standard errors.

    The variance is taken at the end of the interval that is nearer to one half. Otherwise a rule
    would pass as soon as it looked, by chance, more certain than it is.
    """
    share = (max(group.counts) + 0.5) / (group.total + 1.0)
    share = max(share - width * sqrt(share * (1.0 - share) / group.total), 0.5)
    return width * sqrt(share * (1.0 - share) / group.total)
