"""What one more draw may still show, judged by all draws so far.

A pair (state, capability) that answered alike every time may still hide an outcome. How likely is
that, and how often would the outcome come? Both are learned from the agent itself, as empirical
Bayes does: a share π of the pairs hides something, and what is hidden has a probability
q ~ Beta(a, b). After k further draws that were all alike, a pair still hides something with

    π·E[(1−q)^k] / (1 − π + π·E[(1−q)^k])

so a pair is asked again the less often the more deterministic its likes have proved. The likes of
a pair are those of the same kind: pairs that did nothing, pairs that did one thing, pairs that have
shown several outcomes and may hide another. π and q are taken over the whole agent; where a
capability has proved less reliable than the agent at large, its own are taken.

A pair that showed several outcomes also belongs to a rule whose probabilities are pooled; one more
draw brings them closer to the truth, for all states of the rule at once.

Gains are in one currency, the expected fall of the model's error (total variation, summed over
pairs) by one execution: 1 for a pair never tried, π·E[q²] for what may be hidden, and the fall of
the expected absolute error for a rule. The pairs wait in buckets of equal gain.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from math import exp, lgamma, pi, sqrt
from typing import NamedTuple

from capscope.model import Models
from capscope.model.beta import beta_cdf
from capscope.model.lattice import Block, Pair, Place
from capscope.query.settings import Settings
from capscope.symbolic import State

_REFRESH = 1.02  # the beliefs are taken anew when the executions have grown by this factor
_STRENGTH = 2.0  # pairs that the agent at large counts for in a capability
_SURE = 20  # most pairs that make the size of what is hidden more certain
_Z = 2.576  # 99 %: how sure a rule's probabilities are to be within `precision`


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

    def risk(self, draws: int, epsilon: float) -> float:
        """Return the probability that an outcome of probability above ε is still hidden."""
        return self.hiding(draws) * (1.0 - beta_cdf(epsilon, self.a, self.b + draws))


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

    def believe(self, base: Belief, strength: float) -> Belief:
        """Return what these pairs say, on top of a belief that counts for some pairs."""
        certain = 2.0 + min(self.gave_away, _SURE)
        mean = base.a / (base.a + base.b)
        mean = (strength * mean + self.shares) / (strength + self.gave_away)
        size = Belief(1.0, mean * certain, (1.0 - mean) * certain)
        # A pair counts as tested by the chance that the draws so far would have given it away.
        tested = sum(pairs * (1.0 - size.unseen(draws)) for draws, pairs in self.alike.items())
        gave_away = strength * base.share + self.gave_away
        return Belief(gave_away / (strength + self.gave_away + tested), size.a, size.b)


class Bucket(NamedTuple):
    """Pairs from which one more draw promises the same."""

    capability: int
    kind: Kind
    draws: int
    """Draws beyond the first of each outcome."""
    block: Block | None
    """The rule, for pairs with several outcomes."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a pair stands: its bucket, the kind of its main outcome, and the mass of the rest."""

    bucket: Bucket
    main: Kind
    outcomes: int
    beyond_first: float
    beyond_second: float


class Target(NamedTuple):
    """A pair worth asking, and what that promises."""

    state: State
    capability: int
    gain: float
    draws: int
    """How often it was asked before."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is settled and what is open."""

    untried: int
    """Pairs of visited states that were never tried."""
    hidden: float
    """The expected number of outcomes above ε that were not seen."""
    imprecise: int
    """Rules whose probabilities are not known well enough."""
    epsilon: float
    delta: float
    precision: float

    @property
    def reached(self) -> bool:
        """Nothing is open."""
        return not self.untried and self.hidden <= self.delta and not self.imprecise

    def __str__(self) -> str:
        statement = f"no untested outcome above {self.epsilon:g} in the visited region"
        if self.reached:
            return (
                f"{statement} (probability {1 - self.delta:g}), "
                f"rules within {self.precision:g} (99 %)"
            )
        still = []
        if self.untried:
            still.append(f"{self.untried:,} pairs never tried")
        if self.hidden > self.delta:
            still.append(f"{self.hidden:.2g} untested outcomes above {self.epsilon:g} expected")
        if self.imprecise:
            still.append(f"{self.imprecise:,} rules not yet within {self.precision:g}")
        return f"still open: {', '.join(still)}"


