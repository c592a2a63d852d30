"""Large snapshots in a journal, each stored once.

The same position may be the start of draws, the end of one, and one of those kept for its state.
Snapshots of a few bytes are simply repeated. Larger ones are stored once, by digest, and removed
when nothing refers to them; together they take at most `MOST_BYTES`.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter

from capscope.errors import JournalError
from capscope.journal.checked_tables import CheckedTables
from capscope.problem.positions import LONGEST_NAME
from capscope.problem.problem import Snapshot

MOST_BYTES = 2 * 1024**3
_LARGE = LONGEST_NAME
"""A snapshot of this size identifies its position itself; larger ones are stored by digest."""
StoredSnapshot = bytes | str
"""The snapshot, or the digest of a large one."""
_REFERENCES = " UNION ALL ".join(
    f"SELECT snapshot FROM {table} WHERE typeof(snapshot) = 'text'"
    for table in ("positions", "ends", "snapshots")
)


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
