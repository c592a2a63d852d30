"""The tables of a journal, with checksums: damage is found and named, not believed.

SQLite notices a page that is torn, but not a bit that flipped in a value. So each group of rows has
a record of how many rows it has and of the sum of their checksums. A sum, unlike a hash over the
whole table, can be kept up to date when a row is added, replaced or removed, at the same cost at
any size; and a row that is missing changes it like one that differs.

Checksums find damage, not forgery: one who changes a journal can change them too.

The same position may be the start of draws, the end of one, and one of those kept for its state.
Snapshots of a few bytes are simply repeated. Larger ones are stored once, by digest, and removed
when nothing refers to them; together they take at most `MOST_BYTES`.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from zlib import crc32

from capscope.errors import JournalError
from capscope.problem.positions import LONGEST_NAME
from capscope.problem.problem import Snapshot

Row = tuple[Any, ...]
MOST_BYTES = 2 * 1024**3
_LARGE = LONGEST_NAME
"""A snapshot of this size identifies its position itself; larger ones are stored by digest."""
StoredSnapshot = bytes | str
"""The snapshot, or the digest of a large one."""
_REFERENCES = " UNION ALL ".join(
    f"SELECT snapshot FROM {table} WHERE typeof(snapshot) = 'text'"
    for table in ("positions", "ends", "snapshots")
)
QUERIES_IN_GROUP = 1024
_ROWS_AT_A_TIME = 256
_CHECKSUMS = """
CREATE TABLE checksums (
    rows_of TEXT PRIMARY KEY, rows INTEGER NOT NULL, total INTEGER NOT NULL) WITHOUT ROWID;
