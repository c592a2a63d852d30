"""Count, stratum by stratum, what the two runs showed about one question.

A question is about one capability: is its intent achieved, or does a literal beyond it become true?
Pooled over states, two runs could differ only in where they asked. So every count is within a
stratum (`matching`), and only wins and losses of the sign test are summed up. States are never
grouped by what was seen in them, like the rules of a model: that would choose states by their
answers, and find differences between an agent and itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np

from capscope.insight.diff.matching import MatchedRuns, Pairing, SortedExecutions
from capscope.logic import Effect, ExactlyOne, Intent, Literal
from capscope.stats.arrays import Floats, Integers, Mask
from capscope.stats.betting import evidence_of_lead
from capscope.stats.stratified_test import StratifiedEvidence

_EVERYWHERE, _LITERALS, _STATES = 4 / 5, 1 / 10, 1 / 10


@dataclass(frozen=True)
class StratumTally:
    """How often an event happened on one side, in each stratum."""

    hits: Integers
    draws: Integers
    unexplained: Integers
    """Hits that no success of the same execution may explain."""
    independent: Integers
    """Independent observations: draws, or positions if draws are not exchangeable."""

    def of(self, rows: Integers) -> StratumTally:
        """Return the counts of some strata."""
        hits = self.hits[rows]
        # The same array means that all hits are unexplained.
        unexplained = hits if self.unexplained is self.hits else self.unexplained[rows]
        return StratumTally(hits, self.draws[rows], unexplained, self.independent[rows])


@dataclass(frozen=True)
class SignCounts:
    """Comparisons of single observations: a row for each way of matching, a column a stratum."""

    compared: Integers
    """Including ties."""
    wins_a: Integers
    wins_b: Integers
    """The event happened on one side and not, or less often, on the other."""
    leads: Integers
    """Each comparison of the first way, in the order in which draws were made: 1 if A won, −1 if B
    did, 0 if neither."""


@dataclass(frozen=True)
class QuestionCounts:
    """The counts of a question wherever both sides can answer it; one row for each stratum."""

    states: Integers
    """The state of each stratum; the strata of a state are contiguous."""
    exchangeable: Mask
    """The strata in which all draws are exchangeable."""
    a: StratumTally
    b: StratumTally
    signs: SignCounts

    @property
    def weights(self) -> Integers:
        """How much can be compared in each stratum: draws, or positions."""
        independent = np.minimum(self.a.independent, self.b.independent)
        return np.where(self.exchangeable, self.signs.compared[0], independent)

    def evidence(self) -> tuple[StratifiedEvidence, StratifiedEvidence]:
        """Return the evidence that A is ahead, and that B is."""
        wins_a, wins_b = self.signs.wins_a, self.signs.wins_b
        a, b = self._log_ratios(self.a, self.b), self._log_ratios(self.b, self.a)
        leads = self.signs.leads
        return (
            StratifiedEvidence(wins_a, wins_b, leads, a, self.exchangeable),
            StratifiedEvidence(wins_b, wins_a, -leads, b, self.exchangeable),
        )

    def _log_ratios(self, one: StratumTally, other: StratumTally) -> Floats:
        """Return the evidence that one side is ahead, also beyond what success explains."""
        ratios = evidence_of_lead(one.hits, one.draws, other.hits, other.draws)
        if one.unexplained is not one.hits:
            beyond = evidence_of_lead(one.unexplained, one.draws, other.unexplained, other.draws)
            # The smaller of two scores is a score against either null hypothesis.
            ratios = np.minimum(ratios, beyond)
        return np.where(self.exchangeable, ratios, 0.0)

    def most_possible(self) -> StratifiedEvidence:
        """Return the evidence if all draws of A were hits and none of B: nothing could be more."""
        none, compared = np.zeros_like(self.a.draws), self.signs.compared
        ratios = evidence_of_lead(self.a.draws, self.a.draws, none, self.b.draws)
        ratios = np.where(self.exchangeable, ratios, 0)
        losses, leads = np.zeros_like(compared), np.ones_like(self.signs.leads)
        return StratifiedEvidence(compared, losses, leads, ratios, self.exchangeable)


@dataclass(frozen=True)
class _CapabilityExecutions:
    """One side's executions of one capability, in order within each state."""

    stratum: Integers
    end: Integers
    position: Integers

    def tally(self, event: Mask, unexplained: Mask, exchangeable: Mask) -> StratumTally:
        """Count an event, given by the states after it, in every stratum."""
        size = len(exchangeable)
        hits = alone = np.bincount(self.stratum[event[self.end]], minlength=size)
        if unexplained is not event:
            alone = np.bincount(self.stratum[unexplained[self.end]], minlength=size)
        draws = np.bincount(self.stratum, minlength=size)
        if exchangeable.all():
            return StratumTally(hits, draws, alone, draws)
        places = self.position.max(initial=0) + 1
        seen = np.unique(self.stratum * places + self.position) // places
        positions = np.bincount(seen, minlength=size)
        return StratumTally(hits, draws, alone, np.where(exchangeable, draws, positions))


