"""The questions that a journal answers; no other package knows its tables."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from capscope.errors import JournalError
from capscope.journal.checked_tables import Row, StoredSnapshot, read_content
from capscope.journal.draws import Draw, Execution, QueryRecord, Start, decode, unpacked
from capscope.journal.journal_file import explained, file_stamp, require_unchanged, understood
from capscope.journal.run_meta import RunMeta
from capscope.logic import Intent, State
from capscope.problem.positions import SavedPosition

_KNOWN_POSITIONS = " UNION ALL ".join(
    f"SELECT state, COALESCE(name, snapshot) AS at FROM {table}"
    for table in ("snapshots", "positions")
)


class JournalReader:
    """The questions that a journal answers; every error of the database becomes one line."""

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

    def start_of(self, query: int, draw: int) -> SavedPosition | None:
        """Return the position that a draw started from; None if that is not known."""
        with understood(self.path):
            rows = self._rows(
                "SELECT snapshot, name FROM draws d JOIN positions p ON p.id = d.position "
                "WHERE (query, draw) = (?, ?)",
                query, draw,
            )  # fmt: skip
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
