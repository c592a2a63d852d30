"""Evidence about probabilities from draws that were chosen by looking at earlier draws.

A strategy draws again after a surprising answer, which invalidates p-values. So evidence is a
*betting score* (an e-value): the likelihood of the draws under a mixture of alternatives, divided
by the largest likelihood that the null hypothesis can give them. Whatever rule chooses the next
draw and the end, the probability that a true null ever lets this ratio reach 1/α is at most α
(Ville's inequality). Compared with an exact test it costs the power of two or three draws.

The mixture is Jeffreys' Beta(½, ½), for several outcomes a Dirichlet mixture with ½ for each
(universal inference). Scores are logarithms; `ErrorBudget` has the threshold that they must reach.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np

from capscope.stats.arrays import Floats, Integers
from capscope.stats.beta import log_beta

T = TypeVar("T")
_GRID = np.array([0.002, 0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95, 0.998])
_AHEAD, _BEHIND = np.tril_indices(len(_GRID), -1)
# Small differences are left to the sign test.
_WEIGHTS = (_GRID[_AHEAD] - _GRID[_BEHIND]) ** 2
_LOG_WEIGHTS = np.log(_WEIGHTS / _WEIGHTS.sum())


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


Counts = tuple[Integers, Integers, Integers, Integers]
"""Hits and draws of one side, and of the other."""


def evidence_of_change(counts: Counts) -> Floats:
    """Return the log score against "an event became neither more nor less frequent".

    Agents mostly do a thing always or never, so a third of either mixture expects each of these,
    and the rest any probability. The score is valid if the draws of one side have different
    probabilities and those of the other are drawn evenly from the same places: each factor is a
    convex function of the number of hits, so its mean is at most that for one common probability
    (Hoeffding, 1956).

    >>> counts = [np.array([n]) for n in (0, 200, 3, 10)]
    >>> bool(evidence_of_change(tuple(counts))[0] > np.log(50))
    True
    """
    hits, draws, other_hits, other_draws = counts
    score = -log_best_likelihood(hits + other_hits, draws + other_draws)
    for own, all_own in ((hits, draws), (other_hits, other_draws)):
        never = np.where(own == 0, 0.0, -np.inf)
        always = np.where(own == all_own, 0.0, -np.inf)
        expected = np.logaddexp(np.logaddexp(never, always), log_mixture(own, all_own))
        score = score + expected - math.log(3)
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


def evidence_of_lead(
    hits: Integers, draws: Integers, other_hits: Integers, other_draws: Integers
) -> Floats:
    """Return, for each state, the log score against "the first side is not ahead".

    A complete change within one state would need many draws to show in a sign test, in which each
    disagreement contributes at most a factor of two. An agent that succeeded in 12 of 12 draws and
    now fails in 12 of 12 has surely changed: no single probability explains both sides well.

    So all draws of a state are given a likelihood under "A succeeds with p, B with q", averaged
    over pairs with p > q, and compared with the largest likelihood under one common probability.
    That is weak at small differences, because it pays for not knowing the probability of each
    state. It requires that the draws of a state are exchangeable.
    """
    ahead = log_likelihood(hits[:, None], draws[:, None], _GRID)[:, _AHEAD]
    behind = log_likelihood(other_hits[:, None], other_draws[:, None], _GRID)[:, _BEHIND]
    common = log_best_likelihood(hits + other_hits, draws + other_draws)
    score: Floats = np.logaddexp.reduce(ahead + behind + _LOG_WEIGHTS, axis=1) - common
    return score


def log_p_value(hits: int, draws: int, other_hits: int, other_draws: int) -> float:
    """Return the logarithm of the p-value of Fisher's exact test for a higher rate at first.

    It is for a number of draws fixed in advance. If the strategy draws again after a hit, it is
    only approximate; a betting score is valid then, and needs more draws.

    >>> round(math.exp(log_p_value(3, 3, 0, 3)), 3)
    0.05
    """
    total, all_hits = draws + other_draws, hits + other_hits
    ways = sum(
        math.comb(draws, k) * math.comb(other_draws, all_hits - k)
        for k in range(hits, min(all_hits, draws) + 1)
    )
    return math.log(ways) - math.log(math.comb(total, all_hits))


@lru_cache(maxsize=65536)
def log_dirichlet_mixture(counts: tuple[int, ...], outcomes: int) -> float:
    """Return the log likelihood of a sequence of draws, averaged over Dirichlet(½, …, ½).

    `outcomes` is how many there are; those without a count may be omitted from `counts`.
    """
    inside = sum(math.lgamma(n + 0.5) - math.lgamma(0.5) for n in counts)
    return math.lgamma(outcomes / 2) - math.lgamma(sum(counts) + outcomes / 2) + inside


def log_dirichlet(counts: Sequence[int], prior: Sequence[float]) -> float:
    """Return the log likelihood of a sequence of draws, averaged over a Dirichlet distribution.

    An outcome with a prior of 0 is impossible, and must not have been drawn.
    """
    possible = [(n, a) for n, a in zip(counts, prior, strict=True) if a]
    inside = sum(math.lgamma(n + a) - math.lgamma(a) for n, a in possible)
    whole = sum(a for _, a in possible)
    return math.lgamma(whole) - math.lgamma(whole + sum(counts)) + inside


def _log_best_fit(counts: Iterable[int]) -> float:
    """Return the log likelihood of a sequence of draws under the distribution that fits best."""
    positive = [n for n in counts if n]
    total = sum(positive)
    return math.fsum(n * math.log(n / total) for n in positive)


def evidence_of_two_distributions(
    one: Mapping[T, int], other: Mapping[T, int], outcomes: int
) -> float:
    """Return the log score against "both groups of draws have the same distribution"."""
    own = sum(log_dirichlet_mixture(tuple(c.values()), outcomes) for c in (one, other))
    return own - _log_best_fit((Counter(one) + Counter(other)).values())


def evidence_of_distinct_groups(
    question: Integers, group: Integers, outcome: Integers, count: Integers
) -> Floats:
    """Return, for each question, the log score against "all its groups have one distribution".

    The columns have a row for each outcome that a group showed, in the order of questions (numbered
    from 0) and groups. A question has as many outcomes as its groups showed together.
    """
    questions = int(question.max(initial=-1)) + 1
    codes = outcome.max(initial=0) + 1
    code, which = np.unique(question * codes + outcome, return_inverse=True)
    asked = code // codes
    total = np.bincount(which, count, len(code))
    outcomes = np.bincount(asked, minlength=questions)
    draws = np.bincount(question, count, questions)
    best = np.bincount(asked, total * np.log(total), questions) - draws * np.log(draws)
    begins = np.flatnonzero(np.diff(question, prepend=-1) | np.diff(group, prepend=-1))
    here = question[begins]
    drawn = np.add.reduceat(count, begins) if len(begins) else begins
    whole = _log_gamma_of_halves(outcomes[here]) - _log_gamma_of_halves(2 * drawn + outcomes[here])
    parts = _log_gamma_of_halves(2 * count + 1) - math.lgamma(0.5)
    own = np.bincount(here, whole, questions) + np.bincount(question, parts, questions)
    score: Floats = own - best
    return score


def evidence_of_splits(inside: Integers, outside: Integers) -> Floats:
    """Return, for each split, the log score against "both sides have the same distribution".

    Each split is a row of counts on either side, a number for each outcome. The outcomes are those
    of the columns, seen or not.
    """
    outcomes = inside.shape[1]
    score: Floats = -_log_best(inside + outside)
    for counts in (inside, outside):
        score += _log_gamma_of_halves(2 * counts + 1).sum(axis=1) - outcomes * math.lgamma(0.5)
        score += math.lgamma(outcomes / 2) - _log_gamma_of_halves(2 * counts.sum(axis=1) + outcomes)
    return score


def _log_best(counts: Integers) -> Floats:
    """Return for each row the log likelihood under the distribution that fits best."""
    total = counts.sum(axis=1)
    inside = (counts * np.log(np.maximum(counts, 1))).sum(axis=1)
    best: Floats = inside - total * np.log(np.maximum(total, 1))
    return best


def _log_gamma_of_halves(halves: Integers) -> Floats:
    """Return log Γ of numbers given in halves; few of them differ."""
    values, which = np.unique(halves, return_inverse=True)
    logs = np.array([math.lgamma(value / 2) for value in values.tolist()])
    return logs[which].reshape(halves.shape)
