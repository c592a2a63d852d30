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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from capscope.insight.diff.run_data import RunData, SharedPredicates, projected, shared_predicates
from capscope.logic import Intent, Literal, State, Vocabulary
from capscope.logic.shortest_condition import bit_matrix
from capscope.stats.arrays import Integers, Mask

T = TypeVar("T")


@dataclass(frozen=True)
class SortedExecutions:
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

    def kept(self, mask: Mask) -> SortedExecutions:
        """Return some of the executions."""
        columns = (self.pair, self.end, self.position, self.history, self.order)
        return SortedExecutions(*(column[mask] for column in columns))


@dataclass(frozen=True)
class Pairing:
    """Executions that are compared with each other, one to one."""

    rows_a: Integers
    rows_b: Integers
    """Their rows in the executions of the two sides."""
    comparison: Integers
    """Rows with the same number are one comparison; they are contiguous."""
    stratum: Integers
    """The stratum that they are counted in, in ascending order."""


@dataclass(frozen=True)
class Strata:
    """The strata of all pairs that both sides tried, those of a pair together."""

    pair: Integers
    exchangeable: Mask
    """Whether all draws of a stratum come from one distribution if the agents are identical."""
    a: Integers
    b: Integers
    """The stratum of each row of the two sides."""


@dataclass(frozen=True)
class MatchedRuns:
    """Both runs in the same numbers."""

    predicates: SharedPredicates
    capabilities: tuple[Intent, ...]
    states: tuple[State, ...]
    """Every state that one of the runs reached, reduced to the shared atoms."""
    several: Mask
    """The states known in several positions."""
    a: SortedExecutions
    b: SortedExecutions
    """Of the pairs that both sides tried."""
    strata: Strata
    pairings: tuple[Pairing, ...]
    """The ways in which draws are matched; one is enough if no state has several positions."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the states."""
        return self.predicates.vocabulary

    @cached_property
    def bits(self) -> Mask:
        """One row for each state, one column for each atom."""
        return bit_matrix(self.states, len(self.vocabulary.atoms))

    def holding(self, literals: Sequence[Literal]) -> Mask:
        """Return in which states all the literals hold."""
        column = {atom: i for i, atom in enumerate(self.vocabulary.atoms)}
        held = np.ones(len(self.states), dtype=bool)
        for literal in literals:
            held &= self.bits[:, column[literal.atom]] == literal.positive
        return held


def match(a: RunData, b: RunData, *, any_position: bool = False) -> MatchedRuns:
    """Match two runs; with `any_position` all positions of a state count as equal."""
    predicates = shared_predicates(a, b)
    theirs = set(b.intents)
    capabilities = tuple(i for i in a.intents if i in theirs and predicates.knows(i))
    reduced = [projected(side, predicates) for side in (a, b)]
    states = tuple(dict.fromkeys(state for found in reduced for state in found))
    number = {state: i for i, state in enumerate(states)}
    numbers = [np.array([number[s] for s in found], dtype=np.int64) for found in reduced]
    several = _several_positions((a, b), numbers, len(states))
    if any_position:
        several = np.zeros_like(several)
    histories = histories_of((a, b), numbers, several) if several.any() else [None, None]
    made = [
        _sorted(side, capabilities, own, several, history)
        for side, own, history in zip((a, b), numbers, histories, strict=True)
    ]
    tried_a, tried_b = (side.pair[_differs(side.pair)] for side in made)
    pairs = np.intersect1d(tried_a, tried_b, assume_unique=True)
    first, second = (side.kept(np.isin(side.pair, pairs)) for side in made)
    strata = _strata(first, second, pairs, several)
    pairings = _pairings(first, second, strata)
    return MatchedRuns(predicates, capabilities, states, several, first, second, strata, pairings)


def _several_positions(sides: Sequence[RunData], numbers: Sequence[Integers], states: int) -> Mask:
    known: defaultdict[int, set[bytes]] = defaultdict(set)
    for side, own in zip(sides, numbers, strict=True):
        for state, positions in side.positions.items():
            known[int(own[state])] |= positions
    several = np.zeros(states, dtype=bool)
    several[[state for state, positions in known.items() if len(positions) > 1]] = True
    return several


def _sorted(
    side: RunData,
    capabilities: Sequence[Intent],
    own: Integers,
    several: Mask,
    history: Integers | None,
) -> SortedExecutions:
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
    columns = pair, own[made.after[kept]], side.start_position[kept], known, np.flatnonzero(kept)
    return SortedExecutions(*(column[order] for column in columns))


def _differs(values: Integers) -> Mask:
    """Return which values begin a run of equal ones."""
    starts = np.ones(len(values), dtype=bool)
    starts[1:] = values[1:] != values[:-1]
    return starts


def _since(count: Integers, starts: Mask) -> Integers:
    """Restart an ascending count at zero with each start."""
    since: Integers = count - np.maximum.accumulate(np.where(starts, count, 0))
    return since


def _strata(a: SortedExecutions, b: SortedExecutions, pairs: Integers, several: Mask) -> Strata:
    """Give each history that both sides have in a pair a stratum, and the rest one more."""
    sides = a, b
    # Both have all of these pairs, in this order.
    in_a, in_b = (np.cumsum(_differs(side.pair)) - 1 for side in sides)
    state = pairs % max(len(several), 1)
    if not several[state].any():
        return Strata(pairs, np.ones(len(pairs), dtype=bool), in_a, in_b)
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
    return Strata(pairs[pair], exchangeable, strata_a[of_a], strata_b[of_b])


