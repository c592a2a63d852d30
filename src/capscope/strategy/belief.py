"""What a pair may still hide, judged by its likes.

A pair (state, capability) that answered alike every time may still hide an outcome. How likely is
that, and how often would the outcome come? Both are learned from the agent itself, as empirical
Bayes does: a share π of the pairs hides something, and what is hidden has a probability
q ~ Beta(a, b). After k further draws that were all alike, a pair still hides something with

    π·E[(1−q)^k] / (1 − π + π·E[(1−q)^k])

so a pair is asked again the less often the more deterministic its likes have proved. π and q are
learned at three levels, each the prior of the next: all pairs of the agent of the same kind (those
that did nothing, those that did something, those that have shown several outcomes and may hide
another), those among them of the same capability, and those that showed the same effect.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import IntEnum
from math import exp, lgamma

from capscope.statistics.beta import beta_cdf

_STRENGTH = 2.0  # pairs that the agent at large counts for in a capability
_CERTAIN = 2.0  # a + b: how alike the hidden outcomes of different pairs are taken to be


class Kind(IntEnum):
    """What a pair has shown so far."""

    IDLE = 0
    ACTING = 1
    VARIED = 2


@dataclass(frozen=True, slots=True)
class Belief:
    """The share of pairs that hide an outcome, and Beta(a, b) of that outcome's probability."""

    share: float
    a: float
    b: float

    def unseen(self, draws: int) -> float:
        """Return E[(1−q)^draws]: the chance that a hidden outcome stays hidden."""
        whole = self.a + self.b
        return exp(lgamma(self.b + draws) - lgamma(self.b) + lgamma(whole) - lgamma(whole + draws))

    def hiding(self, draws: int) -> float:
        """Return the probability that a pair hides an outcome after draws that were all alike."""
        hidden = self.share * self.unseen(draws)
        return hidden / (1.0 - self.share + hidden)

    def gain(self, draws: int) -> float:
        """Return the error that the next draw is expected to remove."""
        whole = self.a + self.b + draws
        return self.hiding(draws) * self.a * (self.a + 1) / (whole * (whole + 1))

    def showing(self, draws: int) -> float:
        """Return the probability that the next draw shows what is hidden."""
        return self.hiding(draws) * self.a / (self.a + self.b + draws)

    def risk(self, draws: int, epsilon: float) -> float:
        """Return the probability that an outcome of probability above ε is still hidden."""
        return self.hiding(draws) * (1.0 - beta_cdf(epsilon, self.a, self.b + draws))


# Before anything was seen: as many pairs hide something as not, and it may be anything.
UNKNOWN = Belief(0.5, 1.0, 1.0)
# Where there are too few draws to learn from likes at all.
ALL_HIDE = Belief(1.0, 1.0, 1.0)


class Group:
    """The pairs of one kind: how often each answered alike, and what others gave away."""

    __slots__ = ("alike", "gave_away", "shares")

    def __init__(self) -> None:
        self.alike: Counter[int] = Counter()
        """Further draws, all alike → pairs."""
        self.gave_away = 0
        """Pairs that showed something more."""
        self.shares = 0.0
        """The probability of what they showed more, summed over them."""

    def answer_alike(self, draws: int, sign: int) -> None:
        """Count a pair, in or out, that answered alike so many further times."""
        self.alike[draws] += sign
        if not self.alike[draws]:
            del self.alike[draws]

    def give_away(self, share: float, sign: int) -> None:
        """Count a pair, in or out, that showed something more, with that share of its draws."""
        self.gave_away += sign
        self.shares += sign * share

    @property
    def draws_alike(self) -> int:
        """All further draws of the pairs that answered alike."""
        return sum(draws * pairs for draws, pairs in self.alike.items())

    def include(self, other: Group) -> None:
        """Add the pairs of another group."""
        self.alike.update(other.alike)
        self.gave_away += other.gave_away
        self.shares += other.shares

    def believe(self, base: Belief, strength: float = _STRENGTH) -> Belief:
        """Return what these pairs say, on top of a belief that counts for some pairs."""
        mean = base.a / (base.a + base.b)
        mean = (strength * mean + self.shares) / (strength + self.gave_away)
        size = Belief(1.0, mean * _CERTAIN, (1.0 - mean) * _CERTAIN)
        # A pair counts as tested by the chance that the draws so far would have given it away.
        tested = sum(pairs * (1.0 - size.unseen(draws)) for draws, pairs in self.alike.items())
        gave_away = strength * base.share + self.gave_away
        return Belief(gave_away / (strength + self.gave_away + tested), size.a, size.b)

    def believe_in(self, parent: Belief) -> Belief:
        """Return what to believe of these pairs, in view of the larger group they belong to.

        Pairs that gave nothing away are as reliable as the larger group, or as their own record
        proves them to be, whichever is more.
        """
        if self.gave_away:
            return self.believe(parent)
        alone = self.believe(UNKNOWN)
        return Belief(min(alone.share, parent.share), parent.a, parent.b)
