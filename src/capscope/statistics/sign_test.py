"""Which of two agents did better, draw against draw: under the null hypothesis a fair coin.

Textbook tests compare two proportions state by state (Fisher, Cochran–Mantel–Haenszel) and take the
numbers of draws as fixed in advance. Here they are not: a strategy asks again after a surprise and
leaves a state when answers agree, so a state that failed by accident may have three draws and one
that succeeded thirty. Summed over a thousand states, that bias alone looks like a difference.

So the i-th draw of a state in one run is compared with the i-th draw of the same state in the
other. If they disagree and the agents are the same, each side is equally likely to be the one that
succeeded, whatever was drawn before. Disagreements are tosses of a fair coin, and optional stopping
does not bias those. The betting score is the likelihood of the wins and losses under a mixture of
biased coins (the half of Jeffreys' Beta(½, ½) that favors the winner), divided by that under the
fair coin.

**Several states.** In one state this is exact for any two strategies. Added up over states, wins
still have mean zero, because the runs are independent; their variance could exceed that of a fair
coin only if success in s led one run to t while failure in t led the other to s. Measurements show
no such effect (the benchmark `diff_error_rates` of the experiments).
"""

import math
from functools import lru_cache

from capscope.statistics.beta import beta_cdf
from capscope.statistics.log_space import log_beta

_LOG_TWO = math.log(2)
_LOG_PI = math.log(math.pi)


@lru_cache(maxsize=65536)
def log_evidence(wins: int, losses: int) -> float:
    """Return the log score against "the first side does not win more often than it loses".

    >>> round(math.exp(log_evidence(14, 0)))
    4897
    >>> log_evidence(7, 7) < 0
    True
    """
    a, b = wins + 0.5, losses + 0.5
    # Only coins that favor the winner: half of the prior, so twice its density.
    share = beta_cdf(0.5, b, a)
    if share <= 0.0:
        return -math.inf
    return (wins + losses + 1) * _LOG_TWO + log_beta(a, b) - _LOG_PI + math.log(share)
