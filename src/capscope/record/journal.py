"""The durable record of a run: the source of truth from which everything else is derived.

A finished draw is committed before the next one begins, so a run killed at any moment loses at most
the draw in progress. Nothing derived is stored: graph, models and stopping counts are rebuilt from
the journal, and seeds come from places in the run, so a resumed run continues exactly as one that
was never interrupted.

SQLite in write-ahead mode: a kill cannot tear a transaction, and a reader may look while a run is
under way. States and start positions are stored once and referred to by number. An attempt is a row
of JSON, `[capability, [states…], simulator_steps, ending]`, followed by `llm_tokens` and `detail`
if there are any, so the file can be read with the sqlite3 shell alone. Transcripts of attempts are
kept separately and compressed.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from capscope.errors import JournalError
from capscope.record.checked_tables import CheckedTables
from capscope.record.contents import Contents, StoredSnapshot, read_content, stored_form
from capscope.record.identity import InitialPositions, RunMeta
from capscope.record.journal_file import (
    APPLICATION_ID,
    FORMAT_VERSION,
    SCHEMA,
    JournalStamp,
    companion_files,
    connect,
    connect_for_reading,
    explained,
    file_stamp,
    joined_name,
    split_name,
    understood,
    verify,
)
from capscope.record.stop_reason import StopReason
from capscope.record.transcripts import packed, unpacked
from capscope.record.usage import Budget, Usage
from capscope.statistics.audit import AuditResult
from capscope.symbolic import Intent, Literal, State
from capscope.world.attempt import Attempt, Ending
from capscope.world.positions import SavedPosition

ENDINGS = tuple(Ending)
"""An ending is stored as its index."""
_COST = 6
"""The column of what was paid for a draw."""


class Execution(NamedTuple):
    """A capability that was asked for, and the attempt that followed."""

    capability: int
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Draw:
    """One of the independent executions of a query."""

    executions: tuple[Execution, ...]
    simulator_steps: int
    llm_tokens: int
    seconds: float
    cut: bool
    """A budget ran out: the draw, and with it the query, is incomplete."""
    end: SavedPosition | None = None
    """The position at the end; the journal keeps those of the latest query only."""
    llm_cost: float = 0.0
    """What was paid for it; kept apart from what happened, as times are."""

    @property
    def usage(self) -> Usage:
        """What the draw took."""
        return Usage(
            0, len(self.executions), self.simulator_steps, self.llm_tokens, self.seconds,
            self.llm_cost,
        )  # fmt: skip


class Start(NamedTuple):
    """Where a draw starts: a state and a position in it."""

    state: State
    position: SavedPosition


@dataclass(frozen=True, slots=True)
class QueryRecord:
    """What is recorded about a query before its draws."""

    start: Start
    distance: int
    """How far the start is from where the walk began."""
    xi: float
    predicted: float
    informative: bool
    finished: bool = False
    seconds: float = 0.0
    policy: str | None = None


class Journal:
    """An open journal; every error of the database becomes one line about the run."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, *, read_only: bool = False
    ) -> None:
        self.path = path
        self._db = connection
        self._tables: tuple[CheckedTables, Contents] | None = None
        if not read_only:
            tables = CheckedTables(connection)
            self._tables = tables, Contents(connection, tables)
        self._ids: dict[State, int] = {}
        self._states: list[State] = []
        self._encoded: tuple[tuple[Execution, ...], str] = ((), "[]")
        self._load_states()
        self._positions: dict[tuple[int, StoredSnapshot], int] = {}

    @classmethod
    def create(cls, path: Path, meta: RunMeta) -> Journal:
        """Start a new journal; the file must not exist."""
        if path.exists():
            raise JournalError(f"{path} exists; resume the run or choose another directory")
        # Made under another name: a journal either says what it is or does not exist.
        draft = path.with_name(f".{path.name}.draft")
        with explained(path):
            try:
                draft.unlink(missing_ok=True)
                with closing(sqlite3.connect(draft, isolation_level=None)) as db:
                    db.execute("PRAGMA journal_mode = MEMORY")
                    db.executescript(
                        f"PRAGMA application_id = {APPLICATION_ID}; "
                        f"PRAGMA user_version = {FORMAT_VERSION}; {SCHEMA}"
                    )
                    cls(draft, db)._write_meta(meta.as_stored())
                # A log that was left behind belongs to another journal, yet SQLite would apply it.
                for left_behind in companion_files(path):
                    left_behind.unlink(missing_ok=True)
                draft.replace(path)
            except BaseException:
                with suppress(OSError):
                    draft.unlink(missing_ok=True)
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
                journal = cls(path, db, read_only=read_only)
                if not read_only:
                    journal._load_positions()
                return journal
            except BaseException:
                db.close()
                raise

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

    def _load_states(self) -> None:
        new = "SELECT id, bits FROM states WHERE id >= ? ORDER BY id"
        with understood(self.path):
            for number, bits in self._db.execute(new, (len(self._states),)):
                if number != len(self._states):
                    raise ValueError(f"state {number} follows state {len(self._states) - 1}")
                self._ids[int(bits, 16)] = number
                self._states.append(int(bits, 16))

    def _load_positions(self) -> None:
        rows = self._db.execute("SELECT state, snapshot, id FROM positions")
        self._positions = {(state, snapshot): number for state, snapshot, number in rows}

    @contextmanager
    def _transaction(self) -> Iterator[CheckedTables]:
        known, positions = len(self._states), len(self._positions)
        tables, large = self._writable
        with explained(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield tables
                tables.save()
                self._db.execute("COMMIT")
            except BaseException:
                # What was numbered in a transaction that failed is not on disk.
                for state in self._states[known:]:
                    del self._ids[state]
                del self._states[known:]
                for key in list(self._positions)[positions:]:
                    del self._positions[key]
                self._encoded = ((), "[]")
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                with suppress(sqlite3.Error):
                    tables.reload()
                    large.reload()
                raise

    @property
    def _checked(self) -> CheckedTables:
        return self._writable[0]

    @property
    def _large(self) -> Contents:
        return self._writable[1]

    @property
    def _writable(self) -> tuple[CheckedTables, Contents]:
        if self._tables is None:
            raise JournalError(f"{self.path} was opened readonly; nothing was written")
        return self._tables

    def _saved(self, stored: StoredSnapshot, name: bytes | None) -> SavedPosition:
        return joined_name(read_content(self._db, stored), name)

    def _number(self, state: State) -> int:
        number = self._ids.get(state)
        if number is None:
            number = self._ids[state] = len(self._states)
            self._states.append(state)
            self._checked.insert("states", number, hex(state))
        return number

    def _position(self, start: Start) -> int:
        snapshot, name = split_name(start.position)
        key = self._number(start.state), stored_form(snapshot)
        number = self._positions.get(key)
        if number is None:
            number = self._positions[key] = len(self._positions)
            self._checked.insert("positions", number, key[0], self._large.store(snapshot), name)
        return number

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

    def _write_meta(self, entries: Mapping[str, Any]) -> None:
        with self._transaction() as tables:
            for key, value in entries.items():
                tables.replace("meta", key, json.dumps(value))

    def set_budget(self, budget: Budget) -> None:
        """Replace the budget of the run."""
        self._write_meta({"budget": budget.as_dict()})

    def set_initial_positions(self, began: InitialPositions) -> None:
        """Record where the run began."""
        self._write_meta({"initial_positions": began.as_dict()})

    def set_file_digests(self, digests: Sequence[str]) -> None:
        """Record which texts the problem's file has had."""
        self._write_meta({"file_digests": list(digests)})

    def set_unrecorded_cost(self, cost: float) -> None:
        """Record what was paid for draws that were interrupted."""
        self._write_meta({"unrecorded_cost": cost})

    def set_stopped(
        self, reason: StopReason, budget: Budget, audit: AuditResult | None = None
    ) -> None:
        """Record why the run stopped, for readers who would otherwise have to replay it."""
        stopped = {"because": reason.as_dict(), "budget": budget.as_dict()}
        self._write_meta({"stopped": stopped, "audit": audit and audit.as_dict()})

    def forget_audit(self) -> None:
        """Record that a run goes on: what its audit said may not be the last word."""
        self._write_meta({"audit": None})

    def intents(self) -> list[Intent]:
        """Return the intents in order."""
        with understood(self.path):
            rows = self._db.execute("SELECT literals FROM intents ORDER BY id").fetchall()
            return [Intent(tuple(map(Literal.parse, json.loads(row[0])))) for row in rows]

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
        known = {number for (number,) in self.select("SELECT id FROM intents")} if intents else ()
        new = [row for row in _intent_rows(intents, first) if row[0] not in known]
        if new:
            with self._transaction() as tables:
                for row in new:
                    tables.insert("intents", *row)

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

    def starts(self, query: int) -> list[Start]:
        """Return where each draw of the latest query starts; empty if all start together."""
        with understood(self.path):
            rows = self._db.execute(
                "SELECT state, snapshot, name FROM starts s JOIN positions p ON p.id = s.position "
                "WHERE query = ? ORDER BY draw",
                (query,),
            ).fetchall()
            return [Start(self._states[s], self._saved(at, name)) for s, at, name in rows]

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
                "draws", *place, self._position(start), self._encode(draw.executions),
                draw.simulator_steps, draw.llm_tokens, float(draw.llm_cost), int(draw.cut),
                float(draw.seconds),
            )  # fmt: skip
            for number, (_, attempt) in enumerate(draw.executions):
                if attempt.transcript:
                    text = packed(attempt.transcript, self._transcript_dictionary())
                    tables.insert("transcripts", *place, number, text)
            if draw.end is not None:
                self._replace("ends", place[1], place[0], draw.end)
            for (state, slot), position in kept.items():
                self._keep(state, slot, position)

    def remove_draw(self, query: int, index: int) -> None:
        """Remove a draw that is to be made again; what was paid for it stays paid."""
        paid = self.read_meta().unrecorded_cost
        with self._transaction() as tables:
            draw = tables.delete("draws", query, index)
            paid += 0.0 if draw is None else draw[_COST]
            transcripts = "SELECT execution FROM transcripts WHERE (query, draw) = (?, ?)"
            for (execution,) in self._db.execute(transcripts, (query, index)).fetchall():
                tables.delete("transcripts", query, index, execution)
            end = tables.delete("ends", index)
            if end is not None:
                self._large.release(end[2])
            if paid:
                tables.replace("meta", "unrecorded_cost", json.dumps(paid))

    def _keep(self, state: State, slot: int, position: SavedPosition) -> None:
        self._replace("snapshots", self._number(state), slot, position)

    def _replace(self, table: str, first: int, second: int, position: SavedPosition) -> None:
        snapshot, name = split_name(position)
        old = self._checked.replace(table, first, second, self._large.store(snapshot), name)
        if old is not None:
            self._large.release(old[2])

    def keep_position(self, state: State, slot: int, position: SavedPosition) -> None:
        """Keep a position that was met outside any draw."""
        with self._transaction():
            self._keep(state, slot, position)

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
            decoded = {text: self._decode(text) for text in dict.fromkeys(row[0] for row in rows)}
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

    def _encode(self, executions: tuple[Execution, ...]) -> str:
        # Draws of one query are often identical.
        if executions == self._encoded[0]:
            return self._encoded[1]
        rows: list[list[Any]] = []
        for capability, attempt in executions:
            states = [self._number(state) for state in attempt.trajectory]
            row = [capability, states, attempt.simulator_steps, ENDINGS.index(attempt.ending)]
            if attempt.llm_tokens or attempt.detail:
                row += [attempt.llm_tokens, attempt.detail]
            rows.append(row)
        self._encoded = executions, json.dumps(rows, separators=(",", ":"))
        return self._encoded[1]

    def _decode(self, text: str) -> tuple[Execution, ...]:
        states = self._states
        executions = []
        for capability, numbers, steps, ending, *rest in json.loads(text):
            trajectory = tuple(states[number] for number in numbers)
            executions.append(
                Execution(capability, Attempt(trajectory, steps, ENDINGS[ending], *rest))
            )
        return tuple(executions)


def _intent_rows(intents: Sequence[Intent], first: int) -> list[tuple[int, str]]:
    return [
        (first + i, json.dumps([str(literal) for literal in intent.literals]))
        for i, intent in enumerate(intents)
    ]
