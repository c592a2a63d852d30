"""The durable record of a run: the source of truth from which everything else is derived.

A finished draw is committed before the next one begins, so a run killed at any moment loses at most
the draw in progress. Nothing derived is stored: graph, models and stopping counts are rebuilt from
the journal, and seeds come from places in the run, so a resumed run continues exactly as one that
was never interrupted.

SQLite in write-ahead mode: a kill cannot tear a transaction, and a reader may look while a run is
under way. States and start positions are stored once and referred to by number. A draw is a row of
JSON, so the file can be read with the sqlite3 shell alone. Transcripts of attempts are kept
separately and compressed. No other package knows the tables.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from capscope.errors import JournalError
from capscope.journal.checked_tables import (
    CheckedTables,
    Row,
    StoredSnapshot,
    read_content,
    stored_form,
)
from capscope.journal.draws import (
    Draw,
    Execution,
    QueryRecord,
    Start,
    decode,
    encode,
    packed,
    unpacked,
)
from capscope.journal.journal_file import (
    JournalStamp,
    connect,
    connect_for_reading,
    explained,
    file_stamp,
    new_file,
    require_unchanged,
    understood,
    verify,
)
from capscope.journal.recorded_actions import ActionNumbers, read_actions
from capscope.journal.run_meta import Budget, RunMeta, StopReason
from capscope.logic import Intent, State, to_json
from capscope.problem.actions import WrittenAction
from capscope.problem.counterfactual import Decision, Need
from capscope.problem.positions import SavedPosition
from capscope.stats.audit import AuditResult

_COST = 6
"""The column of what was paid for a draw."""
_MILLISECONDS_FOR_READERS = 1000
"""To wait at the end for those who are reading, so that nothing is left in the log."""
Place = tuple[int, int, int]
"""Query, draw, and number of an execution."""
_KNOWN_POSITIONS = " UNION ALL ".join(
    f"SELECT state, COALESCE(name, snapshot) AS at FROM {table}"
    for table in ("snapshots", "positions")
)


class Journal:
    """An open journal; every error of the database becomes one line."""

    def __init__(
        self, path: Path, connection: sqlite3.Connection, *, read_only: bool = False
    ) -> None:
        self.path = path
        self._db = connection
        self._opened = file_stamp(path)
        self._ids: dict[State, int] = {}
        self._states: list[State] = []
        self._read_only = read_only
        self._tables = CheckedTables(connection)
        self._encoded: tuple[tuple[Execution, ...], str] = ((), "[]")
        self._positions: dict[tuple[int, StoredSnapshot], int] = {}
        if read_only:
            self._load_states()
        else:
            self._reload()

    @classmethod
    def create(cls, path: Path, meta: RunMeta) -> Journal:
        """Start a new journal; the file must not exist."""
        if path.exists():
            raise JournalError(f"{path} exists; resume the run or choose another directory")
        with explained(path), new_file(path) as (draft, db):
            cls(draft, db).set_meta(**meta.as_stored())
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
        self._db.close()

    @contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """Read everything at one moment, even while a run records more."""
        with explained(self.path):
            self._db.execute("BEGIN")
        try:
            self._load_states()
            yield
        finally:
            self._db.execute("ROLLBACK")
            require_unchanged(self.path, self._opened)

    def _rows(self, statement: str, *parameters: Any) -> list[Row]:
        with explained(self.path):
            return self._db.execute(statement, parameters).fetchall()

    def _load_states(self) -> None:
        with understood(self.path):
            new = "SELECT id, bits FROM states WHERE id >= ? ORDER BY id"
            for number, bits in self._rows(new, len(self._states)):
                if number != len(self._states):
                    raise ValueError(f"state {number} follows state {len(self._states) - 1}")
                self._ids[int(bits, 16)] = number
                self._states.append(int(bits, 16))

    def _saved(self, stored: StoredSnapshot, name: bytes | None) -> SavedPosition:
        snapshot = read_content(self._db, stored)
        return SavedPosition.unnamed(snapshot) if name is None else SavedPosition(snapshot, name)

    @property
    def states(self) -> Sequence[State]:
        """Every recorded state, by its number."""
        return self._states

    def state_number(self, state: State) -> int:
        """Return the number of a recorded state."""
        return self._ids[state]

    def read_meta(self) -> RunMeta:
        """Return what the journal says about its run."""
        return read_meta(self.path, self._db)

    @property
    def asked(self) -> bool:
        """Whether anything was asked, or found not worth asking."""
        return bool(
            self._rows("SELECT 1 FROM queries UNION SELECT 1 FROM meta WHERE key = 'stopped'")
        )

    def intents(self) -> list[Intent]:
        """Return the intents in order."""
        with understood(self.path):
            rows = self._rows("SELECT literals FROM intents ORDER BY id")
            return [Intent.from_lists(json.loads(row[0])) for row in rows]

    def query(self, number: int) -> QueryRecord | None:
        """Return what was recorded about a query; None if it was never begun."""
        with understood(self.path):
            rows = self._rows(
                "SELECT state, snapshot, name, distance, xi, predicted, informative, finished, "
                "seconds, policy FROM queries q JOIN positions p ON p.id = q.position "
                "WHERE q.id = ?",
                number,
            )
            if not rows:
                return None
            state, snapshot, name, distance, xi, predicted, informative, *rest = rows[0]
            finished, seconds, policy = rest
            return QueryRecord(
                Start(self._states[state], self._saved(snapshot, name)), distance, xi, predicted,
                bool(informative), bool(finished), seconds, policy,
            )  # fmt: skip

    def query_columns(self) -> list[tuple[float, ...]]:
        """Return start state, predicted, informative, finished and seconds of each query."""
        rows = self._rows(
            "SELECT q.id, p.state, predicted, informative, finished, seconds FROM queries q "
            "JOIN positions p ON p.id = q.position ORDER BY q.id"
        )
        return [row[1:] for expected, row in enumerate(rows) if row[0] == expected]

    def seconds(self) -> float:
        """Return how long all queries took together."""
        return math.fsum(seconds for (seconds,) in self._rows("SELECT seconds FROM queries"))

    def starts(self, query: int) -> list[Start]:
        """Return where each draw of the latest query starts; empty if all start together."""
        with understood(self.path):
            rows = self._rows(
                "SELECT state, snapshot, name FROM starts s JOIN positions p ON p.id = s.position "
                "WHERE query = ? ORDER BY draw",
                query,
            )
            return [Start(self._states[s], self._saved(at, name)) for s, at, name in rows]

    def draws(self, query: int) -> list[Draw]:
        """Return the recorded draws of a query, in order."""
        with understood(self.path):
            rows = self._rows(
                "SELECT attempts, d.simulator_steps, llm_tokens, seconds, cut, snapshot, name, "
                "llm_cost FROM draws d LEFT JOIN ends e ON e.draw = d.draw AND e.query = d.query "
                "WHERE d.query = ? ORDER BY d.draw",
                query,
            )
            # Draws are often identical: each text is decoded once, and shared.
            decoded = {text: decode(text, self._states) for text in {row[0]: None for row in rows}}
            return [
                Draw(
                    decoded[attempts], steps, tokens, seconds, bool(cut),
                    None if snapshot is None else self._saved(snapshot, name), cost,
                )
                for attempts, steps, tokens, seconds, cut, snapshot, name, cost in rows
            ]  # fmt: skip

    def executions_at(
        self, places: Collection[tuple[int, int]]
    ) -> Iterator[tuple[tuple[int, int], tuple[Execution, ...]]]:
        """Yield ⟨query, index⟩ and the executions of some draws."""
        decoded: dict[str, tuple[Execution, ...]] = {}
        for query, draw, text in self._rows("SELECT query, draw, attempts FROM draws"):
            if (query, draw) in places:
                if text not in decoded:
                    with understood(self.path):
                        decoded[text] = decode(text, self._states)
                yield (query, draw), decoded[text]

    def stored_draws(self) -> Iterator[Row]:
        """Yield all draws in order as they are stored, for those who decode many at once.

        Query, index, number of the start position, text, simulator steps, tokens, seconds, cost.
        """
        yield from self._db.execute(
            "SELECT query, draw, position, attempts, simulator_steps, llm_tokens, seconds, "
            "llm_cost FROM draws ORDER BY query, draw"
        )

    def latest_draws(self, most: int) -> list[tuple[int, int]]:
        """Return ⟨query, index⟩ of the latest draws, latest first."""
        latest = "SELECT query, draw FROM draws ORDER BY query DESC, draw DESC LIMIT ?"
        return [(query, draw) for query, draw in self._rows(latest, most)]

    def cut_draws(self) -> set[tuple[int, int]]:
        """Return ⟨query, index⟩ of each draw that a budget cut short."""
        return {(q, d) for q, d in self._rows("SELECT query, draw FROM draws WHERE cut")}

    def transcript(self, query: int, draw: int, execution: int) -> str:
        """Return the agent's transcript of an execution; empty if there is none."""
        with understood(self.path):
            found = self._rows(
                "SELECT text FROM transcripts WHERE (query, draw, execution) = (?, ?, ?)",
                query, draw, execution,
            )  # fmt: skip
            return unpacked(found[0][0], self._transcript_dictionary()) if found else ""

    def actions(self, query: int, draw: int) -> list[tuple[WrittenAction, ...] | None]:
        """Return the actions of each execution of a draw; None if they took too much room."""
        with understood(self.path):
            return list(read_actions(self._db, query, draw))

    def replays(self, query: int | None = None) -> dict[tuple[Place, tuple[int, bool]], Decision]:
        """Return what was decided about changes, by execution and ⟨atom, whether it holds⟩.

        Only those of a query, if one is given.
        """
        which = "" if query is None else "WHERE query = ?"
        with understood(self.path):
            return {
                ((q, d, e), (atom, bool(positive))): Decision(
                    Need(verdict), tuple(json.loads(kept)), steps, note
                )
                for q, d, e, atom, positive, verdict, kept, steps, note in self._rows(
                    f"SELECT * FROM replays {which} ORDER BY query, draw, execution, atom",
                    *(() if query is None else (query,)),
                )
            }

    def replay_steps(self) -> dict[int, int]:
        """Return the simulator steps of replays, by query."""
        return dict(self._rows("SELECT query, sum(steps) FROM replays GROUP BY query"))

    def transcribed(self) -> list[tuple[int, int, int]]:
        """Return query, draw and number of every execution that has a transcript."""
        rows = self._rows("SELECT query, draw, execution FROM transcripts")
        return [(query, draw, execution) for query, draw, execution in rows]

    def _transcript_dictionary(self) -> bytes:
        first = "SELECT text FROM transcripts ORDER BY query, draw, execution LIMIT 1"
        return b"".join(unpacked(text, b"").encode() for (text,) in self._rows(first))

    def positions(self, state: State) -> list[SavedPosition]:
        """Return the positions kept for a state."""
        with understood(self.path):
            kept = "SELECT snapshot, name FROM snapshots WHERE state = ? ORDER BY slot"
            return [self._saved(*row) for row in self._rows(kept, self._ids.get(state, -1))]

    def states_kept_in(self, slot: int) -> list[State]:
        """Return the states that have a position in a slot."""
        rows = self._rows("SELECT state FROM snapshots WHERE slot = ? ORDER BY state", slot)
        return [self._states[number] for (number,) in rows]

    def start_of(self, query: int, draw: int) -> SavedPosition | None:
        """Return the position that a draw started from; None if that is not known."""
        with understood(self.path):
            rows = self._rows(
                "SELECT snapshot, name FROM draws d JOIN positions p ON p.id = d.position "
                "WHERE (query, draw) = (?, ?)",
                query, draw,
            )  # fmt: skip
            return self._saved(*rows[0]) if rows else None

    def first_start(self, state: State) -> SavedPosition | None:
        """Return the first position in a state that a draw started from; None if there is none."""
        with understood(self.path):
            first = "SELECT snapshot, name FROM positions WHERE state = ? ORDER BY id LIMIT 1"
            rows = self._rows(first, self._ids.get(state, -1))
            return self._saved(*rows[0]) if rows else None

    def position_names(self) -> list[bytes]:
        """Return the names of the positions that draws started from, by number."""
        rows = self._rows("SELECT COALESCE(name, snapshot) FROM positions ORDER BY id")
        return [name for (name,) in rows]

    def known_positions(self) -> Mapping[int, set[bytes]]:
        """Return the names of the positions known for each state, by the state's number.

        Of a state met often only some are kept, drawn evenly over its visits.
        """
        known: dict[int, set[bytes]] = {}
        for state, name in self._rows(_KNOWN_POSITIONS):
            known.setdefault(state, set()).add(name)
        return known

    def has_several_positions(self) -> bool:
        """Return whether any state is known to have several positions."""
        several = "GROUP BY state HAVING MIN(at) <> MAX(at) LIMIT 1"
        return bool(self._rows(f"SELECT 1 FROM ({_KNOWN_POSITIONS}) {several}"))

    def _reload(self) -> None:
        """Read what is kept in memory; after a rollback it is not what is on disk."""
        self._states.clear()
        self._ids.clear()
        self._load_states()
        rows = self._rows("SELECT state, snapshot, id FROM positions")
        self._positions = {(state, snapshot): number for state, snapshot, number in rows}
        self._encoded = ((), "[]")
        self._actions = ActionNumbers(self._db)
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
                float(draw.seconds), self._actions.encode(draw.executions, tables),
            )  # fmt: skip
            for number, (_, attempt) in enumerate(draw.executions):
                if attempt.transcript:
                    text = packed(attempt.transcript, self._transcript_dictionary())
                    tables.insert("transcripts", *place, number, text)
            if draw.end is not None:
                self._keep("ends", place[1], place[0], draw.end)
            for (state, slot), position in kept.items():
                self._keep("snapshots", self._number(state), slot, position)

    def add_replay(self, place: Place, literal: tuple[int, bool], decided: Decision) -> None:
        """Record what was decided about a change of an execution."""
        verdict, kept, steps, note = decided
        atom, positive = literal
        with self._transaction() as tables:
            tables.insert(
                "replays", *place, atom, int(positive), str(verdict), json.dumps(kept), steps,
                note.encode(errors="backslashreplace").decode(),
            )  # fmt: skip

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
            replays = "SELECT execution, atom, positive FROM replays WHERE (query, draw) = (?, ?)"
            for change in self._rows(replays, query, index):
                tables.delete("replays", query, index, *change)
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


def read_meta(path: Path, db: sqlite3.Connection) -> RunMeta:
    """Return what an open file says about its run."""
    with understood(path):
        rows = db.execute("SELECT key, value FROM meta").fetchall()
        stored = {key: json.loads(value) for key, value in rows}
    missing = [name for name in sorted(RunMeta.REQUIRED) if name not in stored]
    if missing:
        raise JournalError(
            f"{path} lacks its {', '.join(missing)}; it was changed by something "
            "else and was left untouched"
        )
    with understood(path):
        return RunMeta.from_stored(stored)
