"""One row for each query of a run: what it started from, what it promised and what it took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from capscope.journal.journal import Journal
from capscope.journal.journal_file import understood
from capscope.journal.usage import Usage
from capscope.stats.arrays import Floats, Integers, Mask


@dataclass(frozen=True)
class QueryTable:
    """One row for each query."""

    start: Integers
    """The state in which it started; if its draws have their own starts, that of the first."""
    predicted: Floats
    """The information it promised, in the measure of the strategy."""
    informative: Mask
    """Whether that exceeded the threshold."""
    finished: Mask
    """Whether all its draws are complete."""
    draws: Integers
    """How many draws were made."""
    executions: Integers
    """In all draws, like the columns below."""
    simulator_steps: Integers
    llm_tokens: Integers
    seconds: Floats
    """How long it took."""
    llm_cost: Floats
    """What was paid, in the currency of the prices."""

    def __len__(self) -> int:
        return len(self.start)

    def usage(self) -> Usage:
        """Add up what the queries took."""
        return Usage(
            len(self), int(self.executions.sum()), int(self.simulator_steps.sum()),
            int(self.llm_tokens.sum()), float(self.seconds.sum()), float(self.llm_cost.sum()),
        )  # fmt: skip

    def running_usage(self, before: Usage) -> Iterator[Usage]:
        """Yield what was spent after each query, on top of what was spent before all of them."""
        columns = (self.executions, self.simulator_steps, self.llm_tokens, self.seconds)
        rows = zip(*(column.tolist() for column in (*columns, self.llm_cost)), strict=True)
        for row in rows:
            before += Usage(1, *row)
            yield before

    def first(self, number: int) -> QueryTable:
        """Return the first queries."""
        return QueryTable(*(getattr(self, field.name)[:number] for field in fields(self)))


def read_queries(journal: Journal) -> QueryTable:
    """Read what is recorded about the queries themselves, without their draws."""
    rows = list(
        journal.select(
            "SELECT q.id, p.state, predicted, informative, finished, seconds FROM queries q "
            "JOIN positions p ON p.id = q.position ORDER BY q.id"
        )
    )
    with understood(journal.path):
        found = [row[1:] for expected, row in enumerate(rows) if row[0] == expected]
        columns = np.array(found, dtype=np.float64).reshape(-1, 5).T
    start, predicted, informative, finished, seconds = columns
    none = np.zeros(len(start), dtype=np.int64)
    return QueryTable(
        start.astype(np.int64), predicted, informative > 0, finished > 0, none, none, none, none,
        seconds, none.astype(np.float64),
    )  # fmt: skip


def with_totals(
    queries: QueryTable, query_of: Integers, length: Integers, costs: Sequence[Sequence[float]]
) -> QueryTable:
    """Add up the draws: for each its query, its executions, and steps, tokens, seconds and cost."""
    size = len(queries)
    steps, tokens, drawing, cost = np.array(costs, dtype=np.float64).reshape(-1, 4).T

    def total(values: Integers | Floats) -> Floats:
        return np.bincount(query_of, values, size).astype(np.float64)

    draws = np.bincount(query_of, minlength=size)
    # A query that was interrupted has no time of its own yet.
    timed = (queries.seconds > 0) | (draws == 0)
    return replace(
        queries,
        draws=draws,
        executions=total(length).astype(np.int64),
        simulator_steps=total(steps).astype(np.int64),
        llm_tokens=total(tokens).astype(np.int64),
        seconds=np.where(timed, queries.seconds, total(drawing)),
        llm_cost=total(cost),
    )
