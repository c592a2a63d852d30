"""Find what two runs have in common: atoms, capabilities, states, and draws to compare.

Atoms are matched by name, so that a vocabulary may have grown between two versions; a state is then
what the shared atoms say of it. Capabilities are matched by their literals. Draws are matched in
order (`coins` says why): the i-th of a state in one run with the i-th of it in the other.

A state that is known in more than one position is divided into strata: one for each past (`pasts`)
that executions of both runs have, above all for each position in which both were asked, and one for
the rest. There are two ways to match its draws then, and both are tried. *Draw by draw*: the i-th
of a stratum with the i-th, as in a state with one position; the rest is left out. *Position by
position*: the i-th position of one run with the i-th of the other, whatever they are, and within
it draw with draw.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from capscope.data.executions import Numbers
from capscope.difference.pasts import pasts_of
from capscope.difference.side import Side
from capscope.errors import CapscopeError
from capscope.symbolic import Intent, Literal, State, Vocabulary
from capscope.symbolic.dnf import bit_matrix

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Words:
    """The atoms that both vocabularies have, in the bits of the first."""

    vocabulary: Vocabulary
    shared: State
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]

    def knows(self, intent: Intent) -> bool:
        """Say whether both sides have every atom of an intent."""
        bits = self.vocabulary.bit
        return all(bits.get(literal.atom, 0) & self.shared for literal in intent.literals)


@dataclass(frozen=True)
class Track:
    """The executions of one side; those of a pair, and within it of a witness, stand together."""

    made: Numbers
    """When it was made, counted in executions."""
    pair: Numbers
    """The capability's number times the number of states, plus the state's."""
    end: Numbers
    past: Numbers
    """What is known of where it stood; 0 in states with one position."""
    witness: Numbers
    """Counts within the pair what may count as independent: draws, or positions."""
    turn: Numbers
    """Counts the draws of one witness."""

    def kept(self, mask: Mask) -> Track:
        """Return some of the executions."""
        columns = self.made, self.pair, self.end, self.past, self.witness, self.turn
        return Track(*(column[mask] for column in columns))


@dataclass(frozen=True)
class Pairing:
    """Executions that are set against each other, one to one."""

    rows_a: Numbers
    rows_b: Numbers
    """Their places in the tracks of the two sides."""
    toss: Numbers
    """Those with the same number are one toss together; it grows."""
    stratum: Numbers
    """The stratum that they are counted in; it grows."""


@dataclass(frozen=True)
class Strata:
    """The strata of all pairs that both sides tried, those of a pair together."""

    pair: Numbers
    alike: Mask
    """Whether all draws of a stratum are draws from one distribution, if the agents are alike."""
    a: Numbers
    b: Numbers
    """Of each row of the two tracks its stratum."""


@dataclass(frozen=True)
class Matched:
    """Both runs in the same numbers."""

    words: Words
    capabilities: tuple[Intent, ...]
    states: tuple[State, ...]
    """Every state that one of the runs met, reduced to the shared atoms."""
    several: Mask
    """The states known in several positions."""
    a: Track
    b: Track
    """Of the pairs that both sides tried."""
    strata: Strata
    pairings: tuple[Pairing, ...]
    """The ways in which draws are matched; one will do if no state has several positions."""

    @cached_property
    def bits(self) -> Mask:
        """One row a state, one column an atom."""
        return bit_matrix(self.states, len(self.words.vocabulary.atoms))

    def holding(self, literals: Sequence[Literal]) -> Mask:
        """Say of each state whether all the literals hold."""
        column = {atom: i for i, atom in enumerate(self.words.vocabulary.atoms)}
        held = np.ones(len(self.states), dtype=bool)
        for literal in literals:
            held &= self.bits[:, column[literal.atom]] == literal.positive
        return held


def match(a: Side, b: Side, *, any_position: bool = False) -> Matched:
    """Bring two runs into the same numbers; with `any_position` all positions count as alike."""
    words = shared_words(a, b)
    theirs = set(b.intents)
    capabilities = tuple(i for i in a.intents if i in theirs and words.knows(i))
    projected = [_projected(side, words) for side in (a, b)]
    states = tuple(dict.fromkeys(state for found in projected for state in found))
    number = {state: i for i, state in enumerate(states)}
    numbers = [np.array([number[s] for s in found], dtype=np.int64) for found in projected]
    several = _several_positions((a, b), numbers, len(states))
    if any_position:
        several = np.zeros_like(several)
    pasts = pasts_of((a, b), numbers, several) if several.any() else [np.zeros(1, np.int64)] * 2
    tracks = [
        _track(side, capabilities, own, several, past)
        for side, own, past in zip((a, b), numbers, pasts, strict=True)
    ]
    both = np.intersect1d(tracks[0].pair, tracks[1].pair)
    first, second = (track.kept(np.isin(track.pair, both)) for track in tracks)
    strata = _strata(first, second, both, several)
    pairings = [_draw_by_draw(first, second, strata)]
    if several[both % max(len(states), 1)].any():
        pairings.append(_position_by_position(first, second, strata))
    return Matched(words, capabilities, states, several, first, second, strata, tuple(pairings))


def shared_words(a: Side, b: Side) -> Words:
    """Match atoms by name, or say that the runs speak of different worlds."""
    mine, theirs = a.vocabulary, b.vocabulary
    shared = [atom for atom in mine.atoms if atom in theirs.bit]
    if not shared:
        raise CapscopeError(
            f"{a.path} ({a.problem}) and {b.path} ({b.problem}) have no atom in common; compare "
            "runs that describe the same world in the same words"
        )
    return Words(
        mine,
        mine.state(shared),
        tuple(str(atom) for atom in mine.atoms if atom not in theirs.bit),
        tuple(str(atom) for atom in theirs.atoms if atom not in mine.bit),
    )


def _projected(side: Side, words: Words) -> list[State]:
    """Write the states of a side in the bits of the shared atoms."""
    if side.vocabulary.fingerprint == words.vocabulary.fingerprint:
        return [state & words.shared for state in side.states]
    moves = [
        (bit, words.vocabulary.bit[atom])
        for atom, bit in side.vocabulary.bit.items()
        if words.vocabulary.bit.get(atom, 0) & words.shared
    ]
    return [sum(to for bit, to in moves if state & bit) for state in side.states]


def _several_positions(sides: Sequence[Side], numbers: Sequence[Numbers], states: int) -> Mask:
    """Say of each state whether the two runs together know it in more than one position."""
    known: defaultdict[int, set[bytes]] = defaultdict(set)
    for side, own in zip(sides, numbers, strict=True):
        for state, positions in side.positions.items():
            known[int(own[state])] |= positions
    several = np.zeros(states, dtype=bool)
    several[[state for state, positions in known.items() if len(positions) > 1]] = True
    return several


def _track(
    side: Side, capabilities: Sequence[Intent], own: Numbers, several: Mask, past: Numbers
) -> Track:
    made = side.executions
    place = {intent: i for i, intent in enumerate(capabilities)}
    wanted = np.array([place.get(intent, -1) for intent in side.intents], dtype=np.int64)
    kept = wanted[made.capability] >= 0 if len(wanted) else np.zeros(0, dtype=bool)
    state = own[made.before[kept]]
    pair = wanted[made.capability[kept]] * len(several) + state
    # A draw is a witness of its own unless its state is known in several positions.
    draws = made.position.max(initial=0) + 1 + np.arange(len(state))
    position = np.where(several[state], made.position[kept], draws)
    _, first, source = np.unique(
        pair * (position.max(initial=0) + 1) + position, return_index=True, return_inverse=True
    )
    heard = first[source]
    # In the order in which the witnesses of a pair were first heard, and each in its own.
    order = np.lexsort((heard, pair))
    pair, heard = pair[order], heard[order]
    known = np.where(several[state], np.broadcast_to(past, made.before.shape)[kept] + 1, 0)
    new = _differs(heard)
    return Track(
        order,
        pair,
        own[made.after[kept]][order],
        known[order],
        _since(np.cumsum(new), _differs(pair)),
        _since(np.arange(len(pair)), new),
    )


def _differs(values: Numbers) -> Mask:
    """Say of each value whether it begins a run of equal ones."""
    starts = np.ones(len(values), dtype=bool)
    starts[1:] = values[1:] != values[:-1]
    return starts


def _since(count: Numbers, starts: Mask) -> Numbers:
    """Let a count that grows begin at zero with each start."""
    since: Numbers = count - np.maximum.accumulate(np.where(starts, count, 0))
    return since


def _strata(a: Track, b: Track, pairs: Numbers, several: Mask) -> Strata:
    """Give each past that both sides have in a pair a stratum, and what is left one more."""
    pasts = 1 + max(track.past.max(initial=0) for track in (a, b))
    codes = [track.pair * pasts + track.past for track in (a, b)]
    shared = np.intersect1d(*codes)
    # A past is at least 1 where there are several positions, so 0 is free for the rest.
    known = np.union1d(shared, pairs * pasts)
    which = [
        np.searchsorted(known, np.where(np.isin(code, shared), code, track.pair * pasts))
        for code, track in zip(codes, (a, b), strict=True)
    ]
    pair, past = np.divmod(known, pasts)
    alike = (past > 0) | ~several[pair % max(len(several), 1)]
    return Strata(pair, alike, which[0], which[1])


def _draw_by_draw(a: Track, b: Track, strata: Strata) -> Pairing:
    """Match the i-th draw of a stratum with the i-th, where all of them are alike."""
    turns = 1 + max(len(strata.a), len(strata.b))

    def in_order(track: Track, stratum: Numbers) -> tuple[Numbers, Numbers]:
        rows = np.lexsort((track.made, stratum))
        rows = rows[strata.alike[stratum[rows]]]
        turn = _since(np.arange(len(rows)), _differs(stratum[rows]))
        return rows, stratum[rows] * turns + turn

    (rows_a, mine), (rows_b, theirs) = in_order(a, strata.a), in_order(b, strata.b)
    _, in_a, in_b = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
    rows_a, rows_b = rows_a[in_a], rows_b[in_b]
    return Pairing(rows_a, rows_b, np.arange(len(rows_a)), strata.a[rows_a])


def _position_by_position(a: Track, b: Track, strata: Strata) -> Pairing:
    """Match the i-th witness of a pair with the i-th, and within it draw with draw."""
    witnesses = 1 + max(t.witness.max(initial=0) for t in (a, b))
    turns = 1 + max(t.turn.max(initial=0) for t in (a, b))
    mine, theirs = ((t.pair * witnesses + t.witness) * turns + t.turn for t in (a, b))
    codes, rows_a, rows_b = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
    # The first stratum of a pair is that of the rest, or the only one.
    stratum = np.searchsorted(strata.pair, a.pair[rows_a])
    return Pairing(rows_a, rows_b, codes // turns, stratum)
