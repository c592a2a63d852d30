"""The file of a journal: its tables, how it is recognized and converted, and its error messages.

Format 1 kept a position's name as a prefix of its snapshot, and where a draw started only for the
first draw of a query. A journal of format 1 is converted when it is opened: in place, in one
transaction, if it is opened for writing; otherwise as a copy in memory, and the file stays.
"""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from capscope.errors import JournalError, VocabularyError
from capscope.world.positions import SavedPosition

APPLICATION_ID = 0x43415053  # "CAPS", so that a foreign database is recognized
FORMAT_VERSION = 2
_SECONDS_TO_WAIT = 5.0
"""If another process has locked the file."""
_POSITIONS = """
CREATE TABLE positions (
    id INTEGER PRIMARY KEY, state INTEGER NOT NULL, snapshot BLOB NOT NULL, name BLOB);
"""
_TRANSCRIPTS = """
CREATE TABLE IF NOT EXISTS transcripts (
    query INTEGER NOT NULL, draw INTEGER NOT NULL, execution INTEGER NOT NULL, text BLOB NOT NULL,
    PRIMARY KEY (query, draw, execution)) WITHOUT ROWID;
"""
_QUERIES = """
CREATE TABLE queries (
    id INTEGER PRIMARY KEY, position INTEGER NOT NULL, distance INTEGER NOT NULL, xi REAL NOT NULL,
    predicted REAL NOT NULL, informative INTEGER NOT NULL, finished INTEGER NOT NULL DEFAULT 0,
    policy TEXT, seconds REAL NOT NULL DEFAULT 0);
"""
_DRAWS = """
CREATE TABLE draws (
    query INTEGER NOT NULL, draw INTEGER NOT NULL, position INTEGER, attempts TEXT NOT NULL,
    simulator_steps INTEGER NOT NULL, llm_tokens INTEGER NOT NULL, llm_cost REAL NOT NULL,
    cut INTEGER NOT NULL, seconds REAL NOT NULL, PRIMARY KEY (query, draw)) WITHOUT ROWID;
"""
_KEPT = """
CREATE TABLE starts (draw INTEGER PRIMARY KEY, query INTEGER NOT NULL, position INTEGER NOT NULL);
CREATE TABLE ends (
    draw INTEGER PRIMARY KEY, query INTEGER NOT NULL, snapshot BLOB NOT NULL, name BLOB);
CREATE TABLE snapshots (
    state INTEGER NOT NULL, slot INTEGER NOT NULL, snapshot BLOB NOT NULL, name BLOB,
    PRIMARY KEY (state, slot)) WITHOUT ROWID;
"""
SCHEMA = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE states (id INTEGER PRIMARY KEY, bits TEXT NOT NULL);
CREATE TABLE intents (id INTEGER PRIMARY KEY, literals TEXT NOT NULL);
{_POSITIONS}{_QUERIES}{_DRAWS}{_KEPT}{_TRANSCRIPTS}
"""


def connect(path: Path) -> sqlite3.Connection:
    """Open a journal for reading and writing, converted to the present format."""
    db = sqlite3.connect(path, isolation_level=None)
    try:
        _bring_up_to_date(db)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        db.close()
        raise
    return db


def connect_for_reading(path: Path, seconds: float = _SECONDS_TO_WAIT) -> sqlite3.Connection:
    """Open a journal so that nothing is written, even in a directory where nothing can be.

    `seconds` limits the wait for another process that has locked the file.
    """
    if _version(path, seconds) < FORMAT_VERSION:
        copy = sqlite3.connect(":memory:", isolation_level=None)
        with closing(_read_only(path, seconds)) as source:
            source.backup(copy)
        _bring_up_to_date(copy)
        return copy
    if not os.access(path.parent, os.W_OK):
        return _read_only(path, seconds)
    # SQLite keeps notes for other processes beside the file. Only a connection that could write
    # removes them again when it is closed.
    db = sqlite3.connect(path, timeout=seconds, isolation_level=None)
    db.execute("PRAGMA query_only = ON")
    return db


def _read_only(path: Path, seconds: float = _SECONDS_TO_WAIT) -> sqlite3.Connection:
    address = f"{path.resolve().as_uri()}?mode=ro"
    # If no notes can be kept and nobody left any, there is no other process.
    alone = not path.with_name(f"{path.name}-wal").exists()
    if alone and not os.access(path.parent, os.W_OK):
        address += "&immutable=1"
    return sqlite3.connect(address, timeout=seconds, uri=True, isolation_level=None)


def _version(path: Path, seconds: float) -> int:
    with closing(_read_only(path, seconds)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def verify(path: Path) -> None:
    """Check a file without changing a byte of it; raise if it cannot be read."""
    with closing(_read_only(path)) as db:
        _require_journal(path, db)
        verdict = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
        if verdict != "ok":
            raise JournalError(
                f"{path} is damaged ({verdict.splitlines()[-1]}); it was left untouched. "
                "`sqlite3 journal.sqlite .recover` brings back what can be read"
            )


def recognize(path: Path, seconds: float) -> None:
    """Raise if a file is not a journal of a format that can be read; damage is not looked for."""
    with closing(_read_only(path, seconds)) as db:
        _require_journal(path, db)


def _require_journal(path: Path, db: sqlite3.Connection) -> None:
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise JournalError(f"{path} is not a capscope journal; it was left untouched")
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if not 1 <= version <= FORMAT_VERSION:
        raise JournalError(
            f"{path} has format {version}, this capscope reads 1 to {FORMAT_VERSION}; "
            "use the version that wrote it"
        )


def _bring_up_to_date(db: sqlite3.Connection) -> None:
    if db.execute("PRAGMA user_version").fetchone()[0] >= FORMAT_VERSION:
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        _convert_format_1(db)
        db.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise


def _convert_format_1(db: sqlite3.Connection) -> None:
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    old = [name for name in ("queries", "draws", "starts", "ends", "snapshots") if name in tables]
    for name in old:
        db.execute(f"ALTER TABLE {name} RENAME TO old_{name}")
    for statement in (_POSITIONS + _QUERIES + _DRAWS + _KEPT + _TRANSCRIPTS).split(";"):
        db.execute(statement)
    positions: dict[tuple[int, bytes], int] = {}

    def position(state: int, stored: bytes) -> int:
        number = positions.get((state, stored))
        if number is None:
            number = positions[state, stored] = len(positions)
            row = (number, state, *split_name(SavedPosition.from_format_1(stored)))
            db.execute("INSERT INTO positions VALUES (?, ?, ?, ?)", row)
        return number

    rows = db.execute(
        "SELECT id, start, start_snapshot, distance, xi, predicted, telling, finished, policy, "
        "seconds FROM old_queries ORDER BY id"
    ).fetchall()
    db.executemany(
        "INSERT INTO queries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(number, position(start, at), *rest) for number, start, at, *rest in rows],
    )
    costs = "(SELECT llm_cost FROM costs c WHERE (c.query, c.draw) = (d.query, d.draw))"
    # If draws had starts of their own, only that of the first is known.
    known = "" if _one_start_a_query(db) else "AND d.draw = 0"
    db.execute(
        "INSERT INTO draws SELECT d.query, d.draw, q.position, attempts, simulator_steps, "
        f"llm_tokens, {f'coalesce({costs}, 0)' if 'costs' in tables else '0'}, cut, d.seconds "
        f"FROM old_draws d LEFT JOIN queries q ON q.id = d.query {known}"
    )
    if "starts" in tables:
        starts = db.execute("SELECT draw, query, state, snapshot FROM old_starts").fetchall()
        for draw, query, state, at in starts:
            db.execute("INSERT INTO starts VALUES (?, ?, ?)", (draw, query, position(state, at)))
    for name in ("ends", "snapshots"):
        kept = db.execute(f"SELECT * FROM old_{name}").fetchall()
        db.executemany(
            f"INSERT INTO {name} VALUES (?, ?, ?, ?)",
            [(*row, *split_name(SavedPosition.from_format_1(at))) for *row, at in kept],
        )
    for name in (*(f"old_{name}" for name in old), *({"costs"} & tables)):
        db.execute(f"DROP TABLE {name}")


def _one_start_a_query(db: sqlite3.Connection) -> bool:
    stored = db.execute("SELECT value FROM meta WHERE key = 'identity'").fetchone()
    identity = json.loads(stored[0]) if stored else {}
    batch = identity.get("settings", {}).get("batch", 1)
    return not (identity.get("strategy") == "adaptive" and batch > 1)


def split_name(position: SavedPosition) -> tuple[bytes, bytes | None]:
    """Return snapshot and name as they are stored: a name that is the snapshot is left out."""
    snapshot, name = position
    return snapshot, None if name == snapshot else name


def joined_name(snapshot: bytes, name: bytes | None) -> SavedPosition:
    """Return a position from what is stored."""
    return SavedPosition(snapshot, snapshot if name is None else name)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn an error of SQLite into one line that says what is kept and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        reason = " ".join(str(error).split())  # SQLite may quote a statement of several lines
        if "full" in reason:
            advice = "the disk is full; all finished draws are kept: free some space and resume"
        elif "locked" in reason:
            advice = "another process is writing to this run; wait for it or stop it"
        elif "I/O" in reason:
            advice = "the disk failed; all finished draws are kept: fix the disk and resume"
        elif "readonly" in reason or "unable to open" in reason:
            advice = "the file cannot be opened for writing; check its permissions"
        else:
            advice = "the file is damaged or not a journal; it was left untouched"
        raise JournalError(f"{path}: {reason}: {advice}") from error
    except OSError as error:
        raise JournalError(
            f"{path}: {error.strerror}: the file cannot be written; check its permissions"
        ) from error


@contextmanager
def understood(path: Path) -> Iterator[None]:
    """Read and decode; what cannot be decoded was written by something else."""
    try:
        with explained(path):
            yield
    except (ValueError, IndexError, KeyError, TypeError, VocabularyError) as error:
        raise JournalError(
            f"{path} holds something capscope did not write ({' '.join(str(error).split())}); "
            "it was left untouched"
        ) from error
