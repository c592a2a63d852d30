"""The actions of executions as a journal stores them.

Few actions are taken often, so each distinct one is stored once, and a draw has a list of numbers
for each execution: `[[3],[17,4]]`. An execution whose actions take too much room has null instead.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence

from capscope.journal.checked_tables import CheckedTables
from capscope.journal.draws import Execution
from capscope.problem.actions import WrittenAction

MOST_ACTIONS = 1000
"""Of one execution."""
MOST_CHARACTERS = 16_000
"""Of the distinct actions of one execution."""


class ActionNumbers:
    """Numbers the distinct actions of a journal; made again after a rollback."""

    def __init__(self, db: sqlite3.Connection) -> None:
        rows = db.execute("SELECT written, id FROM actions")
        self._numbers: dict[str, int] = dict(rows.fetchall())

    def encode(self, executions: Sequence[Execution], tables: CheckedTables) -> str:
        """Return the text of the actions of a draw, and store those that are new."""
        lists = [self._of(attempt.actions, tables) for _, attempt in executions]
        return json.dumps(lists, separators=(",", ":"))

    def _of(self, actions: Sequence[WrittenAction], tables: CheckedTables) -> list[int] | None:
        if len(actions) > MOST_ACTIONS:
            return None
        texts = [json.dumps(one, separators=(",", ":")) for one in actions]
        if sum(map(len, set(texts))) > MOST_CHARACTERS:
            return None
        return [self._number(text, tables) for text in texts]

    def _number(self, text: str, tables: CheckedTables) -> int:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self._numbers)
            tables.insert("actions", number, text)
        return number


def read_actions(
    db: sqlite3.Connection, query: int, draw: int
) -> Iterator[tuple[WrittenAction, ...] | None]:
    """Yield the actions of each execution of a draw; None if they took too much room."""
    rows = db.execute("SELECT actions FROM draws WHERE (query, draw) = (?, ?)", (query, draw))
    for numbers in [numbers for (text,) in rows for numbers in json.loads(text)]:
        yield None if numbers is None else tuple(_read(db, number) for number in numbers)


def _read(db: sqlite3.Connection, number: int) -> WrittenAction:
    row = db.execute("SELECT written FROM actions WHERE id = ?", (number,)).fetchone()
    if row is None:
        raise ValueError(f"action {number} is missing")
    return json.loads(row[0])
