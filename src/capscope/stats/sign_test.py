"""Which of two agents did better, draw against draw: under the null hypothesis a fair coin.

Textbook tests compare two proportions state by state (Fisher, Cochran–Mantel–Haenszel) and take the
numbers of draws as fixed in advance. Here they are not: a strategy asks again after a surprise and
leaves a state when answers agree, so a state that failed by accident may have three draws and one
that succeeded thirty. Summed over a thousand states, that bias alone looks like a difference.

So the i-th draw of a state in one run is compared with the i-th draw of the same state in the
other. If they disagree and the agents are the same, each side is equally likely to be the one that
succeeded, whatever was drawn before and however likely success is. Each disagreement is a toss.

**The bets.** For a bias η, the score is multiplied by 1 + η at each win and by 1 − η at each loss.
The total is a weighted mean over several η (`_BIASES`), most of the weight on what a change by 10
to 25 points makes of the tosses. A mixture over all coins (Jeffreys) would cost half a nat more.

**Why the mean is at most 1 if the agents are the same.** Let success in the state have the
probability θ in both runs. The next pair is a win with probability θ(1 − θ), a loss with the same,
else a tie. So the mean of the next factor, given all before, is 1 + θ(1 − θ)(η − η) = 1 for every
θ: the score is a martingale, which begins at 1. Whether there is a next pair is decided by what
both runs saw before it: a stopping time, at which the mean is at most 1. By Ville's inequality the
probability that it *ever* reaches 1/α is at most α, so its highest value counts, not the last.

The rate θ need not be known, and guessing it does not help: bets that use the rate predicted from
the earlier pairs of a state, (1 + κ(x − θ'))(1 − κ(y − θ')), have means of at most 1 as well, and
also use ties, but found a loss of 15 points less often, in one state and in a hundred.

**Several states.** If some order of all pairs exists such that in both runs only earlier pairs
decide whether a later one is drawn, the same proof holds for the sum over states. It fails only if
success in s leads one run to t while failure in t leads the other to s. The tosses of a walk that
climbs after success and falls after failure had up to 1.2 times the variance of a fair coin; still
the highest score reached 20 in 4 % of the runs (`tests/stats/test_sign_test.py`, and the
benchmark `diff_error_rates` of the experiments).
"""

import numpy as np
from numpy.typing import ArrayLike

from capscope.stats.arrays import Floats

_BIASES = np.array([0.02, 0.06, 0.14, 0.28, 0.42, 0.57, 0.75, 0.97])
_WEIGHTS = np.array([0.02, 0.04, 0.06, 0.19, 0.22, 0.2, 0.12, 0.15])
_WIN, _LOSS, _LOG_WEIGHTS = np.log1p(_BIASES), np.log1p(-_BIASES), np.log(_WEIGHTS)


def log_evidence(wins: ArrayLike, losses: ArrayLike) -> Floats:
    """Return the log score against "the first side does not win more often than it loses".

    >>> round(float(np.exp(log_evidence(14, 0))))
    2439
    >>> bool(log_evidence(7, 7) < 0)
    True
    """
    won, lost = np.asarray(wins)[..., None], np.asarray(losses)[..., None]
    score: Floats = np.logaddexp.reduce(won * _WIN + lost * _LOSS + _LOG_WEIGHTS, axis=-1)
    return score


def highest_log_evidence(leads: ArrayLike) -> float:
    """Return the highest log score ever, of wins (1), losses (−1) and ties (0) in order.

    >>> highest_log_evidence([1] * 20 + [-1] * 30) == float(log_evidence(20, 0))
    True
    """
    tosses = np.asarray(leads)
    tosses = tosses[tosses != 0]
    scores = log_evidence(np.cumsum(tosses > 0), np.cumsum(tosses < 0))
    return float(scores.max(initial=0.0))