@dataclass(frozen=True)
class _ComparedExecutions:
    """The executions of one capability that are compared with each other in one way."""

    end_a: Integers
    end_b: Integers
    begins: Integers
    """Where each comparison begins."""
    stratum: Integers
    """The stratum of each comparison."""
    order: Integers
    """The comparisons in the order in which they could be made."""

    def lead(self, event: Mask) -> Integers:
        """Return 1 for executions with the event only on A's side, −1 only on B's, else 0."""
        return event[self.end_a].astype(np.int64) - event[self.end_b]

    def won(self, lead: Integers) -> Integers:
        """Return 1 for comparisons that A won, −1 for those that B won, else 0."""
        return np.sign(np.add.reduceat(lead, self.begins)) if len(self.begins) else lead

    def signs(self, won: Integers, strata: int) -> tuple[Integers, Integers, Integers]:
        """Count all comparisons of each stratum, those that A won, and those that B won."""
        which = self.stratum, self.stratum[won > 0], self.stratum[won < 0]
        compared, wins_a, wins_b = (np.bincount(some, minlength=strata) for some in which)
        return compared, wins_a, wins_b


class Questions:
    """Asks questions about one capability."""

    def __init__(self, matched: MatchedRuns, capability: int) -> None:
        self._matched = matched
        self.intent: Intent = matched.capabilities[capability]
        size = len(matched.states)
        pairs = np.array([capability * size, (capability + 1) * size])
        low, high = np.searchsorted(matched.strata.pair, pairs)
        self._states = matched.strata.pair[low:high] - pairs[0]
        self._exchangeable = matched.strata.exchangeable[low:high]
        self._a = _executions(matched.a, matched.strata.a, pairs, low)
        self._b = _executions(matched.b, matched.strata.b, pairs, low)
        self._compared = [_compared(matched, pairing, low, high) for pairing in matched.pairings]
        alternatives = map(matched.holding, self.intent.alternatives)
        self._achieved = reduce(np.logical_or, alternatives)

    def achieved(self) -> QuestionCounts:
        """Ask whether the intent holds afterward, in states where it does not hold before."""
        leads = [compared.lead(self._achieved) for compared in self._compared]
        return self._counts(self._achieved, self._achieved, leads, ~self._achieved)

    def becomes_true(self, literal: Literal) -> QuestionCounts:
        """Ask whether a literal becomes true, in states where neither it nor the intent holds.

        Where the intent holds an agent has nothing to do, and any side effect would look rare; so
        these states are a question of their own (`happens`).

        A change that comes with the intent is not a side effect compared with an execution that did
        not achieve it; such a comparison is a tie on either side, so the sign test stays fair. In
        the likelihood ratio, where draws have no counterpart, the literal must become true more
        often both overall and without the intent.
        """
        event = self._matched.holding([literal])
        both = ((way.lead(event), way.lead(self._achieved)) for way in self._compared)
        leads = [np.where(lead == ahead, 0, lead) for lead, ahead in both]
        return self._counts(event, event & ~self._achieved, leads, ~event & ~self._achieved)

    def happens(self, literals: Sequence[Literal], *, held: bool = False) -> QuestionCounts:
        """Ask whether literals become true, whether or not they come with the intent.

        With `held`, only in states in which the intent holds before.
        """
        event = self._matched.holding(literals)
        where = ~event & self._achieved if held else ~event
        return self._counts(event, event, [way.lead(event) for way in self._compared], where)

    def effects(self) -> set[Effect]:
        """Return what executions of either side changed."""
        states, sides = self._matched.states, (self._a, self._b)
        codes = [self._states[side.stratum] * len(states) + side.end for side in sides]
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

    def _counts(
        self, event: Mask, unexplained: Mask, leads: Sequence[Integers], where: Mask
    ) -> QuestionCounts:
        """Count an event in some of the states."""
        size, exchangeable = len(self._states), self._exchangeable
        won = [way.won(lead) for way, lead in zip(self._compared, leads, strict=True)]
        counted = [way.signs(one, size) for way, one in zip(self._compared, won, strict=True)]
        compared, wins_a, wins_b = (np.array(column) for column in zip(*counted, strict=True))
        possible = where[self._states]
        kept = np.flatnonzero(possible & (compared.sum(axis=0) > 0))
        first = self._compared[0]
        in_order = won[0][first.order][possible[first.stratum[first.order]]]
        signs = SignCounts(compared[:, kept], wins_a[:, kept], wins_b[:, kept], in_order)
        a, b = (
            side.tally(event, unexplained, exchangeable).of(kept) for side in (self._a, self._b)
        )
        return QuestionCounts(self._states[kept], exchangeable[kept], a, b, signs)