class Evidence:
    """The evidence behind every pair, kept up to date as answers come in."""

    def __init__(self, models: Models, settings: Settings) -> None:
        self._models = models
        self._settings = settings
        self.frontier: dict[Place, None] = {}
        """The places in which some capability was never tried."""
        self._capabilities = 0
        self._standings: dict[Pair, Standing] = {}
        self._buckets: dict[Bucket, dict[Pair, State]] = {}
        self._groups: dict[tuple[int, Kind], Group] = {}
        self._executions = 0
        self._refresh_at = 0.0
        self._beliefs: dict[tuple[int, Kind], Belief] = {}
        self._gains: dict[Bucket, float] = {}
        self._heap: list[tuple[float, int, Bucket]] = []
        self._serial = itertools.count()
        self._fresh = True
        self._settled = False
        """Whether what may be hidden is too little to look for."""

    @classmethod
    def of(cls, models: Models, settings: Settings) -> Evidence:
        """Judge models by all they have seen."""
        evidence = cls(models, settings)
        evidence.observe(
            (place.state, capability)
            for place in models.places.values()
            for capability, pair in enumerate(place.pairs)
            if pair is not None
        )
        return evidence

    def observe(self, pairs: Iterable[tuple[State, int]]) -> None:
        """Take in what the models learned of some pairs."""
        models = self._models
        for state, capability in dict.fromkeys(pairs):
            place = models.place(state)
            pair = place.pairs[capability]
            assert pair is not None, "only pairs that were tried are observed"
            self._executions -= self._forget(pair)
            self._executions += self._place(pair, state, capability)
            for near in (place, *pair.successors):
                self._mark(near)
        if len(models.capabilities) > self._capabilities:
            self._capabilities = len(models.capabilities)
            for place in models.places.values():
                self._mark(place)
        self._fresh = self._executions >= self._refresh_at
        if self._fresh:
            self.refresh()

    def _mark(self, place: Place) -> None:
        if place.tried < len(place.pairs):
            self.frontier.setdefault(place)
        else:
            self.frontier.pop(place, None)

    def _forget(self, pair: Pair) -> int:
        """Take a pair out of where it stood; return the draws it had."""
        standing = self._standings.pop(pair, None)
        if standing is None:
            return 0
        bucket = standing.bucket
        waiting = self._buckets[bucket]
        del waiting[pair]
        if not waiting:
            del self._buckets[bucket]
        self._count(standing, -1)
        return bucket.draws + standing.outcomes

    def _place(self, pair: Pair, state: State, capability: int) -> int:
        """Put a pair where it belongs now; return the draws it has."""
        standing = _standing(pair, capability)
        self._standings[pair] = standing
        self._count(standing, +1)
        bucket = standing.bucket
        if bucket not in self._buckets:
            self._buckets[bucket] = {}
            self._push(bucket)
        self._buckets[bucket][pair] = state
        return pair.total

    def _count(self, standing: Standing, sign: int) -> None:
        capability, draws = standing.bucket.capability, standing.bucket.draws
        first = self._group(capability, standing.main)
        if standing.outcomes == 1:
            first.alike[draws] += sign
            return
        first.gave_away += sign
        first.shares += sign * standing.beyond_first
        more = self._group(capability, Kind.VARIED)
        if standing.outcomes == 2:
            more.alike[draws] += sign
        else:
            more.gave_away += sign
            more.shares += sign * standing.beyond_second

    def _group(self, capability: int, kind: Kind) -> Group:
        return self._groups.setdefault((capability, kind), Group())

    def refresh(self) -> None:
        """Take the beliefs anew and order the buckets by them."""
        self._refresh_at = self._executions * _REFRESH + 1
        self._beliefs = self._believe()
        self._gains = {}
        self._settled = self.hidden() <= self._settings.delta
        self._heap = [(-self._gain(b), next(self._serial), b) for b in self._buckets]
        heapq.heapify(self._heap)

    def _believe(self) -> dict[tuple[int, Kind], Belief]:
        agent = {kind: Group() for kind in Kind}
        for (_, kind), group in self._groups.items():
            agent[kind].alike.update(group.alike)
            agent[kind].gave_away += group.gave_away
            agent[kind].shares += group.shares
        at_large = {kind: agent[kind].believe(_UNKNOWN, _STRENGTH) for kind in Kind}
        beliefs = {}
        for key, group in self._groups.items():
            general = at_large[key[1]]
            own = group.believe(general, _STRENGTH)
            beliefs[key] = own if own.share > general.share else general
        return beliefs

    def _belief(self, bucket: Bucket) -> Belief:
        return self._beliefs.get((bucket.capability, bucket.kind), _UNKNOWN)

    def _gain(self, bucket: Bucket) -> float:
        hidden = 0.0
        if not self._settled:
            known = self._gains.get(bucket)
            if known is None:
                known = self._gains[bucket] = self._belief(bucket).gain(bucket.draws)
            hidden = known
        return hidden if bucket.block is None else hidden + self._sharper(bucket.block)

    def _sharper(self, block: Block) -> float:
        """Return the error that one more draw is expected to take from a rule."""
        error = standard_error(block)
        if _Z * error <= self._settings.precision:
            return 0.0
        # E|error| of a normal is √(2/π)·σ, and σ falls by σ/2n with one more draw.
        return len(block.states) * sqrt(2 / pi) * error / (2 * block.total)

    def _push(self, bucket: Bucket) -> None:
        heapq.heappush(self._heap, (-self._gain(bucket), next(self._serial), bucket))

    def targets(self, most: int) -> list[Target]:
        """Return different pairs worth asking: those never tried, then the most promising."""
        found = list(itertools.islice(self._untried(), most))
        passed = []
        while self._heap and len(found) < most:
            promised, serial, bucket = heapq.heappop(self._heap)
            gain = self._gain(bucket) if bucket in self._buckets else 0.0
            if gain < -promised:
                # The bucket is empty, or its rule has become more precise since.
                if gain > 0.0:
                    heapq.heappush(self._heap, (-gain, serial, bucket))
                continue
            passed.append((promised, serial, bucket))
            waiting = itertools.islice(self._buckets[bucket].items(), most - len(found))
            found += [Target(state, bucket.capability, gain, pair.total) for pair, state in waiting]
        for entry in passed:
            heapq.heappush(self._heap, entry)
        return found

    def _untried(self) -> Iterator[Target]:
        for place in reversed(self.frontier):
            for capability in untried(place):
                yield Target(place.state, capability, 1.0, 0)

    def gain_of(self, pair: Pair) -> float:
        """Return what one more draw of a pair that was tried promises."""
        return self._gain(self._standings[pair].bucket)

    def hidden(self) -> float:
        """Return the expected number of outcomes above ε that were not seen."""
        epsilon = self._settings.epsilon
        return sum(
            len(pairs) * self._belief(bucket).risk(bucket.draws, epsilon)
            for bucket, pairs in self._buckets.items()
        )

    def supported(self) -> str | None:
        """Return the statement asked for once the evidence supports it; None until then.

        Looked at whenever the beliefs are taken anew, and when nothing is left to ask.
        """
        if self.frontier:
            return None
        if not self.targets(1):
            self.refresh()
        elif not self._fresh:
            return None
        verdict = self.verdict()
        return str(verdict) if verdict.reached else None

    def verdict(self) -> Verdict:
        """Say what is settled and what is open."""
        settings = self._settings
        blocks = {bucket.block for bucket in self._buckets if bucket.block is not None}
        return Verdict(
            untried=sum(len(place.pairs) - place.tried for place in self.frontier),
            hidden=self.hidden(),
            imprecise=sum(_Z * standard_error(block) > settings.precision for block in blocks),
            epsilon=settings.epsilon,
            delta=settings.delta,
            precision=settings.precision,
        )


