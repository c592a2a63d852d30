"""Count, state by state, what the two runs showed of one question.

A question is about one capability: is its intent achieved, or does a literal beyond the intent come
about? Pooled over states the two runs could differ only in where they asked. So every count is
within a state, and what is summed over states are tosses (`coins`), each of them fair under its own
state's probability.

States are never grouped by what was seen in them. The rules of a model are: states that showed the
same outcomes. To compare within a rule would choose the states by their answers, and find
differences between an agent and itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np

from capscope.data.executions import Numbers
from capscope.difference.matching import Mask, Matched, Track
from capscope.difference.odds import Bets, log_odds
from capscope.findings.statistics import Scores
from capscope.symbolic import Effect, ExactlyOne, Intent, Literal


@dataclass(frozen=True)
class Tally:
    """Of each state: how often an event came about on one side."""

    hits: Numbers
    draws: Numbers
    plain: Numbers
    """Hits that no success of the same execution may explain."""
    witnesses: Numbers
    """Draws, or positions where one state has several."""


@dataclass(frozen=True)
class Strata:
    """The counts of a question in every state where both sides can answer it."""

    states: Numbers
    single: Mask
    """The states known in one position only: all their draws are alike."""
    a: Tally
    b: Tally
    tosses: Numbers
    """Comparisons of a witness with a witness, those that ended alike included."""
    wins_a: Numbers
    wins_b: Numbers
    """Tosses that one side won: the event came about there and not, or less often, on the other."""

    def bets(self) -> tuple[Bets, Bets]:
        """Bet on A being ahead, and on B."""
        for_a, for_b = (
            np.where(self.single, self._odds(*sides), 0.0)
            for sides in ((self.a, self.b), (self.b, self.a))
        )
        return Bets(self.wins_a, self.wins_b, for_a), Bets(self.wins_b, self.wins_a, for_b)

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
        nothing = np.zeros_like(self.tosses)
        odds = log_odds(self.a.draws, self.a.draws, nothing, self.b.draws)
        return Bets(self.tosses, nothing, np.where(self.single, odds, 0.0))


@dataclass(frozen=True)
class _Part:
    """One side's executions of one capability, in order within each state."""

    state: Numbers
    end: Numbers
    witness: Numbers
    compared: Numbers
    """The rows that have a counterpart on the other side, which stand in the same order there."""

    def tally(self, event: Mask, plain: Mask, kept: Numbers) -> Tally:
        """Count an event, which is one of the state afterwards, in some of the states."""
        size = len(event)
        hits = np.bincount(self.state[event[self.end]], minlength=size)[kept]
        alone = hits
        if plain is not event:
            alone = np.bincount(self.state[plain[self.end]], minlength=size)[kept]
        draws = np.bincount(self.state, minlength=size)
        witnesses = np.zeros(size, dtype=np.int64)
        witnesses[self.state] = self.witness + 1  # the last row of a state has its last witness
        return Tally(hits, draws[kept], alone, witnesses[kept])


class Questions:
    """Asks questions about one capability."""

    def __init__(self, matched: Matched, capability: int) -> None:
        self._matched = matched
        self.intent: Intent = matched.capabilities[capability]
        self._a = _part(matched, matched.a, matched.rows_a, capability)
        self._b = _part(matched, matched.b, matched.rows_b, capability)
        self._achieved = matched.holding(self.intent.literals)

    def achieved(self) -> Strata:
        """Ask whether the intent holds afterwards, in states where it does not hold before."""
        return self._strata(self._achieved, self._achieved, self._lead(self._achieved))

    def comes_about(self, literal: Literal) -> Strata:
        """Ask whether a literal comes about, in states where it does not hold before.

        What comes about along with the intent is no side effect against an execution that did not
        achieve it: a capability gained brings its own changes. So such a comparison counts as even.
        It does not matter on which side that is, so the coin stays fair. In the odds, where draws
        have no counterpart, it must come about more often both at all and without the intent: a
        step on the way is no new side effect of an agent that now fails after it.
        """
        came = self._matched.holding([literal])
        lead, ahead = self._lead(came), self._lead(self._achieved)
        return self._strata(came, came & ~self._achieved, np.where(lead == ahead, 0, lead))

    def effects(self) -> set[Effect]:
        """Return what executions of either side changed."""
        states = self._matched.states
        codes = [np.unique(part.state * len(states) + part.end) for part in (self._a, self._b)]
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

    def _lead(self, event: Mask) -> Numbers:
        """Say of each draw compared whether the event is on A's side only (1) or on B's (−1)."""
        on_a, on_b = (event[part.end[part.compared]] for part in (self._a, self._b))
        return on_a.astype(np.int64) - on_b

    def _strata(self, event: Mask, plain: Mask, lead: Numbers) -> Strata:
        """Count an event in the states in which it is not the case already."""
        a, size = self._a, len(event)
        state, witness = a.state[a.compared], a.witness[a.compared]
        # The draws of a witness are together one toss.
        code = state * (witness.max(initial=0) + 1) + witness
        begins = np.flatnonzero(np.diff(code, prepend=-1))
        won = np.sign(np.add.reduceat(lead, begins)) if len(begins) else lead
        tossed = state[begins]
        tosses = np.bincount(tossed, minlength=size)
        kept = np.flatnonzero(~event & (tosses > 0))
        return Strata(
            kept,
            ~self._matched.several[kept],
            a.tally(event, plain, kept),
            self._b.tally(event, plain, kept),
            tosses[kept],
            np.bincount(tossed[won > 0], minlength=size)[kept],
            np.bincount(tossed[won < 0], minlength=size)[kept],
        )


def _part(matched: Matched, track: Track, rows: Numbers, capability: int) -> _Part:
    size = len(matched.states)
    ends = np.array([capability * size, (capability + 1) * size])
    low, high = np.searchsorted(track.pair, ends)
    first, last = np.searchsorted(rows, (low, high))
    return _Part(
        track.pair[low:high] - ends[0],
        track.end[low:high],
        track.witness[low:high],
        rows[first:last] - low,
    )