"""
_CONTENTS = """
CREATE TABLE contents (digest TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
"""
CHECKED_SCHEMA = _CONTENTS + _CHECKSUMS
"""The tables that hold checksums and large snapshots."""
_KEYS = {
    "meta": ("key",),
    "states": ("id",),
    "intents": ("id",),
    "positions": ("id",),
    "queries": ("id",),
    "draws": ("query", "draw"),
    "starts": ("draw",),
    "ends": ("draw",),
    "snapshots": ("state", "slot"),
    "transcripts": ("query", "draw", "execution"),
    "contents": ("digest",),
}
_BY_QUERY = frozenset({"queries", "draws", "transcripts"})
_WITH_BLOBS = frozenset({"positions", "ends", "snapshots", "transcripts"})


class CheckedTables:
    """Writes rows and keeps their checksums up to date; `save` is called in each transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._rows: Counter[str] = Counter()
        self._totals: Counter[str] = Counter()
        self._changed: set[str] = set()
        self.reload()

    def reload(self) -> None:
        """Read the checksums; after a rollback those in memory are not the ones on disk."""
        self._rows, self._totals = _stored(self._db)
        self._changed.clear()

    def insert(self, table: str, *row: Any) -> None:
        """Add a row."""
        self._db.execute(f"INSERT INTO {table} VALUES ({_places(row)})", row)
        self._count(table, row, 1)

    def replace(self, table: str, *row: Any) -> Row | None:
        """Add a row in place of the one with the same key; return that, None if there is none."""
        old = self.delete(table, *row[: len(_KEYS[table])])
        self.insert(table, *row)
        return old

    def delete(self, table: str, *key: Any) -> Row | None:
        """Remove a row; return it, None if there is none."""
        where = " AND ".join(f"{column} = ?" for column in _KEYS[table])
        old: Row | None = self._db.execute(
            f"SELECT {_columns(table)} FROM {table} WHERE {where}", key
        ).fetchone()
        if old is not None:
            self._db.execute(f"DELETE FROM {table} WHERE {where}", key)
            self._count(table, old, -1)
        return old

    def _count(self, table: str, row: Row, sign: int) -> None:
        group = _group(table, row)
        self._rows[group] += sign
        self._totals[group] += sign * _checksum(table, row)
        self._changed.add(group)

    def save(self) -> None:
        """Write the checksums that changed."""
        rows = [(group, self._rows[group], self._totals[group]) for group in self._changed]
        self._db.executemany("INSERT OR REPLACE INTO checksums VALUES (?, ?, ?)", rows)
        self._changed.clear()

    def compute(self) -> None:
        """Compute the checksums of rows that were written without them."""
        self._rows, self._totals = _computed(self._db)
        self._changed = set(self._rows)


def find_damage(db: sqlite3.Connection) -> str | None:
    """Return what differs from its checksum, in words; None if nothing does."""
    rows, totals = _computed(db)
    stored_rows, stored_totals = _stored(db)
    for group in sorted(rows.keys() | stored_rows.keys()):
        if rows[group] != stored_rows[group]:
            return f"{_name(group)}: {rows[group]} rows instead of {stored_rows[group]}"
        if totals[group] != stored_totals[group]:
            return f"{_name(group)}: the checksum differs"
    return None


def _stored(db: sqlite3.Connection) -> tuple[Counter[str], Counter[str]]:
    found = db.execute("SELECT rows_of, rows, total FROM checksums").fetchall()
    return Counter({g: n for g, n, _ in found}), Counter({g: total for g, _, total in found})


def _computed(db: sqlite3.Connection) -> tuple[Counter[str], Counter[str]]:
    rows: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    for table in _KEYS:
        found = db.execute(f"SELECT {_columns(table)} FROM {table}")
        while some := found.fetchmany(_ROWS_AT_A_TIME):
            for group, same in _grouped(table, some):
                rows[group] += len(same)
                totals[group] += sum(_checksums(table, same))
    return rows, totals


def _columns(table: str) -> str:
    # Large contents are identified by their digests, and checked when they are read.
    return "digest" if table == "contents" else "*"


def _places(row: Sequence[Any]) -> str:
    return ", ".join("?" * len(row))


def _group(table: str, row: Row) -> str:
    return f"{table} {row[0] // QUERIES_IN_GROUP}" if table in _BY_QUERY else table


def _grouped(table: str, rows: Sequence[Row]) -> Iterator[tuple[str, Sequence[Row]]]:
    """Divide successive rows by their groups; naming the group of each would take longer."""
    if _group(table, rows[0]) == _group(table, rows[-1]):
        yield _group(table, rows[0]), rows
    else:
        for row in rows:
            yield _group(table, row), [row]


def _name(group: str) -> str:
    table, _, number = group.partition(" ")
    if not number:
        return table
    first = int(number) * QUERIES_IN_GROUP
    return f"{table} of queries {first} to {first + QUERIES_IN_GROUP - 1}"


def _checksum(table: str, row: Row) -> int:
    return _checksums(table, [row])[0]


def _checksums(table: str, rows: Iterable[Row]) -> list[int]:
    """Return the checksums of rows as SQLite returns them.

    `ascii` is the same in every version of Python; a float has its shortest exact form.
    """
    if table == "contents":
        rows = [row[:1] for row in rows]
    elif table in _WITH_BLOBS:
        rows = [tuple(_short(row)) for row in rows]
    return [crc32(ascii(row).encode()) for row in rows]


def _short(row: Iterable[Any]) -> Iterator[Any]:
    for value in row:
        yield (len(value), crc32(value)) if isinstance(value, bytes) else value


def stored_form(snapshot: Snapshot) -> StoredSnapshot:
    """Return what stands for a snapshot in a row."""
    return snapshot if len(snapshot) <= _LARGE else hashlib.sha256(snapshot).hexdigest()


def read_content(db: sqlite3.Connection, stored: StoredSnapshot) -> Snapshot:
    """Return a snapshot; raise `ValueError` if it is not what was stored."""
    if isinstance(stored, bytes):
        return stored
    row = db.execute("SELECT data FROM contents WHERE digest = ?", (stored,)).fetchone()
    if row is None or hashlib.sha256(row[0]).hexdigest() != stored:
        raise ValueError(f"snapshot {stored[:16]}… is missing or damaged")
    data: bytes = row[0]
    return data


class Contents:
    """The large snapshots of a journal that is written."""

    def __init__(self, db: sqlite3.Connection, tables: CheckedTables) -> None:
        self._db = db
        self._tables = tables
        self._uses: Counter[str] = Counter()
        self._bytes = 0
        self.reload()

    def reload(self) -> None:
        """Count again what is stored; after a rollback, what is in memory is not on disk."""
        self._uses = Counter(digest for (digest,) in self._db.execute(_REFERENCES))
        total = "SELECT coalesce(sum(length(data)), 0) FROM contents"
        self._bytes = self._db.execute(total).fetchone()[0]

    def store(self, snapshot: Snapshot) -> StoredSnapshot:
        """Store a snapshot, if it is large and new; return what stands for it in a row."""
        stored = stored_form(snapshot)
        if isinstance(stored, str):
            if not self._uses[stored]:
                self._bytes += len(snapshot)
                if self._bytes > MOST_BYTES:
                    raise JournalError(
                        f"the snapshots of this run take more than {MOST_BYTES:,} bytes; all "
                        "finished draws are kept. Make the simulator's snapshots smaller, or "
                        "start a run that keeps fewer of them: --set snapshots=1"
                    )
                self._tables.insert("contents", stored, snapshot)
            self._uses[stored] += 1
        return stored

    def release(self, stored: StoredSnapshot) -> None:
        """Remove a snapshot if the row that referred to it was the last one."""
        if isinstance(stored, str):
            self._uses[stored] -= 1
            if not self._uses[stored]:
                size = "SELECT length(data) FROM contents WHERE digest = ?"
                self._bytes -= self._db.execute(size, (stored,)).fetchone()[0]
                self._tables.delete("contents", stored)
