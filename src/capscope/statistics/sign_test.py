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
the other run to s. The benchmark `differences` of the experiments measures what is left of that
with the strategies there are: nothing that shows.

**Positions.** Where several positions of the simulator look like one symbolic state, success may
depend on the position. A position that both runs know is compared as a state with one position is,
and with the same right: the next draw from it is a draw from one distribution, whatever was drawn
before and whatever the strategies made of it. The same goes for executions with the same past
(`pasts`). Every position is such a stratum; in one that only one run knows there is nothing to
toss, so nothing is chosen by answers.

That leaves out draws from positions that only one run knows, which may be all there are. So there
is a second way, in which positions are the witnesses: draws that started from one position are one
toss together, for the side that did better in them, and the i-th position of one run is set against
the i-th of the other. That is fair if it is left to chance which positions a run comes to, and to
the same chance in both, as it is with one strategy; other strategies may come to others.

The two ways are made of the same draws, so their tosses are not added up. Each has its score, and
the mean of two scores is a score, whatever the one has to do with the other; without a state of
several positions the two ways are one. It would not do to match in the second way only what the
first has left over. A long run knows more positions than a short one, so those of the short run
that the long one does not know are rarer than those of the long run that the short one does not
know; where rare positions are hard ones, the long run would win for being long.
"""

from __future__ import annotations

import math
from functools import lru_cache

from capscope.statistics.beta import beta_cdf

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
