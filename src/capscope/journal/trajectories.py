"""The states that executions passed through: a table has only the first and the last.

Most executions change the state once at most, and then there is nothing to read. The others are
decoded from the journal, each distinct text once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import numpy as np

from capscope.journal.execution_table import ExecutionTable
from capscope.journal.journal import Journal
from capscope.journal.journal_file import understood


def longer_trajectories(
    table: ExecutionTable, journal: Journal
) -> Iterator[tuple[int, Sequence[int]]]:
    """Yield the row and the states, by number, of each execution with more than one change."""
    long = table.changes > 1
    places = {
        (int(table.query[row]), int(table.draw[row])): row - int(table.number[row])
        for row in np.flatnonzero(long).tolist()
    }
    decoded: dict[str, list[list[int]]] = {}
    for query, draw, text in journal.select("SELECT query, draw, attempts FROM draws"):
        first = places.get((query, draw))
        if first is None:
            continue
        if text not in decoded:
            with understood(journal.path):
                decoded[text] = [attempt[1] for attempt in json.loads(text)]
        for row, states in enumerate(decoded[text], first):
            if long[row]:
                yield row, states
