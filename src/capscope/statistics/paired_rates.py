"""Do two groups differ in their probability, within many pairs of counts that say little each?

Each pair has its own base rate, so pooling would mislead. Given how many of all draws of a pair
were hits, an exact test could compare their split with chance. That is not valid if a strategy
draws one group until it hits and the other once: such a test called most simulated agents without
any difference unequal.

So this is universal inference, as for changes (`change_point`): the likelihood of the draws of a
pair if each group follows a prior of its own, divided by the largest likelihood under one common
probability. The product over pairs of 1 − w + w · ratio, averaged over weights w and over pairs of
priors in both directions, is a betting score however the draws were chosen.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from capscope.statistics import rate_priors as priors
from capscope.statistics.log_space import log_mean_exp


class PairedCounts(NamedTuple):
    """Hits and draws of two groups."""

    hits: int
    draws: int
    other_hits: int
    other_draws: int


_DIFFERENCES = (
    (priors.ALWAYS, priors.HALF),
    (priors.ALWAYS, priors.SOMETIMES),
    (priors.ALWAYS, priors.RARELY),
    (priors.ALWAYS, priors.NEVER),
    (priors.MOSTLY, priors.HALF),
    (priors.MOSTLY, priors.SOMETIMES),
    (priors.MOSTLY, priors.RARELY),
    (priors.OFTEN, priors.RARELY),
)
_BETS = ((priors.ANY, priors.ANY), *_DIFFERENCES, *((low, high) for high, low in _DIFFERENCES))
"""The priors of the two groups."""
_TAKING_PART = (0.1, 0.4, 0.97)
"""The weights w."""
_LARGEST_LOG_RATIO = 600.0


def evidence_of_unequal_rates(pairs: Sequence[PairedCounts]) -> float:
    """Return the log score against "in each pair, both groups have the same probability"."""
    if not pairs:
        return 0.0
    return log_mean_exp(np.sum([_log_scores(pair) for pair in pairs], axis=0).tolist())


@lru_cache(maxsize=65536)
def _log_scores(pair: PairedCounts) -> tuple[float, ...]:
    """Return the log score of one pair for each bet and each weight."""
    common = _best_log_likelihood(pair.hits + pair.other_hits, pair.draws + pair.other_draws)
    scores: list[float] = []
    for prior, other in _BETS:
        apart = prior.log_likelihood(pair.hits, pair.draws)
        apart += other.log_likelihood(pair.other_hits, pair.other_draws)
        ratio = math.exp(min(apart - common, _LARGEST_LOG_RATIO))
        scores += [math.log(1 - w + w * ratio) for w in _TAKING_PART]
    return tuple(scores)


def _best_log_likelihood(hits: int, draws: int) -> float:
    return sum(n * math.log(n / draws) for n in (hits, draws - hits) if n)
