"""What each query of a run took, read in one sweep.

Asking the journal for each query and its draws costs two statements a query and an object for each
execution; the database adds up the same in one statement.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from capscope.record.journal import Journal


class QueryTotals(NamedTuple):
    """What the draws of a query took together."""

    executions: int
    simulator_steps: int
    llm_tokens: int
    seconds: float
    llm_cost: float


def query_totals(journal: Journal) -> Iterator[QueryTotals]:
    """Yield what each query took, an unfinished one included, in order."""
    paid = "SELECT query, SUM(llm_cost) FROM costs GROUP BY query"
    costs: dict[int, float] = dict(journal.select(paid)) if journal.has_costs else {}
    rows = journal.select(
        "SELECT q.id, q.seconds, COUNT(d.draw), SUM(json_array_length(d.attempts)), "
        "SUM(d.simulator_steps), SUM(d.llm_tokens), SUM(d.seconds) "
        "FROM queries q LEFT JOIN draws d ON d.query = q.id GROUP BY q.id ORDER BY q.id"
    )
    for expected, (query, seconds, draws, executions, steps, tokens, drawing) in enumerate(rows):
        if query != expected:
            return
        if draws:
            cost = costs.get(query, 0.0)
            yield QueryTotals(executions, steps, tokens, seconds or drawing, cost)
        else:
            yield QueryTotals(0, 0, 0, seconds, 0.0)
