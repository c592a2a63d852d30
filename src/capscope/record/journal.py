"""The durable record of a run: the source of truth from which everything else is derived.

A finished draw is committed before the next one begins, so a run killed at any instant loses at
most the draw under way. Nothing derived is stored: dataset, models and stopping counts are rebuilt
by replaying the journal, and seeds come from places, so a resumed run goes on exactly as one that
was never interrupted.

SQLite in write-ahead mode: a kill cannot tear a transaction, and a reader may look while a run is
under way. States are written once and referred to by number. An attempt is a row of JSON,
`[capability, [states…], simulator_steps, ending]` with `llm_tokens` and `detail` behind where there
are any, so that the file can be read with the sqlite3 shell alone.
What an agent wrote down of an attempt, its transcript, is kept apart and compressed.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from capscope.errors import JournalError
from capscope.record.journal_file import (
    APPLICATION_ID,
    FORMAT_VERSION,
    LATER_TABLES,
    SCHEMA,
    connected,
    connected_for_reading,
    explained,
    understood,
    verify,
)
from capscope.record.transcripts import packed, unpacked
from capscope.symbolic import Intent, Literal, State
from capscope.world.attempt import Attempt, Ending

ENDINGS = tuple(Ending)
"""An ending is written as its position."""


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
    end_snapshot: bytes | None = None
    """The position at the end; the journal keeps those of the latest query only."""
    llm_cost: float = 0.0
    """What was paid for it; kept apart from what happened, as times are."""


@dataclass(frozen=True, slots=True)
class QueryRecord:
    """What is written down of a query before its draws."""

    start: State
    start_snapshot: bytes
    distance: int
    xi: float
    predicted: float
    informative: bool
    finished: bool = False
    seconds: float = 0.0
    policy: str | None = None


class Journal:
    """An open journal; every error of the database becomes a sentence about the run."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._db = connection
        self._ids: dict[State, int] = {}
        self._states: list[State] = []
        self._encoded: tuple[tuple[Execution, ...], str] = ((), "[]")
        self._load_states()
        # An earlier release's journal that is only looked at is not given the later tables.
        with explained(path):
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        self.has_costs = "costs" in tables
        self._has_transcripts = "transcripts" in tables

    @classmethod
    def create(cls, path: Path, meta: Mapping[str, Any]) -> Journal:
        """Start a new journal; the file must not exist."""
        if path.exists():
            raise JournalError(f"{path} exists; resume the run or choose another directory")
        # Made under another name: a journal either says what it is or does not exist.
        draft = path.with_name(f".{path.name}.draft")
        with explained(path):
            draft.unlink(missing_ok=True)
            with closing(sqlite3.connect(draft, isolation_level=None)) as db:
                db.execute("PRAGMA journal_mode = MEMORY")
                db.executescript(
                    f"PRAGMA application_id = {APPLICATION_ID}; "
                    f"PRAGMA user_version = {FORMAT_VERSION}; {SCHEMA}"
                )
                cls(draft, db).write_meta(meta)
            draft.replace(path)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> Journal:
        """Open an existing journal, or say why it cannot be read."""
        if not path.is_file():
            raise JournalError(f"no journal at {path}; is {path.parent} a run directory?")
        with understood(path):
            verify(path)
            db = connected_for_reading(path) if read_only else connected(path)
            try:
                if not read_only:
                    db.execute("PRAGMA journal_mode = WAL")
                    db.execute("PRAGMA synchronous = NORMAL")
                    for table in LATER_TABLES:
                        db.execute(table)
                return cls(path, db)
            except BaseException:
                db.close()
                raise

    def close(self) -> None:
        """Close the file; everything recorded is on disk already."""
        self._db.close()

    @contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """Read it all as it is now, whatever a run under way writes down meanwhile."""
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

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        known = len(self._states)
        with explained(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                # States numbered in a transaction that failed are not on disk.
                for state in self._states[known:]:
                    del self._ids[state]
                del self._states[known:]
                self._encoded = ((), "[]")
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def _number(self, state: State) -> int:
        number = self._ids.get(state)
        if number is None:
            number = self._ids[state] = len(self._states)
            self._states.append(state)
            self._db.execute("INSERT INTO states VALUES (?, ?)", (number, hex(state)))
        return number

    def read_meta(self) -> dict[str, Any]:
        """Return what the run was started with."""
        with understood(self.path):
            rows = self._db.execute("SELECT key, value FROM meta").fetchall()
            return {key: json.loads(value) for key, value in rows}

    def write_meta(self, meta: Mapping[str, Any]) -> None:
        """Add or replace entries."""
        with self._transaction() as db:
            for key, value in meta.items():
                db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, json.dumps(value)))

    def intents(self) -> list[Intent]:
        """Return the intents in order."""
        with understood(self.path):
            rows = self._db.execute("SELECT literals FROM intents ORDER BY id").fetchall()
            return [Intent(tuple(map(Literal.parse, json.loads(row[0])))) for row in rows]

    def add_discovery(self, intents: Sequence[Intent], simulator_steps: int) -> None:
        """Write down what discovery found, all at once: a kill leaves it done or not begun."""
        found = {"intents": len(intents), "simulator_steps": simulator_steps}
        with self._transaction() as db:
            db.executemany("INSERT INTO intents VALUES (?, ?)", _intent_rows(intents, 0))
            db.execute("INSERT INTO meta VALUES ('discovery', ?)", (json.dumps(found),))

    def add_intents(self, intents: Sequence[Intent], first: int) -> None:
        """Write intents from number `first` on; those recorded before are left as they are."""
        if not intents:
            return
        with self._transaction() as db:
            db.executemany(
                "INSERT OR IGNORE INTO intents VALUES (?, ?)", _intent_rows(intents, first)
            )

    def query(self, number: int) -> QueryRecord | None:
        """Return what was recorded of a query; None if it was never begun."""
        with understood(self.path):
            row = self._db.execute(
                "SELECT start, start_snapshot, distance, xi, predicted, telling, finished, "
                "seconds, policy FROM queries WHERE id = ?",
                (number,),
            ).fetchone()
            if row is None:
                return None
            start, snapshot, distance, xi, predicted, informative, finished, seconds, policy = row
            return QueryRecord(
                self._states[start], snapshot, distance, xi, predicted, bool(informative),
                bool(finished), seconds, policy,
            )  # fmt: skip

    def begin_query(
        self, number: int, record: QueryRecord, starts: Sequence[tuple[State, bytes]] = ()
    ) -> None:
        """Write a query down before its first draw; `starts` if each draw has its own.

        They are kept for the latest query only: where a draw began is in its first attempt.
        """
        with self._transaction() as db:
            db.execute(
                "INSERT INTO queries (id, start, start_snapshot, distance, xi, predicted, telling) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    number, self._number(record.start), record.start_snapshot, record.distance,
                    record.xi, record.predicted, record.informative,
                ),
            )  # fmt: skip
            db.executemany(
                "INSERT OR REPLACE INTO starts VALUES (?, ?, ?, ?)",
                [(i, number, self._number(state), at) for i, (state, at) in enumerate(starts)],
            )

    def starts(self, query: int) -> list[tuple[State, bytes]]:
        """Return where each draw of the latest query starts; empty if all start alike."""
        with understood(self.path):
            rows = self._db.execute(
                "SELECT state, snapshot FROM starts WHERE query = ? ORDER BY draw", (query,)
            ).fetchall()
            return [(self._states[state], snapshot) for state, snapshot in rows]

    def finish_query(self, number: int, policy: Mapping[str, Any], seconds: float) -> None:
        """Mark a query as complete."""
        with self._transaction() as db:
            db.execute(
                "UPDATE queries SET finished = 1, policy = ?, seconds = ? WHERE id = ?",
                (json.dumps(policy), seconds, number),
            )

    def add_draw(
        self, query: int, index: int, draw: Draw, kept: Mapping[tuple[State, int], bytes]
    ) -> None:
        """Commit a finished draw with the snapshots, by state and slot, that are kept of it."""
        with self._transaction() as db:
            db.execute(
                "INSERT INTO draws VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    query, index, self._encode(draw.executions), draw.simulator_steps,
                    draw.llm_tokens, draw.cut, draw.seconds,
                ),
            )  # fmt: skip
            if draw.llm_cost:
                db.execute("INSERT INTO costs VALUES (?, ?, ?)", (query, index, draw.llm_cost))
            for number, (_, attempt) in enumerate(draw.executions):
                if attempt.transcript:
                    text = packed(attempt.transcript, self._transcript_dictionary())
                    db.execute(
                        "INSERT INTO transcripts VALUES (?, ?, ?, ?)", (query, index, number, text)
                    )
            if draw.end_snapshot is not None:
                db.execute(
                    "INSERT OR REPLACE INTO ends VALUES (?, ?, ?)",
                    (index, query, draw.end_snapshot),
                )
            for (state, slot), snapshot in kept.items():
                db.execute(
                    "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)",
                    (self._number(state), slot, snapshot),
                )

    def draws(self, query: int) -> list[Draw]:
        """Return the recorded draws of a query, in order."""
        with understood(self.path):
            rows = self._db.execute(
                "SELECT d.draw, attempts, d.simulator_steps, llm_tokens, seconds, cut, e.snapshot "
                "FROM draws d LEFT JOIN ends e ON e.draw = d.draw AND e.query = d.query "
                "WHERE d.query = ? ORDER BY d.draw",
                (query,),
            ).fetchall()
            costs = self._costs(query)
            # Draws are often alike to the letter: each text is read once, and shared.
            read = {text: self._decode(text) for text in dict.fromkeys(row[1] for row in rows)}
            return [
                Draw(
                    read[attempts], steps, tokens, seconds, bool(cut), snapshot,
                    costs.get(number, 0.0),
                )
                for number, attempts, steps, tokens, seconds, cut, snapshot in rows
            ]  # fmt: skip

    def _costs(self, query: int) -> dict[int, float]:
        if not self.has_costs:
            return {}
        rows = self._db.execute("SELECT draw, llm_cost FROM costs WHERE query = ?", (query,))
        return {draw: float(cost) for draw, cost in rows}

    def transcript(self, query: int, draw: int, execution: int) -> str:
        """Return what the agent wrote down of an execution; empty if that was nothing."""
        if not self._has_transcripts:
            return ""
        with understood(self.path):
            found = self._db.execute(
                "SELECT text FROM transcripts WHERE (query, draw, execution) = (?, ?, ?)",
                (query, draw, execution),
            ).fetchone()
            return "" if found is None else unpacked(found[0], self._transcript_dictionary())

    def _transcript_dictionary(self) -> bytes:
        first = self._db.execute(
            "SELECT text FROM transcripts ORDER BY query, draw, execution LIMIT 1"
        ).fetchone()
        return b"" if first is None else unpacked(first[0], b"").encode()

    def snapshots(self, state: State) -> list[bytes]:
        """Return the positions kept for a state."""
        with explained(self.path):
            rows = self._db.execute(
                "SELECT snapshot FROM snapshots WHERE state = ? ORDER BY slot",
                (self._ids.get(state, -1),),
            ).fetchall()
        return [row[0] for row in rows]

    def keep_snapshot(self, state: State, slot: int, snapshot: bytes) -> None:
        """Keep a position met outside any draw."""
        with self._transaction() as db:
            db.execute(
                "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)",
                (self._number(state), slot, snapshot),
            )

    @property
    def states(self) -> Sequence[State]:
        """Every state that is written down, by its number."""
        return self._states

    def select(self, statement: str, *parameters: Any) -> Iterator[tuple[Any, ...]]:
        """Read rows by a statement of one's own, for what would take a call for each query."""
        with explained(self.path):
            yield from self._db.execute(statement, parameters)

    def _encode(self, executions: tuple[Execution, ...]) -> str:
        # Draws of one query are often alike to the letter.
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
