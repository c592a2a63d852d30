"""Count, stratum by stratum, what the two runs showed of one question.

A question is about one capability: is its intent achieved, or does a literal beyond the intent come
about? Pooled over states the two runs could differ only in where they asked. So every count is
within a state, or within a position where a state has several (`matching`), and what is summed are
tosses (`coins`), each of them fair under its own stratum's probability.

States are never grouped by what was seen in them. The rules of a model are: states that showed the
same outcomes. To compare within a rule would choose the states by their answers, and find
differences between an agent and itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np

from capscope.analysis.diff.matching import Mask, Matched, Pairing, Track
from capscope.record.query_table import Column as Numbers
from capscope.statistics.betting import Scores
from capscope.statistics.likelihood_ratio import Bets, log_odds
from capscope.symbolic import Effect, ExactlyOne, Intent, Literal


@dataclass(frozen=True)
class Tally:
    """Of each stratum: how often an event came about on one side."""

    hits: Numbers
    draws: Numbers
    plain: Numbers
    """Hits that no success of the same execution may explain."""
    witnesses: Numbers
    """Draws, or positions where draws are not known to be alike."""

    def of(self, rows: Numbers) -> Tally:
        """Return the counts of some strata."""
        return Tally(*(c[rows] for c in (self.hits, self.draws, self.plain, self.witnesses)))


@dataclass(frozen=True)
class Tosses:
    """Of each way to match draws and each stratum: comparisons of a witness with a witness."""

    all: Numbers
    """Those that ended alike included."""
    wins_a: Numbers
    wins_b: Numbers
    """Won by one side: the event came about there and not, or less often, on the other."""

    def of(self, rows: Numbers) -> Tosses:
        """Return the tosses in some strata."""
        return Tosses(self.all[:, rows], self.wins_a[:, rows], self.wins_b[:, rows])


@dataclass(frozen=True)
class Counts:
    """The counts of a question wherever both sides can answer it; one row a stratum."""

    states: Numbers
    """The state of each stratum; those of a state stand together."""
    alike: Mask
    """The strata in which all draws are alike."""
    a: Tally
    b: Tally
    tosses: Tosses

    @property
    def weights(self) -> Numbers:
        """How much of what can be compared is in each stratum: draws, or positions."""
        return np.where(
            self.alike,
            self.tosses.all[0],
            np.minimum(self.a.witnesses, self.b.witnesses),
        )

    def bets(self) -> tuple[Bets, Bets]:
        """Bet on A being ahead, and on B."""
        tosses = self.tosses
        for_a, for_b = (
            np.where(self.alike, self._odds(*sides), 0.0)
            for sides in ((self.a, self.b), (self.b, self.a))
        )
        return (
            Bets(tosses.wins_a, tosses.wins_b, for_a, self.alike),
            Bets(tosses.wins_b, tosses.wins_a, for_b, self.alike),
        )

    @staticmethod
    def _odds(one: Tally, other: Tally) -> Scores:
        """Bet on one side being ahead in the event, and in it beyond what success explains.

        The smaller of two bets is a bet against either: both have to be won.
        """
        at_all = log_odds(one.hits, one.draws, other.hits, other.draws)
        if one.plain is one.hits:
            return at_all
        return np.minimum(at_all, log_odds(one.plain, one.draws, other.plain, other.draws))

    def most_possible(self) -> Bets:
        """Bet on A as if all its draws had been hits and B's none: no counts could show more."""
        nothing = np.zeros_like(self.a.draws)
        odds = np.where(self.alike, log_odds(self.a.draws, self.a.draws, nothing, self.b.draws), 0)
        return Bets(self.tosses.all, np.zeros_like(self.tosses.all), odds, self.alike)


@dataclass(frozen=True)
class _Part:
    """One side's executions of one capability, in order within each state."""

    stratum: Numbers
    end: Numbers
    position: Numbers

    def tally(self, event: Mask, plain: Mask, alike: Mask) -> Tally:
        """Count an event, which is one of the state afterwards, in every stratum."""
        size = len(alike)
        hits = np.bincount(self.stratum[event[self.end]], minlength=size)
        alone = hits
        if plain is not event:
            alone = np.bincount(self.stratum[plain[self.end]], minlength=size)
        draws = np.bincount(self.stratum, minlength=size)
        if alike.all():
            return Tally(hits, draws, alone, draws)
        places = self.position.max(initial=0) + 1
        positions = np.bincount(
            np.unique(self.stratum * places + self.position) // places, minlength=size
        )
        return Tally(hits, draws, alone, np.where(alike, draws, positions))


