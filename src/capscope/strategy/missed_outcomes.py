"""Bound the probability that an outcome above ε was missed, whatever the agent.

An outcome of probability above ε escapes n draws of its pair with probability below (1−ε)^n. If one
pair of a thousand hides such an outcome and the others are deterministic, only its own draws can
show it: that all other pairs look reliable says nothing about it. So no pair may be drawn less than
a number of times that does not depend on peers.

Bonferroni's correction over all pairs would take ln(pairs/δ)/ε draws of each. But only pairs that
hide something can be missed, and most of those are found: if so many hide an outcome that one of
them is likely to be missed, others show theirs. With R outcomes found beside the most frequent one
of each pair, the run stops at the first n with

    (1 + R) · (1−ε)^n ≤ δ

This is Hochberg's step-up procedure: of m independent hidden outcomes, the r-th last to be found
would have to escape until (1−ε)^n ≤ δ/(m−r+1), and the probability that any of them does is at most
δ, for every m. It needs no prior and holds whenever the run checks.

An outcome of probability ½ is practically never missed by so many draws, so finding one is no sign
that others were missed. R counts an outcome by the probability that it would have been missed, in
relation to one of probability ε. That weight is an estimate, so from here on the bound is
approximate; simulations are in `benchmarks/settled_claims` of the experiments.

Peers reduce the draws in one more way. If a few capabilities vary everywhere, R is large on their
account, and the pairs of the others need not pay for it. A capability that hides an outcome in any
pair is itself missed with probability below (1−ε)^n at most, so the same rule holds with
capabilities instead of outcomes: pairs of capabilities that showed no further outcome anywhere are
drawn until (1 + A)·(1−ε)^n is small, where A counts the capabilities that showed a few. Those that
showed many do not count, because they would hardly have been missed altogether. δ is divided
between the two classes of capabilities by their numbers of pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, exp, fsum, inf, lgamma, log, log1p
from typing import NamedTuple

MISSED_SHARE = 2 / 3
"""The share of δ for missed outcomes; the rest is for the probabilities of rules."""
_FEW = 3  # a capability that hides more outcomes escapes n draws with at most (1−ε)^4n

Found = Mapping[tuple[int, int], int]
"""The outcomes that a capability showed, except the most frequent one of each pair.

They are counted by how often they were seen, in how many draws of their pair.
"""


class LikeMissed(NamedTuple):
    """What was found, each by how easily it would have been missed: 1 if like one of ε."""

    capabilities: float
    """The capabilities that showed few further outcomes."""
    outcomes: float
    """The further outcomes of all capabilities."""


@dataclass(frozen=True, slots=True)
class MissBound:
    """The error probability of "no outcome with probability above ε was missed"."""

    epsilon: float
    delta: float

    def escape(self, draws: int) -> float:
        """Return the probability that an outcome of probability ε escapes so many draws.

        >>> round(MissBound(0.1, 0.05).escape(9), 2)
        0.39
        """
        return (1.0 - self.epsilon) ** draws

    def error(self, like_missed: float, draws: int) -> float:
        """Return the bound if each pair was drawn so often; `like_missed` is R or A."""
        return min((1.0 + like_missed) * self.escape(draws), 1.0)

    def needed(self, like_missed: float, share: float = 1.0) -> float:
        """Return how often each pair must be drawn for a share of δ; infinite if ε is 0.

        >>> MissBound(0.1, 0.05).needed(0), MissBound(0.1, 0.05).needed(8)
        (29, 50)
        """
        if share <= 0.0:
            return 0
        if self.epsilon <= 0.0:
            return inf
        if self.epsilon >= 1.0:
            return 1
        delta = self.delta * share
        draws = max(ceil(log((1.0 + like_missed) / delta) / -log1p(-self.epsilon)), 1)
        # Rounding must not leave a run that has no draw to make and is not settled either.
        return draws if self.error(like_missed, draws) <= delta else draws + 1

    def like_missed(self, found: Iterable[Found]) -> LikeMissed:
        """Return what was found by each capability, by how easily it would have been missed."""
        found = list(found)
        weights = [self._weight(outcomes) for outcomes in found]
        few = (
            min(weight, 1.0)
            for weight, outcomes in zip(weights, found, strict=True)
            if sum(outcomes.values()) <= _FEW
        )
        return LikeMissed(capabilities=fsum(few), outcomes=fsum(weights))

    def _weight(self, found: Found) -> float:
        draws = self.needed(0.0)
        if draws == inf:
            return float(sum(found.values()))
        escape = self.escape(int(draws))
        return fsum(
            outcomes * min(_unseen(count, total, int(draws)) / escape, 1.0) if escape else 0.0
            for (count, total), outcomes in found.items()
        )


@lru_cache(maxsize=65536)
def _unseen(count: int, total: int, draws: int) -> float:
    """Return E[(1−q)^draws] after so many sightings, for q ~ Beta(count + ½, total − count + ½)."""
    b, whole = total - count + 0.5, total + 1.0
    return exp(lgamma(b + draws) - lgamma(b) + lgamma(whole) - lgamma(whole + draws))