def _executions(
    side: SortedExecutions, strata: Integers, pairs: Integers, first: int
) -> _CapabilityExecutions:
    own = slice(*np.searchsorted(side.pair, pairs))
    return _CapabilityExecutions(strata[own] - first, side.end[own], side.position[own])


def _compared(matched: MatchedRuns, pairing: Pairing, low: int, high: int) -> _ComparedExecutions:
    own = slice(*np.searchsorted(pairing.stratum, (low, high)))
    begins = np.flatnonzero(np.diff(pairing.comparison[own], prepend=-1))
    a, b = pairing.rows_a[own], pairing.rows_b[own]
    # A comparison can be made when both runs have made their draw.
    made = np.maximum(matched.a.order[a], matched.b.order[b])[begins]
    stratum, order = pairing.stratum[own][begins] - low, np.argsort(made, kind="stable")
    return _ComparedExecutions(matched.a.end[a], matched.b.end[b], begins, stratum, order)


@dataclass(frozen=True)
class SubsetEvidence:
    """A subset of states in which one side is ahead, and how sure that is."""

    members: Mask
    """Which of the strata of the question it has."""
    literal: Literal | None
    """What holds in these states and in none of the others; None if no literal does."""
    wins: int
    losses: int
    log_evidence: float
    log_price: float
    """The price of looking in many subsets."""

    def adjusted_p(self, threshold: float, error_rate: float) -> float:
        """Return the smallest error rate, over everything compared, at which it is reported."""
        exceeded = self.log_evidence - self.log_price - threshold
        return min(error_rate * math.exp(min(-exceeded, 700.0)), 1.0)


class StateSubsets:
    """The subsets of states in which a question is tested: all, those with a literal, single ones.

    Four fifths of the error rate are for all states together, a tenth is divided among the literals
    and a tenth among the single states: where a change is small it needs every draw, and a change
    in a corner is rarely small. The subsets are made from the states alone, never from what was
    seen in them.
    """

    def __init__(self, states: Integers, matched: MatchedRuns) -> None:
        """Take the literals that hold in some of the states, one of those that agree."""
        which, self._begins, self._state = np.unique(states, return_index=True, return_inverse=True)
        size = len(which)
        bits, atoms = matched.bits[which], matched.vocabulary.atoms
        halves: dict[bytes, tuple[Literal, Mask]] = {}
        for positive in (True, False):
            held = bits if positive else ~bits
            # A literal of a single state would be tested twice.
            for i in np.flatnonzero((held.sum(axis=0) > 1) & ~held.all(axis=0)).tolist():
                halves.setdefault(held[:, i].tobytes(), (Literal(atoms[i], positive), held[:, i]))
        self._literals = [literal for literal, _ in halves.values()]
        groups = [half for _, half in halves.values()]
        self._groups = np.array(groups, dtype=bool).reshape(-1, size)[:, self._state]
        # A single state is everywhere, and has the whole error rate.
        self._whole_price = -math.log(_EVERYWHERE) if size > 1 else 0.0
        self._literal_price = math.log(max(len(halves), 1) / _LITERALS)
        self._state_price = math.log(size / _STATES)

    def best(self, evidence: StratifiedEvidence, threshold: float) -> SubsetEvidence | None:
        """Return the subset that shows best who is ahead; None if none reaches the threshold."""
        # Of subsets that show the same, the smallest omits states without a comparison.
        found = [
            *self._everywhere(evidence, threshold),
            *self._by_literal(evidence, threshold),
            *self._by_state(evidence, threshold),
        ]
        return max(found, key=lambda s: (s.log_evidence, -int(s.members.sum())), default=None)

    def _everywhere(
        self, evidence: StratifiedEvidence, threshold: float
    ) -> Iterator[SubsetEvidence]:
        _, wins, losses, score = evidence.everywhere()
        if score >= threshold + self._whole_price:
            members = np.ones(len(self._state), dtype=bool)
            yield SubsetEvidence(members, None, wins, losses, score, self._whole_price)

    def _by_literal(
        self, evidence: StratifiedEvidence, threshold: float
    ) -> Iterator[SubsetEvidence]:
        groups, price = self._groups.astype(np.float64), self._literal_price
        thresholds = np.full(len(groups), threshold + price)
        for i, wins, losses, score in evidence.reaching(lambda values: groups @ values, thresholds):
            literal = self._literals[i]
            yield SubsetEvidence(self._groups[i], literal, wins, losses, score, price)

    def _by_state(self, evidence: StratifiedEvidence, threshold: float) -> Iterator[SubsetEvidence]:
        if len(self._begins) < 2:
            return
        thresholds = np.full(len(self._begins), threshold + self._state_price)
        # The strata of a state are contiguous.
        found = evidence.reaching(lambda v: np.add.reduceat(v, self._begins), thresholds)
        for i, wins, losses, score in found:
            yield SubsetEvidence(self._state == i, None, wins, losses, score, self._state_price)
