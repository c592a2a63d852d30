"""Bounds of a probability that hold however it was decided to draw again or to stop.

A binomial test of fixed size would not do: a strategy asks again where answers vary and stops where
they agree. As elsewhere (`findings.statistics`), a claim is supported by a betting score: the
likelihood of the draws, averaged over the probabilities for which the claim is true (Jeffreys'
prior), over that at the bound. If the claim is wrong, the chance that the score ever reaches
1 / (1 − confidence) is at most 1 − confidence.

**Of what?** Draws are pooled from several states, each with a probability of its own. The claim is
about their mean, every draw counting alike: of the states, and the positions, that were drawn, as
often as each was drawn. It needs no draw to be like another. (For a fixed bet the score is largest,
at a given mean, when all probabilities are equal: log(1 − p + p·e^λ) is concave in p.)
"""

from __future__ import annotations

import math

from capscope.model.beta import beta_cdf

_MOST_DRAWS = 10**9


def log_score(hits: int, draws: int, bound: float) -> float:
    """Return the log score of "the mean probability is above the bound".

    >>> log_score(30, 30, 0.8) > math.log(20) > log_score(10, 10, 0.8)
    True
    """
    a, b = hits + 0.5, draws - hits + 0.5
    above, prior = beta_cdf(1 - bound, b, a), beta_cdf(1 - bound, 0.5, 0.5)
    if above <= 0.0:
        return -math.inf
    mixture = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b) - math.log(math.pi)
    at_bound = hits * math.log(bound) + (draws - hits) * math.log1p(-bound)
    return mixture + math.log(above / prior) - at_bound


def lower_bound(hits: int, draws: int, confidence: float) -> float:
    """Return the largest bound that the mean probability is above, with that confidence.

    >>> round(lower_bound(30, 30, 0.95), 2)
    0.88
    """
    if not hits:
        return 0.0
    least = -math.log1p(-confidence)
    low, high = 0.0, hits / draws
    for _ in range(50):
        middle = (low + high) / 2
        if 0 < middle < 1 and log_score(hits, draws, middle) >= least:
            low = middle
        else:
            high = middle
    return low


def upper_bound(hits: int, draws: int, confidence: float) -> float:
    """Return the smallest bound that the mean probability is below, with that confidence."""
    return 1.0 - lower_bound(draws - hits, draws, confidence)


def draws_needed(share: float, bound: float, confidence: float) -> int | None:
    """Return how many draws with that share of hits show that the mean is above the bound.

    None where the share is not above it, or so little that nobody would wait.
    """
    least = -math.log1p(-confidence)

    def enough(draws: int) -> bool:
        return log_score(math.floor(share * draws + 1e-9), draws, bound) >= least

    if share <= bound:
        return None
    high = 1
    while not enough(high):
        high *= 2
        if high > _MOST_DRAWS:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
