"""What can be read from an open journal; every error of the database becomes one line."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from capscope.errors import JournalError
from capscope.journal.contents import StoredSnapshot, read_content
from capscope.journal.identity import RunMeta
from capscope.journal.journal_file import (
    explained,
    file_stamp,
    joined_name,
    require_unchanged,
    understood,
)
from capscope.journal.recorded_draws import Draw, QueryRecord, Start, decode
from capscope.journal.transcripts import unpacked
from capscope.logic import Intent, State
from capscope.problem.positions import SavedPosition


class JournalReader:
    """The questions that a journal answers."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._db = connection
        self._opened = file_stamp(path)
        self._ids: dict[State, int] = {}
        self._states: list[State] = []
        self._load_states()

    def close(self) -> None:
        """Close the file; everything recorded is on disk already."""
        self._db.close()

    @contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """Read everything as it is now, whatever a run under way records meanwhile."""
        with explained(self.path):
            self._db.execute("BEGIN")
        try:
            self._load_states()
            yield
        finally:
            self._db.execute("ROLLBACK")
            require_unchanged(self.path, self._opened)

    def _load_states(self) -> None:
        new = "SELECT id, bits FROM states WHERE id >= ? ORDER BY id"
        with understood(self.path):
            for number, bits in self._db.execute(new, (len(self._states),)):
                if number != len(self._states):
                    raise ValueError(f"state {number} follows state {len(self._states) - 1}")
                self._ids[int(bits, 16)] = number
                self._states.append(int(bits, 16))

    def _saved(self, stored: StoredSnapshot, name: bytes | None) -> SavedPosition:
        return joined_name(read_content(self._db, stored), name)

    def read_meta(self) -> RunMeta:
        """Return what the journal says about its run."""
        return self.meta_of(self.path, self._db)

    @staticmethod
    def meta_of(path: Path, db: sqlite3.Connection) -> RunMeta:
        """Return what an open file says about its run."""
        with understood(path):
            rows = db.execute("SELECT key, value FROM meta").fetchall()
            stored = {key: json.loads(value) for key, value in rows}
        missing = RunMeta.REQUIRED.difference(stored)
        if missing:
            raise JournalError(
                f"{path} lacks its {', '.join(sorted(missing))}; it was changed by something "
                "else and was left untouched"
            )
        with understood(path):
            return RunMeta.from_stored(stored)

    def intents(self) -> list[Intent]:
        """Return the intents in order."""
        with understood(self.path):
            rows = self._db.execute("SELECT literals FROM intents ORDER BY id").fetchall()
            return [Intent.from_lists(json.loads(row[0])) for row in rows]

    def query(self, number: int) -> QueryRecord | None:
        """Return what was recorded about a query; None if it was never begun."""
        with understood(self.path):
            row = self._db.execute(
                "SELECT state, snapshot, name, distance, xi, predicted, informative, finished, "
                "seconds, policy FROM queries q JOIN positions p ON p.id = q.position "
                "WHERE q.id = ?",
                (number,),
            ).fetchone()
            if row is None:
                return None
            state, snapshot, name, distance, xi, predicted, informative, *rest = row
            finished, seconds, policy = rest
            return QueryRecord(
                Start(self._states[state], self._saved(snapshot, name)), distance, xi, predicted,
                bool(informative), bool(finished), seconds, policy,
            )  # fmt: skip

    def starts(self, query: int) -> list[Start]:
        """Return where each draw of the latest query starts; empty if all start together."""
        with understood(self.path):
            rows = self._db.execute(
                "SELECT state, snapshot, name FROM starts s JOIN positions p ON p.id = s.position "
                "WHERE query = ? ORDER BY draw",
                (query,),
            ).fetchall()
            return [Start(self._states[s], self._saved(at, name)) for s, at, name in rows]

    def draws(self, query: int) -> list[Draw]:
        """Return the recorded draws of a query, in order."""
        with understood(self.path):
            rows = self._db.execute(
                "SELECT attempts, d.simulator_steps, llm_tokens, seconds, cut, snapshot, name, "
                "llm_cost FROM draws d LEFT JOIN ends e ON e.draw = d.draw AND e.query = d.query "
                "WHERE d.query = ? ORDER BY d.draw",
                (query,),
            ).fetchall()
            # Draws are often identical: each text is decoded once, and shared.
            decoded = {
                text: decode(text, self._states) for text in dict.fromkeys(row[0] for row in rows)
            }
            return [
                Draw(
                    decoded[attempts], steps, tokens, seconds, bool(cut),
                    None if snapshot is None else self._saved(snapshot, name), cost,
                )
                for attempts, steps, tokens, seconds, cut, snapshot, name, cost in rows
            ]  # fmt: skip

    def transcript(self, query: int, draw: int, execution: int) -> str:
        """Return the agent's transcript of an execution; empty if there is none."""
        with understood(self.path):
            found = self._db.execute(
                "SELECT text FROM transcripts WHERE (query, draw, execution) = (?, ?, ?)",
                (query, draw, execution),
            ).fetchone()
            return "" if found is None else unpacked(found[0], self._transcript_dictionary())

    def transcribed(self) -> list[tuple[int, int, int]]:
        """Return query, draw and number of every execution that has a transcript."""
        return [
            (q, d, e) for q, d, e in self.select("SELECT query, draw, execution FROM transcripts")
        ]

    def _transcript_dictionary(self) -> bytes:
        first = self._db.execute(
            "SELECT text FROM transcripts ORDER BY query, draw, execution LIMIT 1"
        ).fetchone()
        return b"" if first is None else unpacked(first[0], b"").encode()

    def positions(self, state: State) -> list[SavedPosition]:
        """Return the positions kept for a state."""
        with understood(self.path):
            rows = self._db.execute(
                "SELECT snapshot, name FROM snapshots WHERE state = ? ORDER BY slot",
                (self._ids.get(state, -1),),
            ).fetchall()
            return [self._saved(*row) for row in rows]

    def start_of(self, query: int, draw: int) -> SavedPosition | None:
        """Return the position that a draw started from; None if that is not known."""
        with understood(self.path):
            row = self._db.execute(
                "SELECT snapshot, name FROM draws d JOIN positions p ON p.id = d.position "
                "WHERE (query, draw) = (?, ?)",
                (query, draw),
            ).fetchone()
            return None if row is None else self._saved(*row)

    @property
    def states(self) -> Sequence[State]:
        """Every recorded state, by its number."""
        return self._states

    def state_number(self, state: State) -> int:
        """Return the number of a recorded state."""
        return self._ids[state]

    @property
    def asked(self) -> bool:
        """Whether anything was asked, or found not worth asking."""
        rows = "SELECT 1 FROM queries UNION SELECT 1 FROM meta WHERE key = 'stopped'"
        return any(True for _ in self.select(rows))

    def select(self, statement: str, *parameters: Any) -> Iterator[tuple[Any, ...]]:
        """Read rows by a statement of one's own."""
        with explained(self.path):
            yield from self._db.execute(statement, parameters)
