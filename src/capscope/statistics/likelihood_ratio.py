"""A second bet, for what is clear within a few draws of a single state.

Tosses (`coins`) add up small differences over many states, but each of them says little: at most a
factor of two. An agent that achieved something in twelve draws of twelve and now in none of twelve
has surely changed, and twelve tosses do not show it. Two draws that disagree are surprising also
because there is one probability at most that explains both sides, and a poor one.

So all draws of a state, in whatever numbers, are given a likelihood under "A succeeds with p, B
with q", averaged over some p above q, and compared with the largest that one common probability can
give. However the strategies chose and stopped, an agent compared with itself lets this ratio reach
1/α with a chance of α at most: an average of likelihoods is a bet, and the best common probability
is at least as likely as the true one (universal inference). It is poor at small differences, since
it pays for not knowing the probability of each state.

**Several states.** The product over states would pay for every state in which nothing changed. So
it is betted that a share ε of the states changed: the product of 1 − ε + ε·ratio, averaged over a
few ε. That is an average of products over all subsets of the states, hence a bet as well, whatever
one state has to do with which others are reached.

It needs draws that are alike and independent. Where a state is known in several positions these are
the draws of one position that both runs know (`matching`); the others are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from capscope.statistics.betting import Scores, log_likelihood

Numbers: TypeAlias = NDArray[np.int64]

_GRID = np.array([0.002, 0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95, 0.998])
_AHEAD, _BEHIND = np.tril_indices(len(_GRID), -1)
# Small differences are left to the tosses.
_WEIGHTS = (_GRID[_AHEAD] - _GRID[_BEHIND]) ** 2
_LOG_WEIGHTS = np.log(_WEIGHTS / _WEIGHTS.sum())
_SHARES = (1 / 2, 1 / 8, 1 / 32)


def log_odds(hits: Numbers, draws: Numbers, other_hits: Numbers, other_draws: Numbers) -> Scores:
    """Return, state by state, the log ratio against "the first is not ahead of the other"."""
    ahead = log_likelihood(hits[:, None], draws[:, None], _GRID)[:, _AHEAD]
    behind = log_likelihood(other_hits[:, None], other_draws[:, None], _GRID)[:, _BEHIND]
    all_hits, all_draws = hits + other_hits, draws + other_draws
    common = log_likelihood(all_hits, all_draws, all_hits / np.maximum(all_draws, 1))
    odds: Scores = np.logaddexp.reduce(ahead + behind + _LOG_WEIGHTS, axis=1) - common
    return odds


Total: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]
"""Sums rows, one for each stratum, over groups of strata."""


@dataclass(frozen=True)
class Bets:
    """What is known, stratum by stratum, of one side being ahead."""

    wins: Numbers
    losses: Numbers
    """One row for each way to match draws."""
    odds: Scores
    """Log odds; zero where they do not apply."""
    alike: NDArray[np.bool_]
    """Where they do."""

    @property
    def most(self) -> float:
        """No group of strata can show more than this."""
        wins = self.wins.sum(axis=1).max(initial=0)
        return float(max(math.log(2) * wins, np.maximum(self.odds, 0).sum()))

    def on_odds(self, total: Total) -> Scores:
        """Return the log bet, for each group of strata, that some of them changed."""
        shares = np.log(_SHARES)
        stakes = np.logaddexp(np.log1p(-np.exp(shares)), shares + self.odds[:, None])
        bets: Scores = np.logaddexp.reduce(total(stakes), axis=1) - math.log(len(_SHARES))
        # If there is only one, it is that one.
        alone = total(self.alike.astype(np.float64)) == 1
        return np.where(alone, total(self.odds), bets)