# Before anything was seen: as many pairs hide something as not, and it may be anything.
_UNKNOWN = Belief(0.5, 1.0, 1.0)


def untried(place: Place) -> list[int]:
    """List the capabilities never tried in a place."""
    return [capability for capability, pair in enumerate(place.pairs) if pair is None]


def standard_error(block: Block) -> float:
    """Return the standard error of the largest probability of a rule (Jeffreys' estimate)."""
    share = (max(block.counts) + 0.5) / (block.total + 1.0)
    return sqrt(share * (1.0 - share) / block.total)


def _standing(pair: Pair, capability: int) -> Standing:
    outcomes = len(pair.counts)
    draws = pair.total - outcomes
    if outcomes == 1:
        ((effect, _),) = pair.counts.items()
        kind = Kind.ACTING if effect.adds or effect.deletes else Kind.IDLE
        return Standing(Bucket(capability, kind, draws, None), kind, 1, 0.0, 0.0)
    (main, most), (_, second), *_ = Counter(pair.counts).most_common()
    kind = Kind.ACTING if main.adds or main.deletes else Kind.IDLE
    rest = pair.total - most
    return Standing(
        Bucket(capability, Kind.VARIED, draws, pair.block),
        kind,
        outcomes,
        rest / pair.total,
        (rest - second) / pair.total,
    )
