"""All executions of a run in the order in which they were made, as NumPy columns.

Everything computed over all executions uses this table. One object for each execution would cost
twenty seconds for half a million of them. Draws are often identical, so each distinct text of a
draw is decoded once, and everything else is computed on whole columns.

States and positions are numbers; states are numbered as in the journal.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from capscope.journal.draws import ENDINGS, QueryTable, decode_numbers, refuse_impossible
from capscope.journal.journal import Journal
from capscope.journal.journal_file import understood
from capscope.logic import State
from capscope.problem.attempt import Ending
from capscope.stats.arrays import Floats, Integers, Mask

UNKNOWN_POSITION = -1
_CUT = ENDINGS.index(Ending.CUT)


class Transition(NamedTuple):
    """An execution of a capability: the state before and the state after.

    A capability is its index in the run's list of intents. Intents are only ever appended, so an
    index never changes its meaning.
    """

    before: State
    capability: int
    after: State


class LastExecution(NamedTuple):
    """The last execution of a draw, and how many there were."""

    transition: Transition
    executions: int


@dataclass(frozen=True)
class DistinctTransitions:
    """The distinct transitions ⟨s, c, s′⟩ of a run, in the order in which they were first seen."""

    first: Integers
    """The execution that showed it first."""
    before: Integers
    """The number of the state before."""
    capability: Integers
    """The index of the intent."""
    after: Integers
    """The number of the state after."""
    count: Integers
    """How often it was seen."""
    pair: Integers
    """The number of its pair ⟨s, c⟩, in the order in which pairs were first tried."""

    @cached_property
    def first_of_pair(self) -> Integers:
        """For each pair, the execution that tried it first."""
        return self.first[np.unique(self.pair, return_index=True)[1]]

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True)
class ExecutionTable:
    """The executions of a run: one row each, in order."""

    states: Sequence[State]
    """By number."""
    position_names: Sequence[bytes]
    """The names of the positions that draws started from, by number."""
    queries: QueryTable
    """What the executions were made for."""
    query: Integers
    """The number of its query."""
    draw: Integers
    """The index of its draw in the query."""
    number: Integers
    """Its index in the draw."""
    capability: Integers
    """The index of the intent."""
    before: Integers
    """The number of the state before."""
    after: Integers
    """The number of the state after."""
    changes: Integers
    """How often the symbolic state changed."""
    simulator_steps: Integers
    """The simulator steps it took."""
    llm_tokens: Integers
    """The tokens it took."""
    ending: Integers
    """Why it ended, as an index of `Ending`."""
    position: Integers
    """The position that its draw started from; -1 if that was not recorded."""

    @classmethod
    def read(cls, journal: Journal) -> ExecutionTable:
        """Read a journal, an unfinished query included."""
        with understood(journal.path):
            return _read_table(journal)

    def __len__(self) -> int:
        return len(self.query)

    @cached_property
    def cut(self) -> Mask:
        """Whether it was cut short by a budget: it was made, but it is not an observation."""
        flags: Mask = self.ending == _CUT
        return flags

    @cached_property
    def draw_id(self) -> Integers:
        """The number of its draw among all draws that have executions."""
        ids: Integers = np.cumsum(self.number == 0) - 1
        return ids

    @cached_property
    def moved(self) -> Mask:
        """Whether it took a simulator step; if not, the simulator stays where it is."""
        flags: Mask = self.simulator_steps > 0
        return flags

    @property
    def idle(self) -> bool:
        """Whether there are executions, and none changed the symbolic state even for a moment."""
        return len(self) > 0 and not self.changes.any()

    @cached_property
    def at_start(self) -> Mask:
        """Whether it is known to begin in the position that its draw started from."""
        first = np.diff(self.draw_id, prepend=-1) != 0
        begins = np.maximum.accumulate(np.where(first, np.arange(len(first)), 0))
        steps: Integers = np.cumsum(self.moved) - self.moved
        flags: Mask = (steps == steps[begins]) & (self.position != UNKNOWN_POSITION)
        return flags

    @cached_property
    def complete(self) -> ExecutionTable:
        """The executions that were not cut short."""
        return self.only(~self.cut) if self.cut.any() else self

    @cached_property
    def transition(self) -> Integers:
        """The number of its transition; -1 if it was cut."""
        which = np.full(len(self), -1, dtype=np.int64)
        which[~self.cut] = self._numbered[0]
        return which

    @cached_property
    def distinct(self) -> DistinctTransitions:
        """The transitions that were seen."""
        which, first = self._numbered
        before, capability, after = self.before[first], self.capability[first], self.after[first]
        pair, _ = number_by_first_use(before * (capability.max(initial=0) + 1) + capability)
        count = np.bincount(which, minlength=len(first)).astype(np.int64)
        return DistinctTransitions(first, before, capability, after, count, pair)

    @cached_property
    def _numbered(self) -> tuple[Integers, Integers]:
        whole = np.flatnonzero(~self.cut)
        before, capability, after = self.before[whole], self.capability[whole], self.after[whole]
        codes = before * (capability.max(initial=0) + 1) + capability
        which, first = number_by_first_use(codes * len(self.states) + after)
        return which, whole[first]

    def transitions(self) -> Counter[Transition]:
        """Count the transitions, in the order in which they were first seen."""
        seen, states = self.distinct, self.states
        columns = (seen.before, seen.capability, seen.after, seen.count)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return Counter({Transition(states[s], c, states[t]): count for s, c, t, count in rows})

    def transitions_by_query(self) -> Iterator[Counter[Transition]]:
        """Count the transitions of each query by itself."""
        known = list(self.transitions())
        whole = self.transition >= 0
        numbers = self.transition[whole].tolist()
        bounds = np.searchsorted(self.query[whole], np.arange(len(self.queries) + 1)).tolist()
        for first, end in itertools.pairwise(bounds):
            # Filled by hand: a counter that is given its contents looks at their kind first.
            counts: Counter[Transition] = Counter()
            for number in numbers[first:end]:
                transition = known[number]
                counts[transition] = counts.get(transition, 0) + 1
            yield counts

    def last_executions(self, query: int) -> list[LastExecution | None]:
        """Return the last execution of each draw of a query; None if it was cut."""
        first, end = np.searchsorted(self.query, [query, query + 1]).tolist()
        rows = slice(first, end)
        columns = (self.draw, self.before, self.capability, self.after, self.number, self.cut)
        last: list[LastExecution | None] = []
        for draw, before, capability, after, number, cut in zip(
            *(column[rows].tolist() for column in columns), strict=True
        ):
            last += [None] * (draw + 1 - len(last))
            transition = Transition(self.states[before], capability, self.states[after])
            last[draw] = None if cut else LastExecution(transition, number + 1)
        return last

    def starts(self, query: int) -> list[tuple[State, bytes]]:
        """Return where the draws of a query began: the state, and the name of the position."""
        first, end = np.searchsorted(self.query, [query, query + 1]).tolist()
        begun = first + np.flatnonzero(self.number[first:end] == 0)
        columns = self.before[begun].tolist(), self.position[begun].tolist()
        return [(self.states[s], self.position_names[at]) for s, at in zip(*columns, strict=True)]

    def first_queries(self, number: int) -> ExecutionTable:
        """Return the table as it was after the first queries."""
        if number >= len(self.queries):
            return self
        kept = slice(int(np.searchsorted(self.query, number)))
        return replace(self.only(kept), queries=self.queries.first(number))

    def within(
        self, executions: int | None = None, simulator_steps: int | None = None
    ) -> ExecutionTable:
        """Return the table after the last query within these numbers of executions and steps."""
        number = len(self.queries)
        limits = (
            (self.queries.executions, executions),
            (self.queries.simulator_steps, simulator_steps),
        )
        for column, most in limits:
            if most is not None:
                number = min(number, int(np.searchsorted(np.cumsum(column), most, side="right")))
        return self.first_queries(number)

    def only(self, which: slice | Mask) -> ExecutionTable:
        """Return some of the executions."""
        columns = {f.name: getattr(self, f.name)[which] for f in fields(self)[3:]}
        return replace(self, **columns)


def number_by_first_use(values: Integers) -> tuple[Integers, Integers]:
    """Number distinct values as they come; return each one's number and where each was first.

    >>> which, first = number_by_first_use(np.array([7, 3, 7, 5]))
    >>> which.tolist(), first.tolist()
    ([0, 1, 0, 2], [0, 1, 3])
    """
    _, first, which = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[which], first[order]


def longer_trajectories(
    table: ExecutionTable, journal: Journal
) -> Iterator[tuple[int, tuple[State, ...]]]:
    """Yield the row and the states of each execution that passed through others than its ends."""
    long = table.changes > 1
    places = {
        (int(table.query[row]), int(table.draw[row])): row - int(table.number[row])
        for row in np.flatnonzero(long).tolist()
    }
    for place, executions in journal.executions_at(places):
        for row, (_, attempt) in enumerate(executions, places[place]):
            if long[row]:
                yield row, attempt.trajectory


def _read_table(journal: Journal) -> ExecutionTable:
    queries = journal.query_columns()
    texts: dict[str, int] = {}
    rows: list[tuple[int, ...]] = []
    costs: list[list[float]] = []
    for query, draw, position, text, *spent in journal.stored_draws():
        if query >= len(queries):
            break
        at = UNKNOWN_POSITION if position is None else position
        rows.append((query, draw, at, texts.setdefault(text, len(texts))))
        costs.append(spent)
    lengths, numbers = decode_numbers(list(texts))
    refuse_impossible(numbers, costs, len(journal.states), len(journal.intents()))
    query_of, draw_of, position_of, text_of = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    # Each draw is a slice of its decoded text; the slices are laid out one after the other.
    begins = np.cumsum(lengths) - lengths
    length = lengths[text_of]
    number = _count_up(length)
    capability, before, after, changes, steps, tokens, ending = numbers[
        np.repeat(begins[text_of], length) + number
    ].T
    names, name_of = _distinct_names(journal)
    return ExecutionTable(
        journal.states, names,
        _query_table(queries, query_of, length, costs, journal.replay_steps()),
        np.repeat(query_of, length), np.repeat(draw_of, length), number, capability,
        before, after, changes, steps, tokens, ending,
        np.append(name_of, UNKNOWN_POSITION)[np.repeat(position_of, length)],
    )  # fmt: skip


def _query_table(
    recorded: Sequence[Sequence[float]],
    query_of: Integers,
    length: Integers,
    costs: Sequence[Sequence[float]],
    replay_steps: Mapping[int, int],
) -> QueryTable:
    """Add up the draws of each query.

    Args:
        recorded: Start state, predicted, informative, finished and seconds of each query.
        query_of: The query of each draw.
        length: The number of executions of each draw.
        costs: Simulator steps, tokens, seconds and what was paid, for each draw.
        replay_steps: Those of each query that had any.
    """
    start, predicted, informative, finished, seconds = _columns(recorded, 5)
    steps, tokens, drawing, cost = _columns(costs, 4)

    def total(values: Integers | Floats) -> Floats:
        return np.bincount(query_of, values, len(start)).astype(np.float64)

    draws = np.bincount(query_of, minlength=len(start))
    # A query that was interrupted has no time of its own yet.
    timed = (seconds > 0) | (draws == 0)
    whole = np.int64
    return QueryTable(
        start.astype(whole), predicted, informative > 0, finished > 0, draws,
        total(length).astype(whole), total(steps).astype(whole), total(tokens).astype(whole),
        np.where(timed, seconds, total(drawing)), total(cost),
        np.array([replay_steps.get(query, 0) for query in range(len(start))], dtype=whole),
    )  # fmt: skip


def _columns(rows: Sequence[Sequence[float]], width: int) -> Floats:
    columns: Floats = np.ascontiguousarray(np.array(rows, dtype=np.float64).reshape(-1, width).T)
    return columns


def _distinct_names(journal: Journal) -> tuple[tuple[bytes, ...], Integers]:
    """Return the distinct names, and for each stored position the number of its name."""
    numbers: dict[bytes, int] = {}
    which = [numbers.setdefault(name, len(numbers)) for name in journal.position_names()]
    if not all(isinstance(name, bytes) for name in numbers):
        raise TypeError("a position whose name is not bytes")
    return tuple(numbers), np.array(which, dtype=np.int64)


def _count_up(lengths: Integers) -> Integers:
    """Count from 0 again for each length.

    >>> _count_up(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
