"""Bounds on a mean over states, valid however the draws were chosen and whenever they stop.

Each state has its own probability, and the claim is about their mean, with equal weights: pooling
all draws would weigh states by how often the strategy drew them. A claim is supported by a betting
score (`betting`), the result of bets in the worst case, for the probabilities with a mean at or
below the bound that make the bets lose most.

Half of the money is bet on success in all states equally, at several stakes. That is best if the
states are similar, and does not need the draws of a state to be identically distributed
(log(1 − p + p·e^λ) is concave in p). The other half bets on each state as the other states suggest:
a likelihood ratio whose numerator is a mixture of beta distributions that the states' probabilities
may come from. It is best if states differ much, and assumes one probability for each state.
"""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from capscope.stats.arrays import Floats
from capscope.stats.beta import beta_cdf, bisected, log_beta, log_mean_exp

Counts = Sequence[tuple[float, float]]
"""Hits and draws of each state, at least one draw; hits need not be whole numbers."""

_MOST_DRAWS = 10**9
_HALVINGS = 50
_DIGITS = 20
"""Binary digits of a bound, more than are ever shown."""
_STAKES = 24
_MEANS = 8
_CONCENTRATIONS = (0.125, 0.5, 2.0, 8.0, 32.0)
"""How similar the states may be: a + b of the beta distribution of their probabilities."""


def mean_share(counts: Counts) -> float:
    """Return the mean over states of the fraction of hits.

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
    # Each half at its own worst case: together they cannot come to less.
    halves = [_log_stakes_on_success(counts, bound), _log_likelihood_ratio(counts, bound)]
    return log_mean_exp(halves)


def lower_bound(counts: Counts, confidence: float) -> float:
    """Return the largest bound that the mean exceeds, with the given confidence.

    >>> round(lower_bound([(30, 30)], 0.95), 2)
    0.88
    """
    least = -math.log1p(-confidence)

    def exceeded(bound: float) -> bool:
        return 0 < bound < 1 and log_score(counts, bound) >= least

    return bisected(0.0, mean_share(counts), exceeded, _DIGITS)[0]


def upper_bound(counts: Counts, confidence: float) -> float:
    """Return the smallest bound that exceeds the mean, with the given confidence."""
    return 1.0 - lower_bound(misses(counts), confidence)


def misses(counts: Counts) -> Counts:
    """Return the same draws with hits and misses swapped."""
    return [(draws - hits, draws) for hits, draws in counts]


def draws_needed(counts: Counts, bound: float, confidence: float) -> int | None:
    """Return how many draws, distributed like these, would show a mean above the bound.

    None if the mean of these is not above it, or by too little to wait for.
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
    """Return the log score of one state: mean likelihood above the bound over that at the bound.

    The mean is over Jeffreys' prior; smaller probabilities would be less likely.
    """
    a, b = hits + 0.5, draws - hits + 0.5
    above, prior = beta_cdf(1 - bound, b, a), beta_cdf(1 - bound, 0.5, 0.5)
    if above <= 0:
        return -math.inf
    mixture = log_beta(a, b) - math.log(math.pi) + math.log(above / prior)
    return mixture - _log_likelihood(hits, draws, bound)


def _log_stakes_on_success(counts: Counts, bound: float) -> float:
    """Return the worst-case log score of betting on success in all states equally."""
    hits = math.fsum(h for h, _ in counts)
    odds = stakes_on_success(bound, _STAKES)
    sizes, states = np.array([*Counter(float(draws) for _, draws in counts).items()]).T
    scores = hits * np.log(odds) - _most_paid(sizes, states, bound, odds)
    return log_mean_exp(scores.tolist())


def stakes_on_success(bound: float, number: int) -> Floats:
    """Return the odds of bets on success, fair at the bound.

    Each stake is the best one if all states have the probability q; the values of q above the
    bound follow Jeffreys' prior.
    """
    lowest = math.asin(math.sqrt(bound))
    steps = (np.arange(number) + 0.5) / number
    q: Floats = np.sin(lowest + (math.pi / 2 - lowest) * steps) ** 2
    return q / (1 - q) * (1 - bound) / bound


def _most_paid(sizes: Floats, states: Floats, bound: float, odds: Floats) -> Floats:
    """Return the largest log cost of each stake on success if the mean is at the bound.

    A draw costs log(1 − p + p·odds). That is concave, so at the maximum a little more p costs the
    same in each state: draws / (p + 1 / (odds − 1)) = μ, with p from 0 to 1.
    """
    slack = 1 / (odds[:, None] - 1)

    def at(price: Floats) -> Floats:
        return np.clip(sizes / price - slack, 0.0, 1.0)

    # All probabilities are 1 at the first price, and none is above the bound at the second.
    low, high = sizes.min() / (1 + slack), sizes.max() / (bound + slack)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        too_dear = (at(middle) @ states)[:, None] < bound * states.sum()
        low, high = np.where(too_dear, low, middle), np.where(too_dear, middle, high)
    paid: Floats = np.log1p(at(low) / slack) @ (sizes * states)
    return paid


def _log_likelihood_ratio(counts: Counts, bound: float) -> float:
    """Return the log likelihood of a beta mixture over the best with a mean at the bound."""
    distinct = Counter(counts)
    (hits, draws), states = np.array([*distinct], dtype=float).T, np.array([*distinct.values()])
    mixtures = []
    for concentration in _CONCENTRATIONS:
        # What all means share: the likelihood of the draws of each state, but for where they fell.
        shared = _log_gammas(draws + concentration) - math.lgamma(concentration)
        for place in range(_MEANS):
            a = (bound + (1 - bound) * (place + 0.5) / _MEANS) * concentration
            b = concentration - a
            gained = _log_gammas(hits + a) - math.lgamma(a)
            gained += _log_gammas(draws - hits + b) - math.lgamma(b)
            mixtures.append(float(states @ (gained - shared)))
    return log_mean_exp(mixtures) - _best_likelihood(hits, draws, states, bound)


def _log_gammas(values: Floats) -> Floats:
    return np.array([math.lgamma(value) for value in values.tolist()])


def _best_likelihood(hits: Floats, draws: Floats, states: Floats, bound: float) -> float:
    """Return the largest log likelihood of probabilities whose mean is at most the bound.

    Lowering a probability costs likelihood, at the optimum the same in each state:
    hits / p − misses / (1 − p) = μ, a quadratic equation in p.
    """
    most = bound * float(states.sum())

    def at(price: float) -> Floats:
        whole = draws + price
        root = np.sqrt(np.maximum(whole * whole - 4 * price * hits, 0.0))
        lowered: Floats = np.minimum(2 * hits / (whole + root), 1.0)
        return lowered

    def too_high(price: float) -> bool:
        return float(at(price) @ states) > most

    # No probability exceeds draws / μ, so the mean is low enough here at the latest.
    high = float(draws @ states) / most
    best = at(bisected(0.0, high, too_high, _HALVINGS if too_high(0.0) else 0)[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        gained = np.where(hits > 0, hits * np.log(best), 0.0)
        gained += np.where(draws > hits, (draws - hits) * np.log1p(-best), 0.0)
    return float(states @ gained)


def _log_likelihood(hits: float, draws: float, p: float) -> float:
    gained = hits * math.log(p) if hits else 0.0
    return gained + ((draws - hits) * math.log1p(-p) if draws > hits else 0.0)
