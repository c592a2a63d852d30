"""All executions of a run in the order in which they were made, as NumPy columns.

This is the only reader of journals: live, resumed and finished runs build what they know from this
table. One object for each execution would cost twenty seconds for half a million of them. Draws are
often identical, so each distinct text of a draw is decoded once, and everything else is computed
on whole columns.

States and positions are numbers; states are numbered as in the journal. A live run appends its
draws to an `ExecutionTableBuilder`, which gives the same table without reading the journal back.
"""

from __future__ import annotations

import itertools
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from capscope.journal.journal import ENDINGS, Draw, Journal, QueryRecord, Start
from capscope.journal.journal_file import understood
from capscope.journal.query_table import QueryTable, read_queries, with_totals
from capscope.journal.stored_draws import UNKNOWN_POSITION, read_stored_draws
from capscope.logic import State
from capscope.problem.attempt import Ending
from capscope.stats.arrays import Integers, Mask

__all__ = [
    "UNKNOWN_POSITION",
    "DistinctTransitions",
    "ExecutionTable",
    "ExecutionTableBuilder",
    "LastExecution",
    "Transition",
    "has_several_positions",
    "known_positions",
    "number_by_first_use",
]

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
            return cls._read(journal)

    @classmethod
    def _read(cls, journal: Journal) -> ExecutionTable:
        queries = read_queries(journal)
        draws = read_stored_draws(journal, len(queries))
        # Each draw is a slice of its decoded text; the slices are laid out one after the other.
        begins = np.cumsum(draws.text_lengths) - draws.text_lengths
        length = draws.text_lengths[draws.text]
        number = _count_up(length)
        rows_of = np.repeat(begins[draws.text], length) + number
        capability, before, after, changes, steps, tokens, ending = draws.attempts[rows_of].T
        names, name_of = _read_position_names(journal)
        return cls(
            journal.states, names, with_totals(queries, draws.query, length, draws.costs),
            np.repeat(draws.query, length), np.repeat(draws.draw, length), number, capability,
            before, after, changes, steps, tokens, ending,
            np.append(name_of, UNKNOWN_POSITION)[np.repeat(draws.position, length)],
        )  # fmt: skip

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

    def first_queries(self, number: int) -> ExecutionTable:
        """Return the table as it was after the first queries."""
        if number >= len(self.queries):
            return self
        kept = slice(int(np.searchsorted(self.query, number)))
        return replace(self.only(kept), queries=self.queries.first(number))

    def within(
        self, executions: int | None = None, simulator_steps: int | None = None
    ) -> ExecutionTable:
        """Return the table at the end of the last query within so many executions and steps."""
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


class ExecutionTableBuilder:
    """A table that grows with a run."""

    _EXECUTION = 11
    _QUERY = 9
    _FINISHED = 3
    """Its place in the row of a query."""

    def __init__(self, table: ExecutionTable | None = None) -> None:
        self._executions = array("q")
        self._queries = array("d")
        self._position_names: dict[bytes, int] = {}
        if table is not None:
            columns = [getattr(table, field.name) for field in fields(table)[3:]]
            self._executions.frombytes(np.stack(columns, axis=1).tobytes())
            rows = [
                getattr(table.queries, f.name) for f in fields(QueryTable) if f.name != "executions"
            ]
            self._queries.frombytes(np.stack(rows, axis=1).astype(np.float64).tobytes())
            self._position_names = {name: i for i, name in enumerate(table.position_names)}

    def add_query(
        self,
        number: int,
        record: QueryRecord,
        starts: Sequence[Start],
        draws: Sequence[Draw],
        journal: Journal,
        seconds: float,
    ) -> Counter[Transition]:
        """Append the recorded draws of a query, complete if there are as many as starts.

        Return its transitions, in the order in which they were seen.
        """
        state_number, rows, names = journal.state_number, self._executions, self._position_names
        counts: Counter[Transition] = Counter()
        for index, (start, draw) in enumerate(zip(starts, draws, strict=False)):
            position = names.setdefault(start.position.name, len(names))
            for i, (capability, attempt) in enumerate(draw.executions):
                first, last = attempt.trajectory[0], attempt.trajectory[-1]
                rows.extend((
                    number, index, i, capability, state_number(first), state_number(last),
                    len(attempt.trajectory) - 1, attempt.simulator_steps, attempt.llm_tokens,
                    ENDINGS.index(attempt.ending), position,
                ))  # fmt: skip
                if attempt.ending is not Ending.CUT:
                    counts[Transition(first, capability, last)] += 1
        self._queries.extend((
            state_number(record.start.state), record.predicted, record.informative,
            len(draws) == len(starts), len(draws), sum(d.simulator_steps for d in draws),
            sum(d.llm_tokens for d in draws), seconds, sum(d.llm_cost for d in draws),
        ))  # fmt: skip
        return counts

    def leave_open(self) -> None:
        """Note that the last query is not complete, although it has all its draws."""
        self._queries[self._FINISHED - self._QUERY] = False

    def table(self, states: Sequence[State]) -> ExecutionTable:
        """Return the table as it is now."""
        rows = np.array(self._executions, dtype=np.int64).reshape(-1, self._EXECUTION)
        columns: list[Integers] = list(np.ascontiguousarray(rows.T))
        made = np.array(self._queries, dtype=np.float64).reshape(-1, self._QUERY)
        start, predicted, informative, finished, draws, steps, tokens, seconds, cost = (
            np.ascontiguousarray(made.T)
        )
        whole = np.int64
        queries = QueryTable(
            start.astype(whole), predicted, informative > 0, finished > 0, draws.astype(whole),
            np.bincount(columns[0], minlength=len(start)), steps.astype(whole),
            tokens.astype(whole), seconds, cost,
        )  # fmt: skip
        return ExecutionTable(list(states), tuple(self._position_names), queries, *columns)


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


def known_positions(journal: Journal) -> Mapping[int, set[bytes]]:
    """Return the names of the positions known for each state, by the state's number.

    Of a state met often only some are kept, drawn evenly over its visits.
    """
    known: dict[int, set[bytes]] = {}
    for table in ("snapshots", "positions"):
        for state, snapshot, name in journal.select(f"SELECT state, snapshot, name FROM {table}"):
            known.setdefault(state, set()).add(snapshot if name is None else name)
    return known


def has_several_positions(journal: Journal) -> bool:
    """Return whether any state is known to have several positions."""
    known = " UNION ALL ".join(
        f"SELECT state, COALESCE(name, snapshot) AS at FROM {table}"
        for table in ("snapshots", "positions")
    )
    query = f"SELECT 1 FROM ({known}) GROUP BY state HAVING MIN(at) <> MAX(at) LIMIT 1"
    return any(True for _ in journal.select(query))


def _read_position_names(journal: Journal) -> tuple[tuple[bytes, ...], Integers]:
    """Return the distinct names, and for each stored position the number of its name."""
    numbers: dict[bytes, int] = {}
    rows = journal.select("SELECT snapshot, name FROM positions ORDER BY id")
    which = [
        numbers.setdefault(snapshot if name is None else name, len(numbers))
        for snapshot, name in rows
    ]
    if not all(isinstance(name, bytes) for name in numbers):
        raise TypeError("a position whose name is not bytes")
    return tuple(numbers), np.array(which, dtype=np.int64)


def _count_up(lengths: Integers) -> Integers:
    """Count from 0 again for each length.

    >>> _count_up(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
