"""Bounds of a mean over states that hold however it was decided what to draw, and when to stop.

**Of what?** Each state has a probability of its own. The claim is about their mean, every state
weighing the same. The naive way is to pool the draws; but then a result depends on how often the
strategy happened to draw each state, and a strategy draws where answers vary.

**How sure?** A test of fixed size would not do either: a strategy asks again where answers vary and
stops where they agree. As elsewhere (`findings.statistics`), a claim is supported by a betting
score. For every choice of probabilities of the states, money is bet on the draws at odds that are
fair if these are the true ones; the score is what the bets come to in the worst case, for the
probabilities with a mean at the bound or below that make them lose most. If the claim is wrong, the
true ones are among these, and the chance that fair bets ever multiply the money by
1 / (1 − confidence) is at most 1 − confidence, whichever state is drawn next and whenever the end
comes.

**The bets.** Half of the money goes on successes alike in all states, at several stakes: best where
states are alike, and it needs no draw to be like another of its state (log(1 − p + p·e^λ) is
concave in p). The other half is put on each state as its likes suggest: a likelihood ratio, its
numerator a mixture of beta distributions that the states' probabilities may come from. It is best
where states differ much, and takes the draws of one state for draws of one probability.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from capscope.statistics.beta import beta_cdf

Counts = Sequence[tuple[float, float]]
"""Of each state: hits and draws, at least one draw. A number of hits need not be whole."""

Numbers = NDArray[np.float64]

_MOST_DRAWS = 10**9
_HALVINGS = 50
_STAKES = 24
_MEANS = 8
_KINSHIPS = (0.125, 0.5, 2.0, 8.0, 32.0)
"""How alike the states are taken to be: a + b of the beta distribution of their probabilities."""


def mean_share(counts: Counts) -> float:
    """Return the mean over states of the share of hits.

    >>> mean_share([(99, 99), (0, 1)])
    0.5
    """
    return math.fsum(hits / draws for hits, draws in counts) / len(counts)


def log_score(counts: Counts, bound: float) -> float:
    """Return the log score of "the mean of the states' probabilities is above the bound".

    >>> log_score([(30, 30)], 0.8) > math.log(20) > log_score([(10, 10)], 0.8)
    True
    >>> log_score([(300, 300), (1, 1)], 0.8) > math.log(20)
    False
    """
    if len(counts) == 1:
        ((hits, draws),) = counts
        return _log_of_one(hits, draws, bound)
    # The worst case of each half by itself: together they cannot come to less than that.
    halves = [_log_stakes_on_success(counts, bound), _log_likelihood_ratio(counts, bound)]
    return _log_mean(halves)


def lower_bound(counts: Counts, confidence: float) -> float:
    """Return the largest bound that the mean is above, with that confidence.

    >>> round(lower_bound([(30, 30)], 0.95), 2)
    0.88
    """
    least = -math.log1p(-confidence)
    low, high = 0.0, mean_share(counts)
    for _ in range(30):  # to more digits than are ever shown
        middle = (low + high) / 2
        if 0 < middle < 1 and log_score(counts, middle) >= least:
            low = middle
        else:
            high = middle
    return low


def upper_bound(counts: Counts, confidence: float) -> float:
    """Return the smallest bound that the mean is below, with that confidence."""
    return 1.0 - lower_bound(misses(counts), confidence)


def misses(counts: Counts) -> Counts:
    """Return the same draws with hits and misses exchanged."""
    return [(draws - hits, draws) for hits, draws in counts]


def draws_needed(counts: Counts, bound: float, confidence: float) -> int | None:
    """Return how many draws, spread and with results like these, show a mean above the bound.

    None where the mean of these is not above it, or so little that nobody would wait.
    """
    least = -math.log1p(-confidence)
    whole = sum(draws for _, draws in counts)

    def enough(draws: int) -> bool:
        times = draws / whole
        return log_score([(hits * times, n * times) for hits, n in counts], bound) >= least

    if mean_share(counts) <= bound:
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


def _log_of_one(hits: float, draws: float, bound: float) -> float:
    """Return the log score of one state: its mean likelihood above the bound over that at it.

    The mean is by Jeffreys' prior; likelihoods of smaller probabilities would be smaller.
    """
    a, b = hits + 0.5, draws - hits + 0.5
    above, prior = beta_cdf(1 - bound, b, a), beta_cdf(1 - bound, 0.5, 0.5)
    if above <= 0:
        return -math.inf
    mixture = _log_beta(a, b) - math.log(math.pi) + math.log(above / prior)
    return mixture - _log_likelihood(hits, draws, bound)


def _log_stakes_on_success(counts: Counts, bound: float) -> float:
    """Return the log of what stakes on successes alike in all states come to at the worst.

    A stake is the best one if all states have the probability q; q is spread above the bound as
    Jeffreys' prior is.
    """
    hits = math.fsum(h for h, _ in counts)
    lowest = math.asin(math.sqrt(bound))
    steps = (np.arange(_STAKES) + 0.5) / _STAKES
    q = np.sin(lowest + (math.pi / 2 - lowest) * steps) ** 2
    odds = q / (1 - q) * (1 - bound) / bound
    sizes, states = np.array([*Counter(float(draws) for _, draws in counts).items()]).T
    scores = hits * np.log(odds) - _most_paid(sizes, states, bound, odds)
    return _log_mean(scores.tolist())


def _most_paid(sizes: Numbers, states: Numbers, bound: float, odds: Numbers) -> Numbers:
    """Return the most that each stake on successes costs, in logs, if the mean is at the bound.

    A draw costs log(1 − p + p·odds). That is concave, so the most is where a little more p would
    cost the same in each state: draws / (p + 1 / (odds − 1)) = μ, but p from 0 to 1.
    """
    slack = 1 / (odds[:, None] - 1)

    def at(price: Numbers) -> Numbers:
        return np.clip(sizes / price - slack, 0.0, 1.0)

    # All probabilities are 1 at the first price, and none is above the bound at the second.
    low, high = sizes.min() / (1 + slack), sizes.max() / (bound + slack)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        too_dear = (at(middle) @ states)[:, None] < bound * states.sum()
        low, high = np.where(too_dear, low, middle), np.where(too_dear, middle, high)
    paid: Numbers = np.log1p(at(low) / slack) @ (sizes * states)
    return paid


def _log_likelihood_ratio(counts: Counts, bound: float) -> float:
    """Return the log likelihood with a beta distribution over the best with a mean at the bound."""
    distinct = Counter(counts)
    means = [bound + (1 - bound) * (i + 0.5) / _MEANS for i in range(_MEANS)]
    mixtures = [
        math.fsum(
            states * _log_mixture(hits, draws, mean * kinship, (1 - mean) * kinship)
            for (hits, draws), states in distinct.items()
        )
        for mean in means
        for kinship in _KINSHIPS
    ]
    return _log_mean(mixtures) - _best_likelihood(distinct, bound)


def _best_likelihood(distinct: Mapping[tuple[float, float], int], bound: float) -> float:
    """Return the largest log likelihood of probabilities whose mean is at most the bound.

    Lowering a probability costs likelihood, at the optimum the same in each state:
    hits / p − misses / (1 − p) = μ, a quadratic equation in p.
    """
    states = sum(distinct.values())

    def at(price: float) -> dict[tuple[float, float], float]:
        return {(h, n): _lowered(h, n, price) for h, n in distinct}

    def low_enough(price: float) -> bool:
        return math.fsum(p * distinct[c] for c, p in at(price).items()) <= bound * states

    # No probability is above draws / μ, so the mean is low enough at the latest here.
    low, high = 0.0, sum(draws * k for (_, draws), k in distinct.items()) / (bound * states)
    for _ in range(0 if low_enough(low) else _HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if low_enough(middle) else (middle, high)
    best = at(low)
    return math.fsum(k * _log_likelihood(*c, best[c]) for c, k in distinct.items())


def _lowered(hits: float, draws: float, price: float) -> float:
    whole = draws + price
    return min(2 * hits / (whole + math.sqrt(max(whole * whole - 4 * price * hits, 0.0))), 1.0)


def _log_likelihood(hits: float, draws: float, p: float) -> float:
    gained = hits * math.log(p) if hits else 0.0
    return gained + ((draws - hits) * math.log1p(-p) if draws > hits else 0.0)


def _log_mixture(hits: float, draws: float, a: float, b: float) -> float:
    return _log_beta(a + hits, b + draws - hits) - _log_beta(a, b)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _log_mean(logs: Sequence[float]) -> float:
    most = max(logs)
    if most == -math.inf:
        return most
    return most + math.log(math.fsum(math.exp(x - most) for x in logs) / len(logs))
