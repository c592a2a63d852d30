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

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from capscope.data.executions import Numbers
from capscope.difference.matching import Mask, Matched, Track
from capscope.symbolic import Effect, Intent, Literal


@dataclass(frozen=True)
class Tally:
    """Of each state: how often an event came about on one side."""

    hits: Numbers
    draws: Numbers
    witnesses: Numbers
    """Draws, or positions where one state has several."""


@dataclass(frozen=True)
class Strata:
    """The counts of a question in every state where both sides can answer it."""

    states: Numbers
    a: Tally
    b: Tally
    tosses: Numbers
    """Comparisons of a witness with a witness, those that ended alike included."""
    wins_a: Numbers
    wins_b: Numbers
    """Tosses that one side won: the event came about there and not, or less often, on the other."""


@dataclass(frozen=True)
class _Rows:
    """The executions of one capability, with states instead of pairs."""

    state_a: Numbers
    end_a: Numbers
    witness_a: Numbers
    state_b: Numbers
    end_b: Numbers
    witness_b: Numbers
    compared_a: Numbers
    compared_b: Numbers


class Questions:
    """Asks questions about one capability."""

    def __init__(self, matched: Matched, capability: int) -> None:
        self._matched = matched
        self._size = len(matched.states)
        self.intent: Intent = matched.capabilities[capability]
        self._rows = self._select(capability)
        self._achieved = matched.holding(self.intent.literals)

    def _select(self, capability: int) -> _Rows:
        matched, size = self._matched, self._size
        ends = np.array([capability * size, (capability + 1) * size])

        def columns(track: Track) -> tuple[int, Numbers, Numbers, Numbers]:
            low, high = np.searchsorted(track.pair, ends)
            part = slice(low, high)
            return int(low), track.pair[part] - ends[0], track.end[part], track.witness[part]

        first_a, *a = columns(matched.a)
        first_b, *b = columns(matched.b)
        low, high = np.searchsorted(matched.a.pair[matched.rows_a], ends)
        rows = matched.rows_a[low:high] - first_a, matched.rows_b[low:high] - first_b
        return _Rows(*a, *b, *rows)

    def achieved(self) -> Strata:
        """Ask whether the intent holds afterwards, in states where it does not hold before."""
        rows, reached = self._rows, self._achieved
        return self._strata(~reached, reached, _lead(reached, rows))

    def comes_about(self, literal: Literal) -> Strata:
        """Ask whether a literal comes about, in states where it does not hold before.

        What comes about along with the intent is no side effect against an execution that did not
        achieve it: a capability gained brings its own changes. So such a comparison counts as even.
        It does not matter on which side that is, so the coin stays fair.
        """
        rows, reached = self._rows, self._achieved
        came = self._matched.holding([literal])
        lead, ahead = _lead(came, rows), _lead(reached, rows)
        lead = np.where((lead != 0) & (lead == ahead), 0, lead)
        return self._strata(~came, came, lead)

    def literals_changed(self) -> Iterator[Literal]:
        """List the literals beyond the intent that an execution of either side brought about."""
        rows, states = self._rows, self._matched.states
        pairs = np.concatenate(
            [np.stack([rows.state_a, rows.end_a]), np.stack([rows.state_b, rows.end_b])], axis=1
        )
        adds = deletes = 0
        for code in np.unique(pairs[0] * self._size + pairs[1]).tolist():
            before, after = divmod(code, self._size)
            effect = Effect.between(states[before], states[after])
            adds |= effect.adds
            deletes |= effect.deletes
        vocabulary = self._matched.words.vocabulary
        for literal in Effect(adds, deletes).literals(vocabulary):
            if literal not in self.intent.literals:
                yield literal

    def _strata(self, asked: Mask, event: Mask, lead: Numbers) -> Strata:
        """Count in the states that are asked about; `lead` says in which draws A is ahead."""
        rows, size = self._rows, self._size
        state = rows.state_a[rows.compared_a]
        witness = rows.witness_a[rows.compared_a]
        # The draws of a witness are together one toss.
        code = state * (witness.max(initial=0) + 1) + witness
        begins = np.flatnonzero(np.r_[True, code[1:] != code[:-1]]) if len(code) else code
        won = np.sign(np.add.reduceat(lead, begins)) if len(code) else lead
        tossed = state[begins]
        tosses = np.bincount(tossed, minlength=size)
        kept = np.flatnonzero(asked & (tosses > 0))
        return Strata(
            kept,
            self._tally(rows.state_a, rows.end_a, rows.witness_a, event, kept),
            self._tally(rows.state_b, rows.end_b, rows.witness_b, event, kept),
            tosses[kept],
            np.bincount(tossed[won > 0], minlength=size)[kept],
            np.bincount(tossed[won < 0], minlength=size)[kept],
        )

    def _tally(
        self, state: Numbers, end: Numbers, witness: Numbers, event: Mask, kept: Numbers
    ) -> Tally:
        size = self._size
        hits = np.bincount(state[event[end]], minlength=size)
        draws = np.bincount(state, minlength=size)
        witnesses = np.zeros(size, dtype=np.int64)
        witnesses[state] = witness + 1  # the last row of a state has its last witness
        return Tally(hits[kept], draws[kept], witnesses[kept])


def _lead(event: Mask, rows: _Rows) -> Numbers:
    """Say of each draw compared whether the event came about on A's side only (1) or B's (−1)."""
    on_a = event[rows.end_a[rows.compared_a]].astype(np.int64)
    return on_a - event[rows.end_b[rows.compared_b]]
