"""Fisher's exact test of a difference between two groups of draws, for a number fixed in advance.

If the strategy draws again after a hit, the p-value is only approximate; a betting score
(`statistics/betting.py`) is valid then, and needs more draws.
"""

import math


def log_p_value(hits: int, draws: int, other_hits: int, other_draws: int) -> float:
    """Return the logarithm of the one-sided p-value for a higher rate in the first group.

    >>> round(math.exp(log_p_value(3, 3, 0, 3)), 3)
    0.05
    """
    total, all_hits = draws + other_draws, hits + other_hits
    ways = sum(
        math.comb(draws, k) * math.comb(other_draws, all_hits - k)
        for k in range(hits, min(all_hits, draws) + 1)
    )
    return math.log(ways) - math.log(math.comb(total, all_hits))
