"""Find what two runs have in common: atoms, capabilities, states, and draws to compare.

Atoms are matched by name, so a vocabulary may grow between two versions; a state is reduced to the
shared atoms. Capabilities are matched by their literals, and the i-th draw of a state in one run
with the i-th in the other (`statistics.sign_test` says why).

**Several positions.** If several positions of the simulator share a state, success may depend on
the position. Such a state is divided into strata: one for each history (`histories_of`) that both
runs have, and one for the rest. Its draws are matched in two ways.

- *Draw by draw*: the i-th of a stratum with the i-th. The rest is left out.
- *Position by position*: the i-th position of one run with the i-th of the other, and within it
  draw with draw; all draws of a position count as one comparison. This is valid if both runs come
  to positions by the same random process, as with one strategy.

Both use the same draws, so wins are not added up: the mean of the two scores is a score. Matching
only the rest in the second way would be biased: positions that only a short run knows are rarer
than those only a long run knows, and if rare positions are hard, the long run wins.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from capscope.errors import CapscopeError
from capscope.insight.diff.run_data import RunData, knows, projected, shared_atoms
from capscope.logic import Intent, Literal, State, Vocabulary
from capscope.logic.shortest_condition import bit_matrix
from capscope.stats.arrays import Integers, Mask

T = TypeVar("T")
_Rows = tuple[Integers, Integers, Integers, Integers]
"""Rows of both sides that are compared, the number of their comparison, and their stratum."""


class Side(NamedTuple):
    """The executions of one side, sorted by pair and then in the order they were made."""

    pair: Integers
    """The capability's number times the number of states, plus the state's."""
    end: Integers
    position: Integers
    """The one that the draw started from."""
    history: Integers
    """0 in states with one position."""
    order: Integers
    """How many executions the run had made before."""
    stratum: Integers

    def only(self, rows: Mask | slice) -> Side:
        """Return some of the executions."""
        return Side(*(column[rows] for column in self))


class Pairing(NamedTuple):
    """One way of comparing executions of both sides, one to one."""

    end_a: Integers
    end_b: Integers
    """Where the executions ended that are compared with each other."""
    begins: Integers
    """Where each comparison begins: it has one row, or several of one position."""
    stratum: Integers
    """The stratum of each comparison, in ascending order."""
    made: Integers
    """When both runs had made the first draw of each comparison."""

    def within(self, low: int, high: int) -> Pairing:
        """Return the comparisons of some strata, numbered from the lowest of them."""
        first, last = np.searchsorted(self.stratum, (low, high))
        start, stop = np.append(self.begins, len(self.end_a))[[first, last]]
        end_a, end_b = self.end_a[start:stop], self.end_b[start:stop]
        begins, stratum = self.begins[first:last] - start, self.stratum[first:last] - low
        return Pairing(end_a, end_b, begins, stratum, self.made[first:last])

    def lead(self, event: Mask) -> Integers:
        """Return 1 for executions with the event only on A's side, −1 only on B's, else 0."""
        return event[self.end_a].astype(np.int64) - event[self.end_b]

    def won(self, lead: Integers) -> Integers:
        """Return 1 for comparisons that A won, −1 for those that B won, else 0."""
        return np.sign(np.add.reduceat(lead, self.begins)) if len(self.begins) else lead


@dataclass(frozen=True)
class MatchedRuns:
    """Both runs in the same numbers."""

    vocabulary: Vocabulary
    shared: State
    """The atoms that both vocabularies have."""
    capabilities: tuple[Intent, ...]
    states: tuple[State, ...]
    """Every state that one of the runs reached, reduced to the shared atoms."""
    several: Mask
    """The states known in several positions."""
    a: Side
    b: Side
    """Of the pairs that both sides tried."""
    pair: Integers
    """The pair of each stratum; those of a pair are together."""
    exchangeable: Mask
    """Whether all draws of a stratum come from one distribution if the agents are identical."""
    pairings: tuple[Pairing, ...]
    """The ways in which draws are matched; one is enough if no state has several positions."""

    @cached_property
    def bits(self) -> Mask:
        """One row for each state, one column for each atom."""
        return bit_matrix(self.states, len(self.vocabulary.atoms))

    def holding(self, literals: Iterable[Literal]) -> Mask:
        """Return in which states all the literals hold."""
        held = np.ones(len(self.states), dtype=bool)
        for literal in literals:
            column = self.vocabulary.bit[literal.atom].bit_length() - 1
            held &= self.bits[:, column] == literal.positive
        return held


def match(a: RunData, b: RunData, *, any_position: bool = False) -> MatchedRuns:
    """Match two runs; with `any_position` all positions of a state count as equal."""
    vocabulary, shared = a.vocabulary, shared_atoms(a, b)
    if not shared:
        raise CapscopeError(
            f"{a.path} ({a.problem}) and {b.path} ({b.problem}) have no atom in common; compare "
            "runs that describe the same world with the same predicates"
        )
    theirs = set(b.intents)
    capabilities = tuple(i for i in a.intents if i in theirs and knows(vocabulary, shared, i))
    reduced = [projected(side, vocabulary, shared) for side in (a, b)]
    states = tuple(dict.fromkeys(state for found in reduced for state in found))
    number = {state: i for i, state in enumerate(states)}
    numbers = [_numbers(found, number) for found in reduced]
    several = np.zeros(len(states), dtype=bool)
    if not any_position:
        several[_several_positions((a, b), numbers)] = True
    histories = histories_of((a, b), numbers, several) if several.any() else [None, None]
    made = [
        _sorted(side, capabilities, own, several, history)
        for side, own, history in zip((a, b), numbers, histories, strict=True)
    ]
    tried_a, tried_b = (side.pair[_differs(side.pair)] for side in made)
    pairs = np.intersect1d(tried_a, tried_b, assume_unique=True)
    first, second = (side.only(np.isin(side.pair, pairs)) for side in made)
    pair, exchangeable, in_first, in_second = _strata(first, second, pairs, several)
    first, second = first._replace(stratum=in_first), second._replace(stratum=in_second)
    pairings = _pairings(first, second, pair, exchangeable)
    return MatchedRuns(
        vocabulary, shared, capabilities, states, several, first, second, pair, exchangeable,
        pairings,
    )  # fmt: skip


def _several_positions(sides: Sequence[RunData], numbers: Sequence[Integers]) -> list[int]:
    known: defaultdict[int, set[bytes]] = defaultdict(set)
    for side, own in zip(sides, numbers, strict=True):
        for state, positions in side.positions.items():
            known[int(own[state])] |= positions
    return [state for state, positions in known.items() if len(positions) > 1]


def _sorted(
    side: RunData,
    capabilities: Sequence[Intent],
    own: Integers,
    several: Mask,
    history: Integers | None,
) -> Side:
    made = side.executions
    index = {intent: i for i, intent in enumerate(capabilities)}
    wanted = np.array([index.get(intent, -1) for intent in side.intents], dtype=np.int64)
    kept = wanted[made.capability] >= 0 if len(wanted) else np.zeros(0, dtype=bool)
    state = own[made.before[kept]]
    pair = wanted[made.capability[kept]] * len(several) + state
    order = np.argsort(pair, kind="stable")
    known = np.zeros_like(pair)
    if history is not None:
        known = np.where(several[state], history[kept] + 1, 0)
    end, position = own[made.after[kept]], side.start_position[kept]
    columns = pair, end, position, known, np.flatnonzero(kept), np.zeros_like(pair)
    return Side(*(column[order] for column in columns))


def _differs(values: Integers) -> Mask:
    """Return which values begin a run of equal ones."""
    starts = np.ones(len(values), dtype=bool)
    starts[1:] = values[1:] != values[:-1]
    return starts


def _since(count: Integers, starts: Mask) -> Integers:
    """Restart an ascending count at zero with each start."""
    since: Integers = count - np.maximum.accumulate(np.where(starts, count, 0))
    return since


def _strata(
    a: Side, b: Side, pairs: Integers, several: Mask
) -> tuple[Integers, Mask, Integers, Integers]:
    """Give each history that both sides have in a pair a stratum, and the rest one more.

    Return the pair of each stratum, whether its draws are exchangeable, and the stratum of each
    execution of both sides.
    """
    sides = a, b
    # Both have all of these pairs, in this order.
    in_a, in_b = (np.cumsum(_differs(side.pair)) - 1 for side in sides)
    state = pairs % max(len(several), 1)
    if not several[state].any():
        return pairs, np.ones(len(pairs), dtype=bool), in_a, in_b
    size = 1 + max(side.history.max(initial=0) for side in sides)
    codes = [which * size + side.history for which, side in zip((in_a, in_b), sides, strict=True)]
    (found_a, of_a), (found_b, of_b) = (np.unique(code, return_inverse=True) for code in codes)
    shared = np.intersect1d(found_a, found_b, assume_unique=True)
    # A history is at least 1 if there are several positions, so 0 is free for the rest.
    known = np.union1d(shared, np.arange(len(pairs)) * size)
    strata_a, strata_b = (
        np.searchsorted(known, np.where(np.isin(found, shared), found, found // size * size))
        for found in (found_a, found_b)
    )
    pair, history = np.divmod(known, size)
    exchangeable = (history > 0) | ~several[state[pair]]
    return pairs[pair], exchangeable, strata_a[of_a], strata_b[of_b]


def _pairings(a: Side, b: Side, pair: Integers, exchangeable: Mask) -> tuple[Pairing, ...]:
    """Match draw by draw; if that leaves something out, position by position as well."""
    draws = _draw_by_draw(a, b, exchangeable)
    found = _pairing(a, b, draws)
    if exchangeable.all():
        return (found,)
    # The first stratum of a pair is that of the rest, or the only one.
    first = np.searchsorted(pair, pair)
    divided = ~exchangeable[first]
    rows_a, rows_b, comparison, stratum = _position_by_position(a, b, divided)
    positions = rows_a, rows_b, comparison + len(draws[2]), first[stratum]
    alone = ~divided[draws[3]]
    both = [np.append(one[alone], other) for one, other in zip(draws, positions, strict=True)]
    order = np.argsort(both[3], kind="stable")
    rows_a, rows_b, comparison, stratum = (column[order] for column in both)
    return found, _pairing(a, b, (rows_a, rows_b, comparison, stratum))


def _pairing(a: Side, b: Side, rows: _Rows) -> Pairing:
    rows_a, rows_b, comparison, stratum = rows
    begins = np.flatnonzero(_differs(comparison))
    made = np.maximum(a.order[rows_a], b.order[rows_b])[begins]
    return Pairing(a.end[rows_a], b.end[rows_b], begins, stratum[begins], made)


def _draw_by_draw(a: Side, b: Side, exchangeable: Mask) -> _Rows:
    """Match the i-th draw of a stratum with the i-th, if all of them are exchangeable."""
    turns = 1 + max(len(a.stratum), len(b.stratum))

    def in_order(stratum: Integers) -> tuple[Integers, Integers]:
        rows = np.flatnonzero(exchangeable[stratum])
        rows = rows[np.argsort(stratum[rows], kind="stable")]
        return rows, stratum[rows] * turns + _since(np.arange(len(rows)), _differs(stratum[rows]))

    (rows_a, mine), (rows_b, theirs) = in_order(a.stratum), in_order(b.stratum)
    _, in_a, in_b = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
    rows_a, rows_b = rows_a[in_a], rows_b[in_b]
    return rows_a, rows_b, np.arange(len(rows_a)), a.stratum[rows_a]


def _position_by_position(a: Side, b: Side, divided: Mask) -> _Rows:
    """Match the i-th position of a pair with the i-th, and within it draw with draw."""
    orders = [_by_position(side, divided[side.stratum]) for side in (a, b)]
    places, turns = (1 + max(int(order[i].max(initial=0)) for order in orders) for i in (1, 2))
    mine, theirs = (
        (side.pair[rows] * places + place) * turns + turn
        for side, (rows, place, turn) in zip((a, b), orders, strict=True)
    )
    codes, in_a, in_b = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
    rows_a, rows_b = orders[0][0][in_a], orders[1][0][in_b]
    return rows_a, rows_b, codes // turns, a.stratum[rows_a]


def _by_position(side: Side, mask: Mask) -> tuple[Integers, Integers, Integers]:
    """Sort some rows by the order in which the positions of a pair were first seen.

    Return the rows, the index of each row's position in its pair, and of each row in its position.
    """
    rows = np.flatnonzero(mask)
    pair, position = side.pair[rows], side.position[rows]
    code = pair * (position.max(initial=0) + 1) + position
    _, first, source = np.unique(code, return_index=True, return_inverse=True)
    order = np.lexsort((first[source], pair))
    new = _differs(first[source][order])
    place = _since(np.cumsum(new), _differs(pair[order]))
    return rows[order], place, _since(np.arange(len(rows)), new)


def histories_of(
    sides: Sequence[RunData], states: Sequence[Integers], several: Mask
) -> list[Integers]:
    """Number the histories of all executions; equal ones have equal numbers in all runs.

    Only the position in which a draw started is recorded. But two draws that started in one
    position, were asked for the same and saw the same are in positions drawn from one distribution
    if the agents are identical, because a strategy sees only symbolic states. So the *history* of
    an execution serves like a position: the start of its draw, or the last state on the way that is
    known in one position only; and then the capability and the end state of each execution that
    took a step.

    `states` are those of each side in shared numbers; `several` are known in several positions.
    """
    intents = _in_common(side.intents for side in sides)
    names = _in_common(side.executions.position_names for side in sides)
    columns = []
    starts, draws = len(names), 0
    for side, own in zip(sides, states, strict=True):
        made = side.executions
        # A start that was not recorded equals no other.
        named = _numbers(made.position_names, names)
        unnamed = max(int(side.start_position.max(initial=-1)) + 1 - len(named), 0)
        start = np.append(named, starts + np.arange(unnamed))
        starts = max(starts, int(start.max(initial=-1)) + 1)
        capability = _numbers(side.intents, intents)[made.capability]
        step = capability * len(several) + own[made.after]
        start = start[side.start_position]
        columns.append((made.draw_id + draws, start, own[made.before], step, made.moved))
        draws += int(made.draw_id.max(initial=-1)) + 1
    draw, start, before, step, moved = map(np.concatenate, zip(*columns, strict=True))
    # The history of an execution without steps before it: its state if that says all.
    known = ~several[before]
    begins = known | (np.diff(draw, prepend=-1) != 0)
    history = np.where(known, starts + before, start)
    _continue(history, begins, step, moved, starts + len(several))
    return np.split(history, np.cumsum([len(own[0]) for own in columns])[:-1])


def _in_common(things: Iterable[Iterable[T]]) -> dict[T, int]:
    return {one: n for n, one in enumerate(dict.fromkeys(one for own in things for one in own))}


def _numbers(things: Sequence[T], numbers: Mapping[T, int]) -> Integers:
    return np.array([numbers[thing] for thing in things], dtype=np.int64)


def _continue(history: Integers, begins: Mask, step: Integers, moved: Mask, numbered: int) -> None:
    """Number the histories with one step, then those with two, …, in place.

    `begins` are the executions before which no step counts; `numbered` is the first free number.
    """
    index = np.arange(len(history))
    # How many executions since then took a step, and which one before was the last to do so.
    before: Integers = np.cumsum(moved) - moved
    steps = before - before[np.maximum.accumulate(np.where(begins, index, 0))]
    last = np.maximum.accumulate(np.where(moved, index, 0))[index - 1]
    kinds, order = step.max(initial=0) + 1, np.argsort(steps, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(steps[order])) + 1)[1:]:
        came = last[rows]
        found, which = np.unique(history[came] * kinds + step[came], return_inverse=True)
        history[rows] = numbered + which
        numbered += len(found)
