"""Estimate what a pair may still hide from how its peers behaved.

A pair (state, capability) that gave identical outcomes so far may still hide another. How likely is
that, and how probable is the hidden outcome? Both are learned from the agent by empirical Bayes: a
share π of the pairs hides something, and what is hidden has a probability q ~ Beta(a, b). After k
further identical draws a pair still hides something with

    π·E[(1−q)^k] / (1 − π + π·E[(1−q)^k])

so pairs whose peers are less deterministic are asked first. This orders the draws and decides
nothing else: that many peers are deterministic does not show that a pair is (`missed_outcomes`).
π and q are learned at three
levels, each the prior of the next: all pairs of a `Kind`, those of the same capability, and those
that showed the same effect.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import IntEnum
from math import exp, lgamma
from typing import NamedTuple

from capscope.logic import Effect

_STRENGTH = 2.0  # the prior counts for this many pairs
_CERTAIN = 2.0  # a + b: how similar the hidden outcomes of different pairs are assumed to be


class Kind(IntEnum):
    """What a pair has shown so far: no change, one change, or several outcomes."""

    IDLE = 0
    ACTING = 1
    VARIED = 2


def kind_of(effect: Effect) -> Kind:
    """Return the kind of a pair that showed only this effect."""
    return Kind.ACTING if effect.adds or effect.deletes else Kind.IDLE


Peers = tuple[int, Effect | Kind]
"""Pairs that are judged together: a capability, and the effect they showed or their kind."""


class Bucket(NamedTuple):
    """Pairs with the same expected gain."""

    capability: int
    kind: Kind
    effects: tuple[Effect, ...]
    draws: int
    """Draws beyond the first of each outcome."""

    @property
    def total(self) -> int:
        """All draws of each of the pairs."""
        return self.draws + len(self.effects)

    @property
    def peers(self) -> Peers:
        """The pairs that these are judged with."""
        return self.capability, self.kind if self.kind is Kind.VARIED else self.effects[0]


@dataclass(frozen=True, slots=True)
class Belief:
    """The share of pairs that hide an outcome, and Beta(a, b) of that outcome's probability."""

    share: float
    a: float
    b: float

    def unseen(self, draws: int) -> float:
        """Return E[(1−q)^draws]: the probability that a hidden outcome stays hidden."""
        whole = self.a + self.b
        return exp(lgamma(self.b + draws) - lgamma(self.b) + lgamma(whole) - lgamma(whole + draws))

    def hiding(self, draws: int) -> float:
        """Return the probability that a pair hides an outcome after identical draws."""
        hidden = self.share * self.unseen(draws)
        return hidden / (1.0 - self.share + hidden)

    def gain(self, draws: int) -> float:
        """Return the error that the next draw is expected to remove."""
        whole = self.a + self.b + draws
        return self.hiding(draws) * self.a * (self.a + 1) / (whole * (whole + 1))

    def showing(self, draws: int) -> float:
        """Return the probability that the next draw shows what is hidden."""
        return self.hiding(draws) * self.a / (self.a + self.b + draws)


# Before any draw: half of the pairs hide something, of any probability.
UNKNOWN = Belief(0.5, 1.0, 1.0)


@dataclass(slots=True, eq=False)
class Group:
    """Peers: how often each gave identical outcomes, and what the others revealed."""

    identical: Counter[int] = field(default_factory=Counter)
    """Further identical draws → pairs."""
    revealed: int = 0
    """Pairs that showed a further outcome."""
    shares: float = 0.0
    """The shares of the further outcomes, summed over these pairs."""

    def count_identical(self, draws: int, sign: int) -> None:
        """Add or remove a pair with this many further identical draws."""
        self.identical[draws] += sign
        if not self.identical[draws]:
            del self.identical[draws]

    def move_identical(self, old: int, new: int) -> None:
        """Count a pair with more identical draws than before."""
        identical = self.identical
        if identical[old] == 1:
            del identical[old]
        else:
            identical[old] -= 1
        identical[new] = identical.get(new, 0) + 1

    def count_revealed(self, share: float, sign: int) -> None:
        """Add or remove a pair that showed a further outcome in this share of its draws."""
        self.revealed += sign
        self.shares += sign * share

    def include(self, other: Group) -> None:
        """Add the pairs of another group."""
        self.identical.update(other.identical)
        self.revealed += other.revealed
        self.shares += other.shares

    def believe(self, prior: Belief) -> Belief:
        """Return the belief about these pairs, given a prior."""
        mean = prior.a / (prior.a + prior.b)
        mean = (_STRENGTH * mean + self.shares) / (_STRENGTH + self.revealed)
        size = Belief(1.0, mean * _CERTAIN, (1.0 - mean) * _CERTAIN)
        # A pair counts as tested by the probability that its draws would have revealed something.
        tested = sum(pairs * (1.0 - size.unseen(draws)) for draws, pairs in self.identical.items())
        revealed = _STRENGTH * prior.share + self.revealed
        return Belief(revealed / (_STRENGTH + self.revealed + tested), size.a, size.b)

    def believe_within(self, parent: Belief) -> Belief:
        """Return the belief about these pairs, given that of the larger group they belong to.

        Pairs that revealed nothing are as reliable as the larger group or as their own draws show,
        whichever is more.
        """
        if self.revealed:
            return self.believe(parent)
        alone = self.believe(UNKNOWN)
        return Belief(min(alone.share, parent.share), parent.a, parent.b)