def _pairings(a: SortedExecutions, b: SortedExecutions, strata: Strata) -> tuple[Pairing, ...]:
    """Match draw by draw; if that leaves something out, position by position as well."""
    draws = _draw_by_draw(strata)
    if strata.exchangeable.all():
        return (draws,)
    # The first stratum of a pair is that of the rest, or the only one.
    first = np.searchsorted(strata.pair, strata.pair)
    divided = ~strata.exchangeable[first]
    alone = ~divided[draws.stratum]
    positions = _position_by_position(a, b, strata, divided)
    comparison = np.append(draws.comparison[alone], positions.comparison + len(draws.comparison))
    stratum = np.append(draws.stratum[alone], first[positions.stratum])
    rows_a = np.append(draws.rows_a[alone], positions.rows_a)
    rows_b = np.append(draws.rows_b[alone], positions.rows_b)
    order = np.argsort(stratum, kind="stable")
    return draws, Pairing(rows_a[order], rows_b[order], comparison[order], stratum[order])


def _draw_by_draw(strata: Strata) -> Pairing:
    """Match the i-th draw of a stratum with the i-th, if all of them are exchangeable."""
    turns = 1 + max(len(strata.a), len(strata.b))

    def in_order(stratum: Integers) -> tuple[Integers, Integers]:
        rows = np.flatnonzero(strata.exchangeable[stratum])
        rows = rows[np.argsort(stratum[rows], kind="stable")]
        return rows, stratum[rows] * turns + _since(np.arange(len(rows)), _differs(stratum[rows]))

    (rows_a, mine), (rows_b, theirs) = in_order(strata.a), in_order(strata.b)
    _, in_a, in_b = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
    rows_a, rows_b = rows_a[in_a], rows_b[in_b]
    return Pairing(rows_a, rows_b, np.arange(len(rows_a)), strata.a[rows_a])


def _position_by_position(
    a: SortedExecutions, b: SortedExecutions, strata: Strata, divided: Mask
) -> Pairing:
    """Match the i-th position of a pair with the i-th, and within it draw with draw."""
    orders = [_by_position(a, divided[strata.a]), _by_position(b, divided[strata.b])]
    places, turns = (1 + max(int(order[i].max(initial=0)) for order in orders) for i in (1, 2))
    mine, theirs = (
        (side.pair[rows] * places + place) * turns + turn
        for side, (rows, place, turn) in zip((a, b), orders, strict=True)
    )
    codes, in_a, in_b = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
    rows_a, rows_b = orders[0][0][in_a], orders[1][0][in_b]
    return Pairing(rows_a, rows_b, codes // turns, strata.a[rows_a])


def _by_position(side: SortedExecutions, mask: Mask) -> tuple[Integers, Integers, Integers]:
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


class _Columns(NamedTuple):
    """Executions of all runs, draw after draw, in numbers that the runs share."""

    draw: Integers
    start: Integers
    before: Integers
    capability: Integers
    after: Integers
    moved: Mask


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
    intents = {i: n for n, i in enumerate(dict.fromkeys(i for side in sides for i in side.intents))}
    names: dict[bytes, int] = {}
    for side in sides:
        for name in side.executions.position_names:
            names.setdefault(name, len(names))
    columns: list[_Columns] = []
    starts, draws = len(names), 0
    for side, own in zip(sides, states, strict=True):
        made = side.executions
        # A start that was not recorded equals no other.
        known = made.position_names
        unnamed = max(int(side.start_position.max(initial=-1)) + 1 - len(known), 0)
        start = np.append(_numbers(known, names), starts + np.arange(unnamed))
        starts = max(starts, int(start.max(initial=-1)) + 1)
        columns.append(
            _Columns(
                made.draw_id + draws,
                start[side.start_position],
                own[made.before],
                _numbers(side.intents, intents)[made.capability],
                own[made.after],
                made.moved,
            )
        )
        draws += int(made.draw_id.max(initial=-1)) + 1
    together = _Columns(*map(np.concatenate, zip(*columns, strict=True)))
    history = _numbered(together, starts, len(intents), several)
    return np.split(history, np.cumsum([len(own.draw) for own in columns])[:-1])


def _numbers(things: Sequence[T], numbers: Mapping[T, int]) -> Integers:
    return np.array([numbers[thing] for thing in things], dtype=np.int64)


def _numbered(made: _Columns, starts: int, capabilities: int, several: Mask) -> Integers:
    """Number the histories without a step, then those with one, then those with two, …"""
    index, states = np.arange(len(made.draw)), len(several)
    known = ~several[made.before]
    history = np.where(known, starts + made.before, made.start)
    first = np.diff(made.draw, prepend=-1) != 0
    begins = np.maximum.accumulate(np.where(known | first, index, 0))
    # How many executions since then took a step, and which one before was the last to do so.
    before: Integers = np.cumsum(made.moved) - made.moved
    steps = before - before[begins]
    last = np.maximum.accumulate(np.where(made.moved, index, 0))[index - 1]
    order, numbered = np.argsort(steps, kind="stable"), starts + states
    for rows in np.split(order, np.flatnonzero(np.diff(steps[order])) + 1)[1:]:
        came = last[rows]
        code = (history[came] * capabilities + made.capability[came]) * states + made.after[came]
        found, which = np.unique(code, return_inverse=True)
        history[rows] = numbered + which
        numbered += len(found)
    return history
