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
_KEYS = {
    "meta": ("key",),
    "states": ("id",),
    "intents": ("id",),
    "positions": ("id",),
    "queries": ("id",),
    "draws": ("query", "draw"),
    "actions": ("id",),
    "replays": ("query", "draw", "execution", "atom", "positive"),
    "starts": ("draw",),
    "ends": ("draw",),
    "snapshots": ("state", "slot"),
    "transcripts": ("query", "draw", "execution"),
    "contents": ("digest",),
}
_BY_QUERY = frozenset({"queries", "draws", "transcripts", "replays"})
_WITH_BLOBS = frozenset({"positions", "ends", "snapshots", "transcripts"})


Sums = dict[str, tuple[int, int]]
"""For each group, the number of its rows and the sum of their checksums."""


class CheckedTables:
    """Writes rows and keeps their checksums up to date; `save` is called in each transaction."""

    def __init__(self, db: sqlite3.Connection) -> None:
        """Write to a database; `reload` is called before the first row."""
        self._db = db
        self._sums: Sums = {}
        self._changed: set[str] = set()
        self._uses: Counter[str] = Counter()
        self._bytes = 0

    def reload(self) -> None:
        """Read what is kept in memory; after a rollback it is not what is on disk."""
        self._sums = _stored(self._db)
        self._changed.clear()
        self._uses = Counter(digest for (digest,) in self._db.execute(_REFERENCES))
        total = "SELECT coalesce(sum(length(data)), 0) FROM contents"
        self._bytes = self._db.execute(total).fetchone()[0]

    def insert(self, table: str, *row: Any) -> None:
        """Add a row."""
        self._db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
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
        rows, total = self._sums.get(group, (0, 0))
        self._sums[group] = rows + sign, total + sign * _checksums(table, [row])[0]
        self._changed.add(group)

    def save(self) -> None:
        """Write the checksums that changed."""
        _write(self._db, {group: self._sums[group] for group in self._changed})
        self._changed.clear()

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
                self.insert("contents", stored, snapshot)
            self._uses[stored] += 1
        return stored

    def release(self, stored: StoredSnapshot) -> None:
        """Remove a snapshot if the row that referred to it was the last one."""
        if isinstance(stored, str):
            self._uses[stored] -= 1
            if not self._uses[stored]:
                size = "SELECT length(data) FROM contents WHERE digest = ?"
                self._bytes -= self._db.execute(size, (stored,)).fetchone()[0]
                self.delete("contents", stored)


def sign(db: sqlite3.Connection) -> None:
    """Compute all checksums anew, for rows that were written without them."""
    computed = _computed(db)
    db.execute("DELETE FROM checksums")
    _write(db, computed)


def find_damage(db: sqlite3.Connection) -> str | None:
    """Return what differs from its checksum, in words; None if nothing does."""
    found, stored = _computed(db), _stored(db)
    for group in sorted(found.keys() | stored.keys()):
        (rows, total), (expected, sum_expected) = (s.get(group, (0, 0)) for s in (found, stored))
        if rows != expected:
            return f"{_name(group)}: {rows} rows instead of {expected}"
        if total != sum_expected:
            return f"{_name(group)}: the checksum differs"
    return None


def _stored(db: sqlite3.Connection) -> Sums:
    found = db.execute("SELECT rows_of, rows, total FROM checksums").fetchall()
    return {group: (rows, total) for group, rows, total in found}


def _write(db: sqlite3.Connection, sums: Sums) -> None:
    rows = [(group, *both) for group, both in sums.items()]
    db.executemany("INSERT OR REPLACE INTO checksums VALUES (?, ?, ?)", rows)


def _computed(db: sqlite3.Connection) -> Sums:
    sums: Sums = {}
    for table in _KEYS:
        found = db.execute(f"SELECT {_columns(table)} FROM {table}")
        while some := found.fetchmany(_ROWS_AT_A_TIME):
            for group, same in _grouped(table, some):
                rows, total = sums.get(group, (0, 0))
                sums[group] = rows + len(same), total + sum(_checksums(table, same))
    return sums


def _columns(table: str) -> str:
    # Large contents are identified by their digests, and checked when they are read.
    return "digest" if table == "contents" else "*"


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
