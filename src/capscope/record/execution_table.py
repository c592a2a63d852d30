"""Every execution of a run in the order in which it was made, as columns of numbers.

Who asks when something was first seen, what each execution was for, or which draws stand behind a
rule has to look at all executions in order. Objects for each of them, query by query, cost twenty
seconds for half a million. Most of that is not needed: draws are often alike to the letter, so
equal texts are decoded once, a column of numbers holds what is asked of an execution, and what is
to be worked out is worked out for whole columns.

States and transitions are spoken of by number, in the order of first sight.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from capscope.errors import JournalError
from capscope.record.journal import ENDINGS, Journal
from capscope.record.journal_file import understood
from capscope.record.transitions import Transition
from capscope.symbolic import State
from capscope.world.attempt import Ending

Column = NDArray[np.int64]
Flags = NDArray[np.bool_]

_CUT = ENDINGS.index(Ending.CUT)
_DECODED_AT_ONCE = 100
"""Texts: many are decoded faster than one by one, too many would leave the processor's cache."""


@dataclass(frozen=True)
class DistinctTransitions:
    """The transitions ⟨s, c, s′⟩ of a run, in the order of first sight."""

    first: Column
    """The execution that showed it first."""
    before: Column
    capability: Column
    after: Column
    count: Column
    pair: Column
    """The number of its pair ⟨s, c⟩, in the order of first sight."""

    @cached_property
    def first_of_pair(self) -> Column:
        """Of each pair the execution that tried it first."""
        return self.first[np.unique(self.pair, return_index=True)[1]]

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True)
class ExecutionTable:
    """The executions of a run, a column for each thing that is asked of them."""

    states: Sequence[State]
    """By number: the first is where the run began."""
    query: Column
    draw: Column
    number: Column
    """The position of the execution in its draw."""
    capability: Column
    before: Column
    after: Column
    simulator_steps: Column
    cut: Flags
    """Cut short by a budget: it was made, and it is no observation."""

    @classmethod
    def of(cls, journal: Journal, queries: int, capabilities: int) -> ExecutionTable:
        """Read the first queries of a journal, of which so many capabilities are written down."""
        texts: dict[str, int] = {}
        rows: list[int] = []
        draws = journal.select(
            "SELECT query, draw, attempts FROM draws WHERE query < ? ORDER BY query, draw", queries
        )
        for query, draw, text in draws:
            rows += query, draw, texts.setdefault(text, len(texts))
        query_of, draw_of, text_of = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        with understood(journal.path):
            lengths, attempts = _decoded(list(texts))
            _refuse_unknown_states(attempts, len(journal.states))
        refuse_unknown_capabilities(np.unique(attempts[:, 0]).tolist(), capabilities)
        # Each draw is the stretch of its text, laid out one after the other.
        begins = np.cumsum(lengths) - lengths
        length = lengths[text_of]
        number = _counting(length)
        capability, before, after, steps, ending = attempts[
            np.repeat(begins[text_of], length) + number
        ].T
        return cls(
            journal.states, np.repeat(query_of, length), np.repeat(draw_of, length), number,
            capability, before, after, steps, ending == _CUT,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.query)

    @cached_property
    def transition(self) -> Column:
        """Of each execution the number of its transition; -1 if it was cut."""
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
    def _numbered(self) -> tuple[Column, Column]:
        whole = np.flatnonzero(~self.cut)
        before, capability, after = self.before[whole], self.capability[whole], self.after[whole]
        codes = before * (capability.max(initial=0) + 1) + capability
        which, first = number_by_first_use(codes * len(self.states) + after)
        return which, whole[first]

    def transitions(self) -> Counter[Transition]:
        """Count the transitions, in the order of first sight."""
        seen, states = self.distinct, self.states
        columns = (seen.before, seen.capability, seen.after, seen.count)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return Counter({Transition(states[s], c, states[t]): count for s, c, t, count in rows})


def number_by_first_use(values: Column) -> tuple[Column, Column]:
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


def transcribed(journal: Journal) -> Iterable[tuple[int, int, int]]:
    """Return query, draw and number of every execution of which the agent wrote something down."""
    tables = {name for (name,) in journal.select("SELECT name FROM sqlite_master")}
    if "transcripts" not in tables:
        return []
    return (
        (q, d, e) for q, d, e in journal.select("SELECT query, draw, execution FROM transcripts")
    )


def refuse_unknown_capabilities(asked: Iterable[int], capabilities: int) -> None:
    """Raise if a capability is beyond those that are known: the journal was changed."""
    if any(not 0 <= capability < capabilities for capability in asked):
        raise JournalError(
            f"a draw in the journal asks for a capability beyond the {capabilities} that are "
            "written down; the journal was changed by something else and was left untouched"
        )


def _decoded(texts: Sequence[str]) -> tuple[Column, Column]:
    """Return how many attempts each text holds, and a row of numbers for each of them."""
    lengths: list[int] = []
    rows = [np.empty(0, dtype=np.int64)]
    for first in range(0, len(texts), _DECODED_AT_ONCE):
        some = texts[first : first + _DECODED_AT_ONCE]
        draws = json.loads(f"[{','.join(some)}]")
        if len(draws) != len(some):
            raise ValueError("draws that are not one list each")
        lengths += map(len, draws)
        attempts = itertools.chain.from_iterable(draws)
        numbers = [n for a in attempts for n in (a[0], a[1][0], a[1][-1], a[2], a[3])]
        try:
            rows.append(np.array(numbers, dtype=np.int64))
        except OverflowError as error:
            raise ValueError(str(error)) from error
    return np.array(lengths, dtype=np.int64), np.concatenate(rows).reshape(-1, 5)


def _refuse_unknown_states(attempts: Column, states: int) -> None:
    ends = attempts[:, 1:3]
    if ends.size and not 0 <= ends.min() <= ends.max() < states:
        raise ValueError(f"an attempt between states that are not among the {states} written down")


def _counting(lengths: Column) -> Column:
    """Count from 0 anew for each length.

    >>> _counting(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
