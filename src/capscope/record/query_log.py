"""A line for each query of a run: what was asked, what it took and what it told.

What a query told is what no query before it had shown: pairs tried for the first time and
transitions seen for the first time. Replaying the run query by query would tell the same and take
minutes for a hundred thousand queries; a chronicle knows when each was first seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from capscope.record.execution_table import Column, ExecutionTable
from capscope.record.journal import Journal
from capscope.record.journal_file import understood
from capscope.record.query_totals import QueryTotals, query_totals
from capscope.symbolic import State


class QueryEntry(NamedTuple):
    """What is known of one query."""

    number: int
    start: State
    """Where it started; of a batch, whose draws have their own starts, where the first did."""
    predicted: float
    """What it promised to tell."""
    informative: bool
    """The promise was above the run's threshold."""
    finished: bool
    draws: int
    totals: QueryTotals
    new_pairs: int
    new_transitions: int


def query_log(journal: Journal, table: ExecutionTable, queries: int) -> Iterator[QueryEntry]:
    """Yield the first queries of a journal, of which all executions are in the chronicle."""
    seen = table.distinct
    new_pairs = _in_each_query(seen.first_of_pair, table, queries)
    new_transitions = _in_each_query(seen.first, table, queries)
    rows = journal.select(
        "SELECT q.id, q.start, q.predicted, q.telling, q.finished, COUNT(d.draw) FROM queries q "
        "LEFT JOIN draws d ON d.query = q.id WHERE q.id < ? GROUP BY q.id ORDER BY q.id",
        queries,
    )
    # The totals go on where a run under way has asked more since it was read.
    for row, totals, pairs, transitions in zip(
        rows, query_totals(journal), new_pairs, new_transitions, strict=False
    ):
        number, start, predicted, informative, finished, draws = row
        with understood(journal.path):
            state = journal.states[start]
        yield QueryEntry(
            number, state, predicted, bool(informative), bool(finished), draws, totals,
            pairs, transitions,
        )  # fmt: skip


def _in_each_query(executions: Column, table: ExecutionTable, queries: int) -> list[int]:
    """Count the executions that were made in each query."""
    counts: list[int] = np.bincount(table.query[executions], minlength=queries).tolist()
    return counts
