"""Evidence about probabilities from draws that were chosen by looking at earlier draws.

The p-value of a test such as Fisher's assumes that the number of draws was fixed in advance. A
strategy draws again after a surprising answer and stops when answers agree. So evidence is a
*betting score* (an e-value): the likelihood of the draws under a mixture of alternatives, divided
by the largest likelihood that the null hypothesis can give them. Whatever rule chooses the next
draw and the end, the probability that a true null ever lets this ratio reach 1/α is at most α
(Ville's inequality). Compared with an exact test it costs the power of two or three draws.

The mixture here is Jeffreys' Beta(½, ½), whose integral is a ratio of gamma functions. Scores are
logarithms throughout; `ErrorBudget` turns an error rate into the threshold that they must reach.
"""

import math
from functools import lru_cache

import numpy as np

from capscope.stats.arrays import Floats, Integers
from capscope.stats.log_space import log_beta


@lru_cache(maxsize=8)
def _log_gammas(most: int) -> tuple[Floats, Floats]:
    """Return log Γ(k + ½) and log Γ(k + 1) for k = 0 … most."""
    steps = np.log(np.arange(most, dtype=np.float64) + 0.5)
    halves = np.concatenate([[math.lgamma(0.5)], math.lgamma(0.5) + np.cumsum(steps)])
    wholes = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1, dtype=np.float64)))])
    return halves, wholes


def log_mixture(hits: Integers, draws: Integers) -> Floats:
    """Return the log likelihood of a sequence of draws, averaged over Beta(½, ½)."""
    # Rounded up, so that the cache serves many calls.
    most = 1 << int(draws.max(initial=0)).bit_length()
    halves, wholes = _log_gammas(most)
    mixture: Floats = halves[hits] + halves[draws - hits] - wholes[draws] - math.log(math.pi)
    return mixture


def log_likelihood(hits: Integers, draws: Integers, probability: Floats | float) -> Floats:
    """Return the log likelihood of a sequence of draws at one probability."""
    misses = draws - hits
    with np.errstate(divide="ignore", invalid="ignore"):
        gained = np.where(hits > 0, hits * np.log(probability), 0.0)
        lost = np.where(misses > 0, misses * np.log1p(-np.asarray(probability)), 0.0)
    total: Floats = gained + lost
    return total


def log_best_likelihood(hits: Integers, draws: Integers) -> Floats:
    """Return the log likelihood at the probability that explains the draws best."""
    return log_likelihood(hits, draws, hits / np.maximum(draws, 1))


def evidence_of_difference(
    hits: Integers, draws: Integers, other_hits: Integers, other_draws: Integers
) -> Floats:
    """Return the log score against "both groups have the same probability"."""
    null = log_best_likelihood(hits + other_hits, draws + other_draws)
    score: Floats = log_mixture(hits, draws) + log_mixture(other_hits, other_draws) - null
    return score


def evidence_above(hits: float, draws: int, bound: float) -> float:
    """Return the log score against "the probability is at most the bound".

    Hits need not be whole numbers: draws may have values between 0 and 1.
    """
    misses = draws - hits
    mixture = log_beta(hits + 0.5, misses + 0.5) - math.log(math.pi)
    worst = min(bound, hits / draws)
    gained = hits * math.log(worst) if hits else 0.0
    return mixture - gained - (misses * math.log1p(-worst) if misses else 0.0)