@dataclass(frozen=True)
class _Compared:
    """The executions of one capability that are set against each other in one way."""

    end_a: Numbers
    end_b: Numbers
    begins: Numbers
    """Where each toss begins."""
    stratum: Numbers
    """The stratum of each toss."""

    def lead(self, event: Mask) -> Numbers:
        """Say of each comparison whether the event is on A's side only (1) or on B's (−1)."""
        return event[self.end_a].astype(np.int64) - event[self.end_b]

    def tossed(self, lead: Numbers, strata: int) -> tuple[Numbers, Numbers, Numbers]:
        """Count all tosses of each stratum, those that A won, and those that B won."""
        won = np.sign(np.add.reduceat(lead, self.begins)) if len(self.begins) else lead
        tossed = self.stratum, self.stratum[won > 0], self.stratum[won < 0]
        every, wins_a, wins_b = (np.bincount(which, minlength=strata) for which in tossed)
        return every, wins_a, wins_b


class Questions:
    """Asks questions about one capability."""

    def __init__(self, matched: Matched, capability: int) -> None:
        self._matched = matched
        self.intent: Intent = matched.capabilities[capability]
        size = len(matched.states)
        pairs = np.array([capability * size, (capability + 1) * size])
        low, high = np.searchsorted(matched.strata.pair, pairs)
        self._states = matched.strata.pair[low:high] - pairs[0]
        self._alike = matched.strata.alike[low:high]
        self._a, self._b = (
            _part(track, strata, pairs, low)
            for track, strata in ((matched.a, matched.strata.a), (matched.b, matched.strata.b))
        )
        self._compared = [_compared(matched, pairing, low, high) for pairing in matched.pairings]
        self._achieved = matched.holding(self.intent.literals)

    def achieved(self) -> Counts:
        """Ask whether the intent holds afterwards, in states where it does not hold before."""
        leads = [compared.lead(self._achieved) for compared in self._compared]
        return self._counts(self._achieved, self._achieved, leads)

    def comes_about(self, literal: Literal) -> Counts:
        """Ask whether a literal comes about, in states where it does not hold before.

        What comes about along with the intent is no side effect against an execution that did not
        achieve it: a capability gained brings its own changes. So such a comparison counts as even.
        It does not matter on which side that is, so the coin stays fair. In the odds, where draws
        have no counterpart, it must come about more often both at all and without the intent: a
        step on the way is no new side effect of an agent that now fails after it.
        """
        came = self._matched.holding([literal])
        leads = []
        for compared in self._compared:
            lead, ahead = compared.lead(came), compared.lead(self._achieved)
            leads.append(np.where(lead == ahead, 0, lead))
        return self._counts(came, came & ~self._achieved, leads)

    def effects(self) -> set[Effect]:
        """Return what executions of either side changed."""
        states = self._matched.states
        codes = [
            np.unique(self._states[part.stratum] * len(states) + part.end)
            for part in (self._a, self._b)
        ]
        ends = (divmod(code, len(states)) for code in np.unique(np.concatenate(codes)).tolist())
        return {Effect.between(states[before], states[after]) for before, after in ends}

    def literals_changed(self, groups: ExactlyOne) -> tuple[Literal, ...]:
        """List the literals beyond the intent that an execution of either side brought about.

        To ask for one atom of which exactly one holds is to ask for the end of the others. The
        other way round, where an agent goes that is asked to leave is a question.
        """
        vocabulary = self._matched.words.vocabulary
        required, forbidden = vocabulary.literal_masks(self.intent.literals)
        asked = Effect(required, forbidden | groups.rivals(required))
        adds, deletes = (reduce(or_, bits) for bits in zip((0, 0), *self.effects(), strict=True))
        return Effect(adds & ~asked.adds, deletes & ~asked.deletes).literals(vocabulary)

    def _counts(self, event: Mask, plain: Mask, leads: Sequence[Numbers]) -> Counts:
        """Count an event in the states in which it is not the case already."""
        size = len(self._states)
        tossed = [
            compared.tossed(lead, size)
            for compared, lead in zip(self._compared, leads, strict=True)
        ]
        tosses = Tosses(*(np.array(column) for column in zip(*tossed, strict=True)))
        kept = np.flatnonzero(~event[self._states] & (tosses.all.sum(axis=0) > 0))
        a, b = (part.tally(event, plain, self._alike).of(kept) for part in (self._a, self._b))
        return Counts(self._states[kept], self._alike[kept], a, b, tosses.of(kept))


def _part(track: Track, strata: Numbers, pairs: Numbers, first: int) -> _Part:
    low, high = np.searchsorted(track.pair, pairs)
    return _Part(strata[low:high] - first, track.end[low:high], track.position[low:high])


def _compared(matched: Matched, pairing: Pairing, low: int, high: int) -> _Compared:
    begin, end = np.searchsorted(pairing.stratum, (low, high))
    begins = np.flatnonzero(np.diff(pairing.toss[begin:end], prepend=-1))
    return _Compared(
        matched.a.end[pairing.rows_a[begin:end]],
        matched.b.end[pairing.rows_b[begin:end]],
        begins,
        pairing.stratum[begin:end][begins] - low,
    )
