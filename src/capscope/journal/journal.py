"""The durable record of a run: the source of truth from which everything else is derived.

A finished draw is committed before the next one begins, so a run killed at any moment loses at most
the draw in progress. Nothing derived is stored: graph, models and stopping counts are rebuilt from
the journal, and seeds come from places in the run, so a resumed run continues exactly as one that
was never interrupted.

SQLite in write-ahead mode: a kill cannot tear a transaction, and a reader may look while a run is
under way. States and start positions are stored once and referred to by number. A draw is a row of
JSON, so the file can be read with the sqlite3 shell alone. Transcripts of attempts are kept
separately and compressed. Reading is in `journal_reader`; this module records.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from capscope.errors import JournalError
from capscope.journal.checked_tables import CheckedTables, StoredSnapshot, stored_form
from capscope.journal.draws import Draw, Execution, QueryRecord, Start, encode, packed
from capscope.journal.journal_file import (
    APPLICATION_ID,
    FORMAT_VERSION,
    SCHEMA,
    JournalStamp,
    companion_files,
    connect,
    connect_for_reading,
    explained,
    file_stamp,
    understood,
    verify,
)
from capscope.journal.journal_reader import JournalReader
from capscope.journal.run_meta import Budget, RunMeta, StopReason
from capscope.logic import Intent, State, to_json
from capscope.problem.positions import SavedPosition
from capscope.stats.audit import AuditResult

_COST = 6
"""The column of what was paid for a draw."""
_MILLISECONDS_FOR_READERS = 1000
"""To wait at the end for those who are reading, so that nothing is left in the log."""


class Journal(JournalReader):
    """An open journal that a run is recorded in."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, *, read_only: bool = False
    ) -> None:
        super().__init__(path, connection)
        self._read_only = read_only
        self._tables = CheckedTables(connection)
        self._encoded: tuple[tuple[Execution, ...], str] = ((), "[]")
        self._positions: dict[tuple[int, StoredSnapshot], int] = {}
        if not read_only:
            self._reload()

    @classmethod
    def create(cls, path: Path, meta: RunMeta) -> Journal:
        """Start a new journal; the file must not exist."""
        if path.exists():
            raise JournalError(f"{path} exists; resume the run or choose another directory")
        # Made under another name: a journal either says what it is or does not exist.
        draft = path.with_name(f".{path.name}.draft")
        with explained(path):
            try:
                # A log that was left behind belongs to another file, yet SQLite would apply it.
                for old in (draft, *companion_files(draft)):
                    old.unlink(missing_ok=True)
                with closing(sqlite3.connect(draft, isolation_level=None)) as db:
                    db.execute("PRAGMA journal_mode = MEMORY")
                    db.executescript(
                        f"PRAGMA application_id = {APPLICATION_ID}; "
                        f"PRAGMA user_version = {FORMAT_VERSION}; {SCHEMA}"
                    )
                    cls(draft, db).set_meta(**meta.as_stored())
                    # Once it has its name, a kill must not leave a file for undoing this change.
                    db.execute("PRAGMA journal_mode = WAL")
                for old in companion_files(path):
                    old.unlink(missing_ok=True)
                draft.replace(path)
            except BaseException:
                for made in (draft, *companion_files(draft)):
                    with suppress(OSError):
                        made.unlink(missing_ok=True)
                raise
        return cls.open(path)

    @classmethod
    def open(
        cls, path: Path, *, read_only: bool = False, verified: JournalStamp | None = None
    ) -> Journal:
        """Open an existing journal, or say why it cannot be read.

        It is checked, unless it still has the stamp with which it was `verified` before.
        """
        if not path.is_file():
            raise JournalError(f"no journal at {path}; is {path.parent} a run directory?")
        with understood(path):
            if verified is None or verified != file_stamp(path):
                verify(path)
            db = connect_for_reading(path) if read_only else connect(path)
            try:
                return cls(path, db, read_only=read_only)
            except BaseException:
                db.close()
                raise

    def close(self) -> None:
        """Close the file; everything recorded is on disk already."""
        if not self._read_only:
            # SQLite does this by itself, but not while another process reads.
            with suppress(sqlite3.Error):
                self._db.execute(f"PRAGMA busy_timeout = {_MILLISECONDS_FOR_READERS}")
                self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        super().close()

    def _reload(self) -> None:
        """Read what is kept in memory; after a rollback it is not what is on disk."""
        self._states.clear()
        self._ids.clear()
        self._load_states()
        rows = self._rows("SELECT state, snapshot, id FROM positions")
        self._positions = {(state, snapshot): number for state, snapshot, number in rows}
        self._encoded = ((), "[]")
        self._tables.reload()

    @contextmanager
    def _transaction(self) -> Iterator[CheckedTables]:
        if self._read_only:
            raise JournalError(f"{self.path} was opened readonly; nothing was written")
        with explained(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._tables
                self._tables.save()
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                with suppress(sqlite3.Error, JournalError):
                    self._reload()
                raise

    def _number(self, state: State) -> int:
        number = self._ids.get(state)
        if number is None:
            number = self._ids[state] = len(self._states)
            self._states.append(state)
            self._tables.insert("states", number, hex(state))
        return number

    def _position(self, start: Start) -> int:
        snapshot, name = _split_name(start.position)
        key = self._number(start.state), stored_form(snapshot)
        number = self._positions.get(key)
        if number is None:
            number = self._positions[key] = len(self._positions)
            self._tables.insert("positions", number, key[0], self._tables.store(snapshot), name)
        return number

    def set_meta(self, **entries: Any) -> None:
        """Replace entries of what the journal says about its run (see `RunMeta`)."""
        with self._transaction() as tables:
            for key, value in entries.items():
                tables.replace("meta", key, json.dumps(to_json(value)))

    def set_stopped(
        self, reason: StopReason, budget: Budget, audit: AuditResult | None = None
    ) -> None:
        """Record why the run stopped, for readers who would otherwise have to replay it."""
        self.set_meta(stopped={"because": reason, "budget": budget}, audit=audit)

    def add_discovery(
        self, intents: Sequence[Intent], simulator_steps: int, *, cut: bool = False
    ) -> None:
        """Record what discovery found, all at once: a kill leaves it done or not begun.

        It replaces what was found by one that a budget `cut` short.
        """
        found = {"intents": len(intents), "simulator_steps": simulator_steps, "cut": cut}
        with self._transaction() as tables:
            for number in range(len(self.intents())):
                tables.delete("intents", number)
            for row in _intent_rows(intents, 0):
                tables.insert("intents", *row)
            tables.replace("meta", "discovery", json.dumps(found))

    def add_intents(self, intents: Sequence[Intent], first: int) -> None:
        """Record intents from number `first` on; those recorded before stay as they are."""
        known = {number for (number,) in self._rows("SELECT id FROM intents")}
        new = [row for row in _intent_rows(intents, first) if row[0] not in known]
        if new:
            with self._transaction() as tables:
                for row in new:
                    tables.insert("intents", *row)

    def forget_intents(self, first: int) -> None:
        """Remove intents from number `first` on, which draws that were removed had discovered."""
        with self._transaction() as tables:
            for (number,) in self._rows("SELECT id FROM intents WHERE id >= ?", first):
                tables.delete("intents", number)

    def begin_query(self, number: int, record: QueryRecord, starts: Sequence[Start] = ()) -> None:
        """Record a query before its first draw; `starts` if each draw has its own.

        They are kept for the latest query only: afterwards the draws have them.
        """
        with self._transaction() as tables:
            tables.insert(
                "queries", number, self._position(record.start), record.distance, float(record.xi),
                float(record.predicted), int(record.informative), 0, None, 0.0,
            )  # fmt: skip
            for i, start in enumerate(starts):
                tables.replace("starts", i, number, self._position(start))

    def finish_query(self, number: int, policy: Mapping[str, Any], seconds: float) -> None:
        """Mark a query as complete."""
        with self._transaction() as tables:
            begun = tables.delete("queries", number)
            if begun is not None:
                tables.insert("queries", *begun[:6], 1, json.dumps(policy), float(seconds))

    def add_draw(
        self,
        place: tuple[int, int],
        start: Start,
        draw: Draw,
        kept: Mapping[tuple[State, int], SavedPosition],
    ) -> None:
        """Commit a finished draw at ⟨query, index⟩ with the positions kept, by state and slot."""
        with self._transaction() as tables:
            tables.insert(
                "draws", *place, self._position(start), self._text(draw.executions),
                draw.simulator_steps, draw.llm_tokens, float(draw.llm_cost), int(draw.cut),
                float(draw.seconds),
            )  # fmt: skip
            for number, (_, attempt) in enumerate(draw.executions):
                if attempt.transcript:
                    text = packed(attempt.transcript, self._transcript_dictionary())
                    tables.insert("transcripts", *place, number, text)
            if draw.end is not None:
                self._keep("ends", place[1], place[0], draw.end)
            for (state, slot), position in kept.items():
                self._keep("snapshots", self._number(state), slot, position)

    def _text(self, executions: tuple[Execution, ...]) -> str:
        # Draws of one query are often identical.
        if executions != self._encoded[0]:
            self._encoded = executions, encode(executions, self._number)
        return self._encoded[1]

    def remove_draw(self, query: int, index: int) -> None:
        """Remove a draw that is to be made again; what was paid for it stays paid."""
        paid = self.read_meta().unrecorded_cost
        with self._transaction() as tables:
            draw = tables.delete("draws", query, index)
            paid += 0.0 if draw is None else draw[_COST]
            transcripts = "SELECT execution FROM transcripts WHERE (query, draw) = (?, ?)"
            for (execution,) in self._rows(transcripts, query, index):
                tables.delete("transcripts", query, index, execution)
            end = tables.delete("ends", index)
            if end is not None:
                self._tables.release(end[2])
            if paid:
                tables.replace("meta", "unrecorded_cost", json.dumps(paid))

    def _keep(self, table: str, first: int, second: int, position: SavedPosition) -> None:
        snapshot, name = _split_name(position)
        old = self._tables.replace(table, first, second, self._tables.store(snapshot), name)
        if old is not None:
            self._tables.release(old[2])

    def keep_position(self, state: State, slot: int, position: SavedPosition) -> None:
        """Keep a position that was met outside any draw."""
        with self._transaction():
            self._keep("snapshots", self._number(state), slot, position)


def _intent_rows(intents: Sequence[Intent], first: int) -> list[tuple[int, str]]:
    return [(first + i, json.dumps(intent.as_lists())) for i, intent in enumerate(intents)]


def _split_name(position: SavedPosition) -> tuple[bytes, bytes | None]:
    """Return snapshot and name as they are stored: a name that is the snapshot is left out."""
    snapshot, name = position
    return snapshot, None if name == snapshot else name
