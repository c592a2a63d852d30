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

from capscope.analysis.diff.histories import pasts_of
from capscope.analysis.diff.run_data import Side
from capscope.errors import CapscopeError
from capscope.record.query_table import Column as Numbers
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
    """The executions of one side; those of a pair stand together, in the order they were made."""

    pair: Numbers
    """The capability's number times the number of states, plus the state's; it grows."""
    end: Numbers
    position: Numbers
    """The one that the draw started from."""
    past: Numbers
    """What is known of where it stood; 0 in states with one position."""

    def kept(self, mask: Mask) -> Track:
        """Return some of the executions."""
        return Track(*(c[mask] for c in (self.pair, self.end, self.position, self.past)))


@dataclass(frozen=True)
class Pairing:
    """Executions that are set against each other, one to one."""

    rows_a: Numbers
    rows_b: Numbers
    """Their places in the tracks of the two sides."""
    toss: Numbers
    """Those with the same number are one toss together; they stand together."""
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
    pasts = pasts_of((a, b), numbers, several) if several.any() else [None, None]
    tracks = [
        _track(side, capabilities, own, several, past)
        for side, own, past in zip((a, b), numbers, pasts, strict=True)
    ]
    tried_a, tried_b = (track.pair[_differs(track.pair)] for track in tracks)
    pairs = np.intersect1d(tried_a, tried_b, assume_unique=True)
    first, second = (track.kept(np.isin(track.pair, pairs)) for track in tracks)
    strata = _strata(first, second, pairs, several)
    pairings = _pairings(first, second, strata)
    return Matched(words, capabilities, states, several, first, second, strata, pairings)


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
    side: Side, capabilities: Sequence[Intent], own: Numbers, several: Mask, past: Numbers | None
) -> Track:
    made = side.executions
    place = {intent: i for i, intent in enumerate(capabilities)}
    wanted = np.array([place.get(intent, -1) for intent in side.intents], dtype=np.int64)
    kept = wanted[made.capability] >= 0 if len(wanted) else np.zeros(0, dtype=bool)
    state = own[made.before[kept]]
    pair = wanted[made.capability[kept]] * len(several) + state
    order = np.argsort(pair, kind="stable")
    known = np.zeros_like(pair) if past is None else np.where(several[state], past[kept] + 1, 0)
    columns = pair, own[made.after[kept]], made.position[kept], known
    return Track(*(column[order] for column in columns))


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
    tracks = a, b
    # Both have all of these pairs, in this order.
    in_a, in_b = (np.cumsum(_differs(track.pair)) - 1 for track in tracks)
    state = pairs % max(len(several), 1)
    if not several[state].any():
        return Strata(pairs, np.ones(len(pairs), dtype=bool), in_a, in_b)
    pasts = 1 + max(track.past.max(initial=0) for track in tracks)
    codes = [which * pasts + track.past for which, track in zip((in_a, in_b), tracks, strict=True)]
    (found_a, of_a), (found_b, of_b) = (np.unique(code, return_inverse=True) for code in codes)
    shared = np.intersect1d(found_a, found_b, assume_unique=True)
    # A past is at least 1 where there are several positions, so 0 is free for the rest.
    known = np.union1d(shared, np.arange(len(pairs)) * pasts)
    strata_a, strata_b = (
        np.searchsorted(known, np.where(np.isin(found, shared), found, found // pasts * pasts))
        for found in (found_a, found_b)
    )
    pair, past = np.divmod(known, pasts)
    alike = (past > 0) | ~several[state[pair]]
    return Strata(pairs[pair], alike, strata_a[of_a], strata_b[of_b])


def _pairings(a: Track, b: Track, strata: Strata) -> tuple[Pairing, ...]:
    """Match draw by draw; where that leaves something out, position by position as well."""
    draws = _draw_by_draw(strata)
    if strata.alike.all():
        return (draws,)
    # The first stratum of a pair is that of the rest, or the only one.
    first = np.searchsorted(strata.pair, strata.pair)
    divided = ~strata.alike[first]
    alone = ~divided[draws.stratum]
    positions = _position_by_position(a, b, strata, divided)
    toss = np.append(draws.toss[alone], positions.toss + len(draws.toss))
    stratum = np.append(draws.stratum[alone], first[positions.stratum])
    rows_a = np.append(draws.rows_a[alone], positions.rows_a)
    rows_b = np.append(draws.rows_b[alone], positions.rows_b)
    order = np.argsort(stratum, kind="stable")
    return draws, Pairing(rows_a[order], rows_b[order], toss[order], stratum[order])


def _draw_by_draw(strata: Strata) -> Pairing:
    """Match the i-th draw of a stratum with the i-th, where all of them are alike."""
    turns = 1 + max(len(strata.a), len(strata.b))

    def in_order(stratum: Numbers) -> tuple[Numbers, Numbers]:
        rows = np.flatnonzero(strata.alike[stratum])
        rows = rows[np.argsort(stratum[rows], kind="stable")]
        return rows, stratum[rows] * turns + _since(np.arange(len(rows)), _differs(stratum[rows]))

    (rows_a, mine), (rows_b, theirs) = in_order(strata.a), in_order(strata.b)
    _, in_a, in_b = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
    rows_a, rows_b = rows_a[in_a], rows_b[in_b]
    return Pairing(rows_a, rows_b, np.arange(len(rows_a)), strata.a[rows_a])


def _position_by_position(a: Track, b: Track, strata: Strata, divided: Mask) -> Pairing:
    """Match the i-th position of a pair with the i-th, and within it draw with draw."""
    heard = [_heard(a, divided[strata.a]), _heard(b, divided[strata.b])]
    places, turns = (1 + max(int(h[i].max(initial=0)) for h in heard) for i in (1, 2))
    mine, theirs = (
        (track.pair[rows] * places + place) * turns + turn
        for track, (rows, place, turn) in zip((a, b), heard, strict=True)
    )
    codes, in_a, in_b = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
    rows_a, rows_b = heard[0][0][in_a], heard[1][0][in_b]
    return Pairing(rows_a, rows_b, codes // turns, strata.a[rows_a])


def _heard(track: Track, mask: Mask) -> tuple[Numbers, Numbers, Numbers]:
    """Put some rows in the order in which the positions of a pair were first heard of.

    Return the rows, the place of each one's position in its pair, and that of each in its position.
    """
    rows = np.flatnonzero(mask)
    pair, position = track.pair[rows], track.position[rows]
    _, first, source = np.unique(
        pair * (position.max(initial=0) + 1) + position, return_index=True, return_inverse=True
    )
    order = np.lexsort((first[source], pair))
    new = _differs(first[source][order])
    place = _since(np.cumsum(new), _differs(pair[order]))
    return rows[order], place, _since(np.arange(len(rows)), new)
