"""A complete change within one state, which a sign test would need many draws to show.

In the sign test (`sign_test`) each disagreement contributes at most a factor of two. An agent that
succeeded in 12 of 12 draws and now fails in 12 of 12 has surely changed, yet 12 disagreements do
not show it. What is surprising is that no single probability explains both sides well.

So all draws of a state, in whatever numbers, are given a likelihood under "A succeeds with p, B
with q", averaged over pairs with p > q, and compared with the largest likelihood under one common
probability. However the strategies chose and stopped, this is a betting score: an average of
likelihoods is a bet, and the best common probability is at least as likely as the true one
(universal inference). The test is weak at small differences, because it pays for not knowing the
probability of each state. It requires that the draws of a state are exchangeable.
"""

import numpy as np

from capscope.stats.arrays import Floats, Integers
from capscope.stats.betting import log_best_likelihood, log_likelihood

_GRID = np.array([0.002, 0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95, 0.998])
_AHEAD, _BEHIND = np.tril_indices(len(_GRID), -1)
# Small differences are left to the sign test.
_WEIGHTS = (_GRID[_AHEAD] - _GRID[_BEHIND]) ** 2
_LOG_WEIGHTS = np.log(_WEIGHTS / _WEIGHTS.sum())


def evidence_of_lead(
    hits: Integers, draws: Integers, other_hits: Integers, other_draws: Integers
) -> Floats:
    """Return, for each state, the log score against "the first side is not ahead"."""
    ahead = log_likelihood(hits[:, None], draws[:, None], _GRID)[:, _AHEAD]
    behind = log_likelihood(other_hits[:, None], other_draws[:, None], _GRID)[:, _BEHIND]
    common = log_best_likelihood(hits + other_hits, draws + other_draws)
    score: Floats = np.logaddexp.reduce(ahead + behind + _LOG_WEIGHTS, axis=1) - common
    return score
