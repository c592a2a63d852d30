"""States that are alike may still differ a little: what is their mean, and do they differ at all?

Each state has a distribution of its own, drawn from a Dirichlet distribution around a common mean.
Its concentration says how similar the states are; infinite means equal. All values of a grid are
weighted by how well they explain the draws.

For each concentration κ, n draws of one state say as much about the mean as n (κ + 1) / (κ + n)
independent draws. So the mean is a weighted frequency, its posterior is a Dirichlet distribution
(Jeffreys' ½ for each outcome) of that effective size, and nothing needs to be optimized.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from capscope.stats.arrays import Floats, Integers, Mask
from capscope.stats.beta import log_sum_exp

CONCENTRATIONS = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, math.inf)
"""The grid; with the last value all states are equal."""
_SHIFT = 8
MEANS: Floats = np.sin(np.linspace(0, np.pi / 2, 50)[1:-1, None]) ** 2
SIZES: Floats = np.power(2.0, np.arange(-6, 10))[:, None, None]
"""Means and a + b of the beta distributions that probabilities of states may come from.

A small a + b, states that differ, is more probable beforehand: two states with 99 of 99 and 0 of 1
are not alike.
"""


def mean_probability(counts: Sequence[tuple[float, float, float]]) -> float:
    """Estimate the weighted mean of the probabilities of some states.

    A strategy that draws again after a hit makes the mean of the frequencies too low: a state with
    a hit gets more draws, and the others keep their 0 of 1. The posterior of a state's probability
    does not depend on why it has as many draws, so the mean is over posterior means. The beta
    distribution that the probabilities come from is unknown; each of a grid counts by how well it
    explains the draws.

    Args:
        counts: Hits, draws and weight of each state, with at least one draw each.

    >>> round(mean_probability([(30, 30, 1), (0, 30, 1)]), 2)
    0.5
    >>> round(mean_probability([(1, 5, 1), (1, 4, 1), *[(0, 1, 1)] * 11]), 2)
    0.11
    """
    hits, draws, weights = np.array(counts, dtype=np.float64).T
    if len(counts) == 1 or not hits.any() or (hits == draws).all():
        return float(hits[0] / draws[0])
    rows, which, times = np.unique(
        np.stack([hits, draws], axis=1), axis=0, return_inverse=True, return_counts=True
    )
    a, b = MEANS * SIZES, (1 - MEANS) * SIZES
    seen, made = rows.T
    scores = log_rising(a, seen) + log_rising(b, made - seen) - log_rising(a + b, made)
    scores = scores @ times - np.log(SIZES[:, :, 0]) / 2
    likelihood = np.exp(scores - scores.max())
    posterior = ((a + seen) / (a + b + made) * likelihood[:, :, None]).sum(axis=(0, 1))
    own = posterior[which.reshape(-1)] / likelihood.sum()
    return float(own @ weights / weights.sum())


def explained_beyond_accident(counts: Integers, divisions: Iterable[Mask]) -> list[float]:
    """Return, for each division, how much better two groups of states explain counts than one does.

    The log of a Bayes factor. In either case the states of a group may differ without a reason; if
    they do, each division separates better from worse states by accident.

    Args:
        counts: A row for each state, a number for each outcome.
        divisions: The states of one of the two groups.
    """
    rows, which = np.unique(counts, axis=0, return_inverse=True)
    which = which.reshape(-1)

    def score(side: Mask) -> Floats:
        times = np.bincount(which[side], minlength=len(rows))
        return fit_states(rows[times > 0], times[times > 0])

    together = log_sum_exp(score(np.ones(len(counts), dtype=bool)).tolist())
    return [
        log_sum_exp((score(inside) + score(~inside)).tolist()) - together for inside in divisions
    ]


def fit_states(rows: Integers, times: Integers) -> Floats:
    """Return the log likelihood of the draws of some states under each concentration.

    `rows` has the counts of a state in each row, for each outcome, with at least one draw; `times`
    says how many states have them. It is averaged over the mean.
    """
    draws = rows.sum(axis=1)
    kappa = np.array(CONCENTRATIONS[:-1])[:, None]
    worth = np.vstack([draws * (kappa + 1) / (kappa + draws), draws]) * times
    sizes = worth.sum(axis=1)
    means: Floats = (worth / draws) @ rows / sizes[:, None]
    alphas = means[:-1, None, :] * kappa[:, :, None]
    inside = log_rising(alphas, rows).sum(axis=2) - log_rising(kappa, draws)
    with np.errstate(divide="ignore"):
        logs = np.where(means > 0, np.log(means), 0.0)
    equal = (times @ rows) @ logs[-1]
    scores = np.append(inside @ times, equal)
    # The price of not knowing the mean, as if it had been estimated from independent draws.
    half = rows.shape[1] / 2
    price = _log_gamma(means * sizes[:, None] + 0.5).sum(axis=1) - _log_gamma(sizes + half)
    price += math.lgamma(half) - rows.shape[1] * math.lgamma(0.5)
    price -= sizes * (means * logs).sum(axis=1)
    likelihoods: Floats = scores + price
    return likelihoods


def log_rising(start: Floats, steps: Integers | Floats) -> Floats:
    """Return log Γ(start + steps) − log Γ(start); 0 if there are no steps."""
    safe = np.where(start > 0, start, 1.0)
    rising: Floats = np.where(
        steps > 0, _log_gamma(safe + np.asarray(steps, dtype=np.float64)) - _log_gamma(safe), 0.0
    )
    return rising


def _log_gamma(x: Floats) -> Floats:
    """Return log Γ of positive numbers, by Stirling's series beyond the shift."""
    product = np.ones_like(x)
    for i in range(_SHIFT):
        product = product * (x + i)
    y = x + _SHIFT
    series = 1 / (12 * y) - 1 / (360 * y**3) + 1 / (1260 * y**5)
    value: Floats = (y - 0.5) * np.log(y) - y + 0.5 * math.log(2 * math.pi) + series
    return value - np.log(product)
