"""The test: if two agents are alike, which of the two did better is the toss of a fair coin.

The textbook compares two proportions, state by state (Fisher, Cochran–Mantel–Haenszel). Those tests
take the numbers of draws as settled beforehand. Here they are not: a strategy asks again where an
answer surprised it and leaves where answers agree, so a state that failed by chance may be left
after three draws and one that succeeded be asked thirty times. Summed over a thousand states that
bias alone passes for a difference, above all between runs of two strategies.

So the first draw of a state in one run is compared with the first draw of the same state in the
other, the second with the second, and so on as far as both go. Most agree. Where they do not, one
side achieved something and the other did not, and if the agents are alike in that state each side
is as likely as the other to be the one, whatever was drawn before and whatever the strategies made
of it. A state's disagreements are therefore tosses of a fair coin, and stopping does not bias
tosses. How far the tosses are from fair is measured by a betting score: the likelihood of the
tosses under a mixture of biased coins (Jeffreys' Beta(½, ½), the half that favours one side) over
that under the fair coin. The chance that a fair coin ever lets this ratio reach 1/α is at most α,
wherever the tosses stop (Ville's inequality).

**One state, many states.** In one state this holds exactly, for any two strategies. Over several
states tosses are added up; a toss in one state may then decide whether another state is ever
reached in that run. The sum still has mean zero, since the runs are independent of each other; its
spread could exceed that of a fair coin only if success in s led one run to t while failure in t led
the other run to s. `benchmarks/differences.py` measures what is left of that with the strategies
there are: nothing that shows.

**Positions.** Where several positions of the simulator look like one symbolic state, success may
depend on the position, and draws from one position are then no independent witnesses. Draws that
started from one position are one toss together: the side that did better in them.
"""

from __future__ import annotations

import math
from functools import lru_cache

from capscope.model.beta import beta_cdf

_LOG_TWO = math.log(2)
_LOG_PI = math.log(math.pi)


@lru_cache(maxsize=65536)
def log_evidence(wins: int, losses: int) -> float:
    """Return the log betting score of tosses against "the coin does not favour the winner".

    >>> round(math.exp(log_evidence(14, 0)))
    4897
    >>> log_evidence(7, 7) < 0
    True
    """
    a, b = wins + 0.5, losses + 0.5
    mixture = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b) - _LOG_PI
    # Only coins that favour the winner are betted on: half of the prior, so twice its density.
    share = beta_cdf(0.5, b, a)
    if share <= 0.0:
        return -math.inf
    return (wins + losses + 1) * _LOG_TWO + mixture + math.log(share)
