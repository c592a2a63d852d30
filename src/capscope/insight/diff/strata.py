"""Count, stratum by stratum, what the two runs showed about one question.

A question is about one capability: is its intent achieved, or does a literal beyond it become true?
Pooled over states, two runs could differ only in where they asked. So every count is within a
stratum (`matching`), and only wins and losses of the sign test are summed up. States are never
grouped by what was seen in them, like the rules of a model: that would choose states by their
answers, and find differences between an agent and itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import NamedTuple

import numpy as np

from capscope.insight.diff.matching import MatchedRuns, Side
from capscope.logic import Atom, Effect, ExactlyOne, Intent, Literal
from capscope.stats.arrays import Floats, Integers, Mask
from capscope.stats.beta import credible_interval
from capscope.stats.betting import evidence_of_lead
from capscope.stats.partial_pooling import mean_probability
from capscope.stats.rate import Rate
from capscope.stats.stratified_test import GroupEvidence, StratifiedEvidence

_EVERYWHERE, _LITERALS, _STATES = 4 / 5, 1 / 10, 1 / 10


class Tally(NamedTuple):
    """How often an event happened on one side, in each stratum."""

    hits: Integers
    unexplained: Integers
    """Hits that no success of the same execution may explain."""
    draws: Integers
    independent: Integers
    """Independent observations: draws, or positions if draws are not exchangeable."""

    def rate(self, weights: Integers, members: Mask, states: int) -> Rate:
        """Return the weighted mean over the strata with a weight; members are those counted."""
        compared = weights > 0
        weight = weights[compared] / weights.sum()
        counts = np.stack([self.hits[compared], self.draws[compared], weight], axis=1)
        mean = mean_probability(counts.tolist())
        # The number of equally weighted draws that would say as much.
        size = float(1 / (weight**2 / self.independent[compared]).sum())
        hits, draws = int(self.hits[members].sum()), int(self.draws[members].sum())
        return Rate(mean, *credible_interval(mean * size, size), hits, draws, states, states)


@dataclass(frozen=True)
class Question:
    """A question and its counts wherever both sides can answer it; one row for each stratum."""

    intent: Intent
    literals: tuple[Literal, ...]
    """Empty if the question is whether the intent is achieved."""
    hazard: bool
    """Whether the event is one that should not happen."""
    held: bool
    """Whether it is about the states in which the intent holds already."""
    states: Integers
    """The state of each stratum; the strata of a state are contiguous."""
    exchangeable: Mask
    """The strata in which all draws are exchangeable."""
    a: Tally
    b: Tally
    compared: Integers
    """Comparisons of single observations, ties included: a row for each way of matching."""
    wins_a: Integers
    wins_b: Integers
    """Those in which the event happened on one side and not, or less often, on the other."""
    leads: Integers
    """Each comparison of the first way, in the order in which draws were made: 1 if A won, −1 if B
    did, 0 if neither."""

    @property
    def seen(self) -> bool:
        """Whether the event happened on either side."""
        return bool(self.a.hits.any() or self.b.hits.any())

    def rates(self, members: Mask) -> tuple[Rate, Rate]:
        """Return how often the event happened on both sides, over some of the strata.

        It is the mean over the strata that both sides tried, with the same weights on both sides:
        how much can be compared in each. So it need not be hits / executions. If draws are not
        exchangeable, the interval counts each position as one draw.
        """
        independent = np.minimum(self.a.independent, self.b.independent)
        weights = np.where(self.exchangeable, self.compared[0], independent)
        weights = np.where(members, weights, 0)
        states = len(np.unique(self.states[members]))
        return self.a.rate(weights, members, states), self.b.rate(weights, members, states)

    def evidence(self) -> tuple[StratifiedEvidence, StratifiedEvidence]:
        """Return the evidence that A is ahead, and that B is."""
        a, b = self._log_ratios(self.a, self.b), self._log_ratios(self.b, self.a)
        return (
            StratifiedEvidence(self.wins_a, self.wins_b, self.leads, a, self.exchangeable),
            StratifiedEvidence(self.wins_b, self.wins_a, -self.leads, b, self.exchangeable),
        )

    def _log_ratios(self, one: Tally, other: Tally) -> Floats:
        """Return the evidence that one side is ahead, also beyond what success explains."""
        ratios = evidence_of_lead(one.hits, one.draws, other.hits, other.draws)
        if any((side.unexplained != side.hits).any() for side in (one, other)):
            beyond = evidence_of_lead(one.unexplained, one.draws, other.unexplained, other.draws)
            # The smaller of two scores is a score against either null hypothesis.
            ratios = np.minimum(ratios, beyond)
        return np.where(self.exchangeable, ratios, 0.0)

    def most_possible(self) -> StratifiedEvidence:
        """Return the evidence if all draws of A were hits and none of B: nothing could be more."""
        none = np.zeros_like(self.a.draws)
        ratios = evidence_of_lead(self.a.draws, self.a.draws, none, self.b.draws)
        ratios = np.where(self.exchangeable, ratios, 0)
        losses, leads = np.zeros_like(self.compared), np.ones_like(self.leads)
        return StratifiedEvidence(self.compared, losses, leads, ratios, self.exchangeable)


class Questions:
    """Asks questions about one capability."""

    def __init__(self, matched: MatchedRuns, capability: int) -> None:
        self._matched = matched
        self.intent: Intent = matched.capabilities[capability]
        pairs = np.array([capability, capability + 1]) * len(matched.states)
        low, high = np.searchsorted(matched.pair, pairs)
        self._states = matched.pair[low:high] - pairs[0]
        self._exchangeable = matched.exchangeable[low:high]
        self._pairings = [pairing.within(low, high) for pairing in matched.pairings]
        self._in_order = np.argsort(self._pairings[0].made, kind="stable")
        own = (
            side.only(slice(*np.searchsorted(side.pair, pairs))) for side in (matched.a, matched.b)
        )
        self._sides = [side._replace(stratum=side.stratum - low) for side in own]
        alternatives = map(matched.holding, self.intent.alternatives)
        self._achieved = reduce(np.logical_or, alternatives)

    def achieved(self, *, hazard: bool = False) -> Question:
        """Ask whether the intent holds afterward, in states where it does not hold before."""
        event = self._achieved
        return self._question((), event, event, ~event, hazard=hazard)

    def becomes_true(self, literal: Literal) -> Question:
        """Ask whether a literal becomes true, in states where neither it nor the intent holds.

        Where the intent holds an agent has nothing to do, and any side effect would look rare; so
        these states are a question of their own (`happens`).

        A change that comes with the intent is not a side effect compared with an execution that did
        not achieve it; such a comparison is a tie on either side, so the sign test stays fair. In
        the likelihood ratio, where draws have no counterpart, the literal must become true more
        often both overall and without the intent.
        """
        event, achieved = self._matched.holding([literal]), self._achieved
        return self._question((literal,), event, event & ~achieved, ~event & ~achieved)

    def happens(
        self, literals: Sequence[Literal], *, hazard: bool = False, held: bool = False
    ) -> Question:
        """Ask whether literals become true, whether or not they come with the intent.

        With `held`, only in states in which the intent holds before.
        """
        event = self._matched.holding(literals)
        where = ~event & self._achieved if held else ~event
        return self._question(tuple(literals), event, event, where, hazard=hazard, held=held)

    def effects(self) -> set[Effect]:
        """Return what executions of either side changed."""
        states = self._matched.states
        codes = [self._states[side.stratum] * len(states) + side.end for side in self._sides]
        ends = (divmod(code, len(states)) for code in np.unique(np.concatenate(codes)).tolist())
        return {Effect.between(states[before], states[after]) for before, after in ends}

    def literals_changed(self, groups: ExactlyOne) -> tuple[Literal, ...]:
        """List the literals beyond the intent that an execution of either side made true.

        Asking for one atom of which exactly one holds is asking for the end of the others. The
        converse is a question: where an agent goes that is asked to leave. What the user declared
        as expected was asked for.
        """
        vocabulary = self._matched.vocabulary
        required, forbidden = vocabulary.literal_masks(self.intent.mentioned)
        asked = Effect(required, forbidden | groups.rivals(required))
        if groups.expected is not None:
            asked = asked.joined(groups.expected.of(self.intent))
        adds, deletes = (reduce(or_, bits) for bits in zip((0, 0), *self.effects(), strict=True))
        return Effect(adds & ~asked.adds, deletes & ~asked.deletes).literals(vocabulary)

    def _question(
        self,
        literals: tuple[Literal, ...],
        event: Mask,
        unexplained: Mask,
        where: Mask,
        *,
        hazard: bool = False,
        held: bool = False,
    ) -> Question:
        """Count an event in some of the states; all events are given by the states after it."""
        ways = []
        for way in self._pairings:
            lead = way.lead(event)
            if unexplained is not event:
                lead = np.where(lead == way.lead(self._achieved), 0, lead)
            ways.append((way.stratum, way.won(lead)))
        compared = np.array([self._count(stratum) for stratum, _ in ways])
        wins_a = np.array([self._count(stratum[won > 0]) for stratum, won in ways])
        wins_b = np.array([self._count(stratum[won < 0]) for stratum, won in ways])
        possible = where[self._states]
        kept = np.flatnonzero(possible & (compared.sum(axis=0) > 0))
        stratum, won = (column[self._in_order] for column in ways[0])
        a, b = (self._tally(side, event, unexplained, kept) for side in self._sides)
        return Question(
            self.intent, literals, hazard, held, self._states[kept], self._exchangeable[kept],
            a, b, compared[:, kept], wins_a[:, kept], wins_b[:, kept], won[possible[stratum]],
        )  # fmt: skip

    def _count(self, stratum: Integers) -> Integers:
        return np.bincount(stratum, minlength=len(self._states))

    def _tally(self, side: Side, event: Mask, unexplained: Mask, kept: Integers) -> Tally:
        hits, alone = (self._count(side.stratum[e[side.end]]) for e in (event, unexplained))
        draws = independent = self._count(side.stratum)
        if not self._exchangeable.all():
            places = side.position.max(initial=0) + 1
            seen = np.unique(side.stratum * places + side.position) // places
            independent = np.where(self._exchangeable, draws, self._count(seen))
        return Tally(*(column[kept] for column in (hits, alone, draws, independent)))


class Subset(NamedTuple):
    """A subset of states in which one side is ahead, and how sure that is."""

    members: Mask
    """Which of the strata of the question it has."""
    literal: Literal | None
    """What holds in these states and in none of the others; None if no literal does."""
    evidence: GroupEvidence
    log_price: float
    """The price of looking in many subsets."""

    def adjusted_p(self, threshold: float, error_rate: float) -> float:
        """Return the smallest error rate, over everything compared, at which it is reported."""
        exceeded = self.evidence.log_evidence - self.log_price - threshold
        return min(error_rate * math.exp(min(-exceeded, 700.0)), 1.0)


def best_subset(
    states: Integers, matched: MatchedRuns, evidence: StratifiedEvidence, threshold: float
) -> Subset | None:
    """Return the subset that shows best who is ahead; None if none reaches the threshold.

    A question is tested in all states, in those with a literal, and in single ones. Four fifths of
    the error rate are for all states together, a tenth is divided among the literals and a tenth
    among the single states: where a change is small it needs every draw, and a change in a corner
    is rarely small. The subsets are made from the states alone, never from what was seen in them.
    """
    which, begins, state = np.unique(states, return_index=True, return_inverse=True)
    found = []
    # A single state is everywhere, and has the whole error rate.
    price = -math.log(_EVERYWHERE) if len(which) > 1 else 0.0
    everywhere = evidence.everywhere()
    if everywhere.log_evidence >= threshold + price:
        found.append(Subset(np.ones(len(state), dtype=bool), None, everywhere, price))
    halves = _halves(matched.bits[which], matched.vocabulary.atoms)
    groups = np.array([half for _, half in halves], dtype=bool).reshape(-1, len(which))[:, state]
    price, weights = math.log(max(len(halves), 1) / _LITERALS), groups.astype(np.float64)
    thresholds = np.full(len(halves), threshold + price)
    for one in evidence.reaching(lambda values: weights @ values, thresholds):
        found.append(Subset(groups[one.group], halves[one.group][0], one, price))
    if len(which) > 1:
        price = math.log(len(which) / _STATES)
        thresholds = np.full(len(which), threshold + price)
        # The strata of a state are contiguous.
        for one in evidence.reaching(lambda v: np.add.reduceat(v, begins), thresholds):
            found.append(Subset(state == one.group, None, one, price))
    # Of subsets that show the same, the smallest omits states without a comparison.
    return max(found, key=lambda s: (s.evidence.log_evidence, -int(s.members.sum())), default=None)


def _halves(bits: Mask, atoms: Sequence[Atom]) -> list[tuple[Literal, Mask]]:
    """Return the literals that hold in some of the states, one of those that agree, and where."""
    halves: dict[bytes, tuple[Literal, Mask]] = {}
    for positive in (True, False):
        held = bits if positive else ~bits
        # A literal of a single state would be tested twice.
        for i in np.flatnonzero((held.sum(axis=0) > 1) & ~held.all(axis=0)).tolist():
            halves.setdefault(held[:, i].tobytes(), (Literal(atoms[i], positive), held[:, i]))
    return list(halves.values())
