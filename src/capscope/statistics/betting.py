"""How sure the draws make us, when the next draw was chosen by what the last ones showed.

A p-value of a fixed-size test (Fisher's, say) assumes that the number of draws was settled
beforehand. Here it was not: a strategy draws again where an answer surprised it and stops where
answers agree. So evidence is measured by a betting score: the likelihood of the draws under a
mixture of alternatives, divided by the largest likelihood that the null hypothesis can give them.
Whatever rule chooses the next draw and the end, the chance that a true null hypothesis ever lets
this ratio reach 1/α is at most α (Ville's inequality; the ratio is below a test martingale). It
costs two or three draws' worth of power against an exact test and is short to compute: the mixture
is Jeffreys' Beta(½, ½), whose integral over the probability is a product of gamma functions.

**Many questions.** All that is asked in one call shares one error rate, `ERROR_RATE`, by
Bonferroni: evenly among the kinds of findings, evenly among the questions of a kind, and, in a
search for a condition, evenly among the conditions of each length. The logarithm of the number of
questions is what a ratio has to exceed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from capscope.statistics.intervals import credible_interval

ERROR_RATE = 0.05
LEAST_DIFFERENCE = 0.1
"""Two probabilities nearer than this count as equal for a reader."""
LEAST_RATE = 0.02
"""An event rarer than this is not reported, however sure it is."""
KINDS = 6
"""The kinds of questions among which the error rate is shared; asymmetry asks two."""

Counts = NDArray[np.int64]
Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something came about, in how many draws, in how many states.

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
        """The probability with what stands behind it."""
        low, high = self.interval
        draws = f"{self.draws:,} draw{'' if self.draws == 1 else 's'}"
        states = f"{self.states:,} state{'' if self.states == 1 else 's'}"
        return (
            f"{self.probability:.2f} (95 % interval {low:.2f} to {high:.2f}; {draws} in {states})"
        )

    def __add__(self, other: Rate) -> Rate:
        return Rate(self.hits + other.hits, self.draws + other.draws, self.states + other.states)


def bar(questions: int) -> float:
    """Return the logarithm that a ratio must reach when a kind asks so many questions."""
    return math.log(KINDS * max(questions, 1) / ERROR_RATE)


@lru_cache(maxsize=8)
def _log_gammas(most: int) -> tuple[Scores, Scores]:
    """Return log Γ(k + ½) and log Γ(k + 1) for k = 0 … most."""
    steps = np.log(np.arange(most, dtype=np.float64) + 0.5)
    halves = np.concatenate([[math.lgamma(0.5)], math.lgamma(0.5) + np.cumsum(steps)])
    wholes = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1, dtype=np.float64)))])
    return halves, wholes


def log_mixture(hits: Counts, draws: Counts) -> Scores:
    """Return the log likelihood of a sequence of draws, averaged over Beta(½, ½)."""
    # Rounded up, so that the cache serves many calls.
    most = 1 << int(draws.max(initial=0)).bit_length()
    halves, wholes = _log_gammas(most)
    mixture: Scores = halves[hits] + halves[draws - hits] - wholes[draws] - math.log(math.pi)
    return mixture


def log_likelihood(hits: Counts, draws: Counts, probability: Scores | float) -> Scores:
    """Return the log likelihood of a sequence of draws at one probability."""
    misses = draws - hits
    with np.errstate(divide="ignore", invalid="ignore"):
        gained = np.where(hits > 0, hits * np.log(probability), 0.0)
        lost = np.where(misses > 0, misses * np.log1p(-np.asarray(probability)), 0.0)
    total: Scores = gained + lost
    return total


def evidence_of_difference(
    hits: Counts, draws: Counts, other_hits: Counts, other_draws: Counts
) -> Scores:
    """Return the log ratio against "both groups have one and the same probability"."""
    all_hits, all_draws = hits + other_hits, draws + other_draws
    null = log_likelihood(all_hits, all_draws, all_hits / np.maximum(all_draws, 1))
    ratio: Scores = log_mixture(hits, draws) + log_mixture(other_hits, other_draws) - null
    return ratio


def evidence_above(rate: Rate, bound: float) -> float:
    """Return the log ratio against "the probability is at most the bound"."""
    hits, draws = np.array([rate.hits]), np.array([rate.draws])
    worst = min(bound, rate.probability)
    return float((log_mixture(hits, draws) - log_likelihood(hits, draws, worst))[0])


def clearly_above(rate: Rate, bound: float, least: float) -> bool:
    """Say whether a probability is surely above a bound, and by enough to matter to a reader."""
    worth = rate.interval[0] >= min(bound + LEAST_DIFFERENCE, (1 + bound) / 2)
    return worth and evidence_above(rate, bound) >= least
