"""Do two groups differ in their odds, within many pairs of counts that are each hard to compare?

Each pair has its own base rate and its own numbers of draws, so pooling would mislead. Within a
pair, given how many of all its draws were hits, the number in the first group is hypergeometric if
both have the same probability. The alternative is one odds ratio for all pairs, averaged over a
range of ratios. Because this conditions on the numbers of draws, it is only approximately valid if
a strategy chose them adaptively and favored one of the two groups.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from capscope.statistics.log_space import log_choose, log_mean_exp, log_sum_exp

_LOG_ODDS_RATIOS = tuple(x / 2 for x in range(-10, 11) if x)


class PairedCounts(NamedTuple):
    """Hits and draws of two groups."""

    hits: int
    draws: int
    other_hits: int
    other_draws: int


def evidence_of_odds_ratio(pairs: Sequence[PairedCounts]) -> float:
    """Return the log score against "in each pair, both groups have the same probability"."""
    return log_mean_exp(
        [sum(_log_ratio(pair, log_odds) for pair in pairs) for log_odds in _LOG_ODDS_RATIOS]
    )


@lru_cache(maxsize=65536)
def _log_ratio(pair: PairedCounts, log_odds: float) -> float:
    """Return how much likelier a split of the hits is at an odds ratio than at equal odds."""
    hits, draws, other_hits, other_draws = pair
    total = hits + other_hits
    low, high = max(0, total - other_draws), min(total, draws)
    weights = [
        log_choose(draws, k) + log_choose(other_draws, total - k) for k in range(low, high + 1)
    ]
    tilted = [w + k * log_odds for k, w in enumerate(weights, low)]
    return hits * log_odds - log_sum_exp(tilted) + log_sum_exp(weights)
