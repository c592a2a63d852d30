"""How often something happens: an estimate, an interval and the executions behind them.

A rate over several states, or pairs of a state and a capability, is the mean of their
probabilities, each with the same weight or with a weight that is given. Adding up all executions
instead would give them the weights that the strategy happened to give them, and the mean of their
frequencies is too low where a strategy asks again after a hit (`partial_pooling`). The intervals
hold however the executions were chosen (`mean_bounds`, `stratified_mean`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from capscope.stats import mean_bounds
from capscope.stats.error_budget import ERROR_RATE
from capscope.stats.partial_pooling import mean_probability
from capscope.stats.stratified_mean import Stratum, mean_interval, mean_of_tried, single_interval
from capscope.wording import counted


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something happens.

    >>> Rate.of_pairs([(10, 10), (10, 10), (10, 20)]).text
    '0.83 (95 % interval 0.56 to 0.95; 40 executions in 3 states)'
    """

    estimate: float | None
    """The probability, or the mean of several; None if nothing is known about it."""
    low: float
    high: float
    """The ends of the interval."""
    hits: float | None
    """The executions in which it happened; None if it does not follow from a count of these."""
    executions: int
    """All executions behind it."""
    states: int = 1
    """The states, or resets, that it is the mean over."""
    tried: int = 1
    """Those of them with executions."""

    @classmethod
    def single(cls, hits: int, executions: int, confidence: float = 0.95) -> Rate:
        """Return the rate of one state, or of one source of executions."""
        bounds = single_interval(hits, executions, confidence)
        return cls(hits / executions, *bounds, hits, executions)

    @classmethod
    def of_pairs(
        cls, pairs: Iterable[tuple[float, int]], states: int | None = None, selected_from: int = 1
    ) -> Rate:
        """Return the mean rate of pairs of a state and a capability.

        Args:
            pairs: Hits and executions of each pair; hits may be means. Those without executions do
                not count.
            states: The number of different states; that of the pairs unless given.
            selected_from: Of how many rates this is the most striking. The interval is wider to
                make up for that.
        """
        times = Counter((hits, executions) for hits, executions in pairs if executions)
        counts = tuple(sorted((hits, executions, n) for (hits, executions), n in times.items()))
        number = times.total() if states is None else states
        return cls(
            *_mean_with_bounds(counts, ERROR_RATE / selected_from),
            sum(hits * n for hits, _, n in counts),
            sum(executions * n for _, executions, n in counts),
            number,
            number,
        )

    @classmethod
    def of_strata(cls, strata: Sequence[Stratum], confidence: float = 0.95) -> Rate:
        """Return the weighted mean rate of strata; one without executions may have any rate."""
        tried = [stratum for stratum in strata if len(stratum.hits)]
        return cls(
            mean_of_tried(strata),
            *(mean_interval(strata, confidence) if strata else (0.0, 1.0)),
            sum(int(stratum.hits.sum()) for stratum in tried),
            sum(len(stratum.hits) for stratum in tried),
            sum(stratum.weight for stratum in strata),
            sum(stratum.weight for stratum in tried),
        )

    @property
    def interval(self) -> tuple[float, float]:
        """Both ends of the interval."""
        return self.low, self.high

    @property
    def missed(self) -> Rate:
        """The rate of executions in which it did not happen."""
        estimate = None if self.estimate is None else 1 - self.estimate
        hits = None if self.hits is None else self.executions - self.hits
        bounds = 1 - self.high, 1 - self.low
        return Rate(estimate, *bounds, hits, self.executions, self.states, self.tried)

    @property
    def brief(self) -> str:
        """The estimate with its interval.

        >>> Rate(None, 0.02, 1.0, None, 8).brief
        '?    [0.02, 1.00]'
        """
        shown = "?   " if self.estimate is None else f"{self.estimate:.2f}"
        return f"{shown} [{self.low:.2f}, {self.high:.2f}]"

    @property
    def text(self) -> str:
        """The estimate with its interval and sample size."""
        size = f"{counted(self.executions, 'execution')} in {counted(self.states, 'state')}"
        bounds = f"95 % interval {self.low:.2f} to {self.high:.2f}"
        return f"{self.estimate or 0.0:.2f} ({bounds}; {size})"


@lru_cache(maxsize=4096)
def _mean_with_bounds(
    counts: tuple[tuple[float, int, int], ...], error_rate: float
) -> tuple[float, float, float]:
    """Return the mean and its bounds for hits, executions and the number of pairs with these."""
    pairs = [(hits, executions) for hits, executions, n in counts for _ in range(n)]
    one_sided = 1 - error_rate / 2
    return (
        mean_probability([(*pair, 1) for pair in pairs]),
        mean_bounds.lower_bound(pairs, one_sided),
        mean_bounds.upper_bound(pairs, one_sided),
    )
