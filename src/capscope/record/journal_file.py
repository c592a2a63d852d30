"""The file of a journal: its tables, how it is recognized and converted, and its error messages.

Format 1 kept a position's name as a prefix of its snapshot, and where a draw started only for the
first draw of a query. Format 2 had no checksums. A journal of an earlier format is converted when
it is opened for writing: in place, in one transaction. For reading, format 1 is converted in a copy
in memory, and the file stays.

A journal may come from somebody else. So nothing in it is run: it may hold the tables of a journal
and nothing else (no view, no trigger, no generated column), values are of limited size, and
checking it takes limited time.
"""

import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

from capscope.errors import CapscopeError, JournalError
from capscope.record.checked_tables import CHECKED_SCHEMA, CheckedTables, find_damage
from capscope.record.contents import stored_form
from capscope.world.positions import SavedPosition

APPLICATION_ID = 0x43415053  # "CAPS", so that a foreign database is recognized
FORMAT_VERSION = 3
_UNCHECKED_VERSION = 2
_SECONDS_TO_WAIT = 5.0
"""If another process has locked the file."""
_LARGEST_VALUE = 256 * 1024**2
_SECONDS_TO_CHECK = 60.0
_SECONDS_TO_CHECK_A_MEGABYTE = 0.5
_OPERATIONS_BETWEEN_LOOKS = 100_000
"""How often SQLite asks whether the time is over."""
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
_SCHEMA_2 = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE states (id INTEGER PRIMARY KEY, bits TEXT NOT NULL);
CREATE TABLE intents (id INTEGER PRIMARY KEY, literals TEXT NOT NULL);
{_POSITIONS}{_QUERIES}{_DRAWS}{_KEPT}{_TRANSCRIPTS}
"""
SCHEMA = _SCHEMA_2 + CHECKED_SCHEMA


def companion_files(path: Path) -> tuple[Path, Path]:
    """Return the files that SQLite keeps beside a journal while it is open."""
    return path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")


JournalStamp = tuple[tuple[int, int], ...]
"""Times and sizes of the files of a journal."""


def file_stamp(path: Path) -> JournalStamp:
    """Return a value that changes whenever a journal does."""
    return tuple(map(_stamp, (path, companion_files(path)[0])))


def _stamp(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:
        return (0, 0)
    # A reader makes an empty log and removes it again, which is no change.
    return (found.st_mtime_ns, found.st_size) if found.st_size else (0, 0)


def connect(path: Path) -> sqlite3.Connection:
    """Open a journal for reading and writing, converted to the present format."""
    db = _defensive(sqlite3.connect(path, isolation_level=None))
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
    if _version(path, seconds) < _UNCHECKED_VERSION:
        copy = sqlite3.connect(":memory:", isolation_level=None)
        with closing(_read_only(path, seconds)) as source:
            source.backup(copy)
        _bring_up_to_date(copy)
        return copy
    if not os.access(path.parent, os.W_OK):
        return _read_only(path, seconds)
    # SQLite keeps notes for other processes beside the file. Only a connection that could write
    # removes them again when it is closed.
    db = _defensive(sqlite3.connect(path, timeout=seconds, isolation_level=None))
    db.execute("PRAGMA query_only = ON")
    return db


def _defensive(db: sqlite3.Connection) -> sqlite3.Connection:
    """Trust nothing in the file."""
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST_VALUE)
    for setting in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
        db.execute(f"PRAGMA {setting}")
    if hasattr(db, "setconfig"):  # from Python 3.12 on
        db.setconfig(getattr(sqlite3, "SQLITE_DBCONFIG_DEFENSIVE"), True)  # noqa: B009
    return db


def _read_only(path: Path, seconds: float = _SECONDS_TO_WAIT) -> sqlite3.Connection:
    address = f"{path.resolve().as_uri()}?mode=ro"
    # If no notes can be kept and nobody left any, there is no other process.
    alone = not path.with_name(f"{path.name}-wal").exists()
    if alone and not os.access(path.parent, os.W_OK):
        address += "&immutable=1"
    return _defensive(sqlite3.connect(address, timeout=seconds, uri=True, isolation_level=None))


def _limit_time(db: sqlite3.Connection, path: Path) -> None:
    allowed = _SECONDS_TO_CHECK + _SECONDS_TO_CHECK_A_MEGABYTE * path.stat().st_size / 1e6
    # Of this thread's processor time: on a busy machine a journal in order takes minutes.
    ends = time.thread_time() + allowed
    db.set_progress_handler(lambda: time.thread_time() > ends, _OPERATIONS_BETWEEN_LOOKS)


def _version(path: Path, seconds: float) -> int:
    with closing(_read_only(path, seconds)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def verify(path: Path) -> None:
    """Check a file without changing a byte of it; raise if it cannot be read."""
    with closing(_read_only(path)) as db:
        _limit_time(db, path)
        db.execute("BEGIN")  # a run may be under way: everything is checked as it is now
        version = _require_journal(path, db)
        verdict = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
        if verdict != "ok":
            raise damaged(
                path,
                verdict.splitlines()[-1],
                "`sqlite3 journal.sqlite .recover` brings back what can be read",
            )
        _require_tables(path, db, version)
        if version > _UNCHECKED_VERSION and (found := find_damage(db)):
            raise damaged(path, found, "restore it from a copy, or start a new run")


def recognize(path: Path, seconds: float) -> None:
    """Raise if a file is not a journal of a format that can be read; damage is not looked for."""
    with closing(_read_only(path, seconds)) as db:
        _limit_time(db, path)
        _require_tables(path, db, _require_journal(path, db))


def damaged(path: Path, what: str, advice: str) -> JournalError:
    """Return the error that says what is damaged."""
    return JournalError(f"{path} is damaged ({what}); it was left untouched. {advice}")


def _require_journal(path: Path, db: sqlite3.Connection) -> int:
    """Return the version of the format."""
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise JournalError(f"{path} is not a capscope journal; it was left untouched")
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if not 1 <= version <= FORMAT_VERSION:
        raise JournalError(
            f"{path} has format {version}, this capscope reads 1 to {FORMAT_VERSION}; "
            "use the version that wrote it"
        )
    return version


def _require_tables(path: Path, db: sqlite3.Connection, version: int) -> None:
    """Raise if a file declares anything but the tables of a journal."""
    found = _declared(db)
    if version < _UNCHECKED_VERSION:
        # The first release added tables as it went on. Only plain tables can be converted.
        odd = [name for name, text in found.items() if not _is_plain_table(text)]
    else:
        expected = _expected(version)
        odd = [name for name in found.keys() | expected if found.get(name) != expected.get(name)]
    if odd:
        raise JournalError(
            f"{path} does not have the tables of a journal of format {version} (see "
            f"{min(odd)!r}), so something else changed it; it was left untouched"
        )


def _declared(db: sqlite3.Connection) -> dict[str, str]:
    rows = db.execute("SELECT name, sql FROM sqlite_master").fetchall()
    return {str(name): " ".join(str(text).split()) for name, text in rows}


@cache
def _expected(version: int) -> dict[str, str]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(_SCHEMA_2 if version == _UNCHECKED_VERSION else SCHEMA)
        return _declared(db)


def _is_plain_table(declaration: str) -> bool:
    text = declaration.lower()
    return text.startswith("create table ") and " as " not in text and " generated " not in text


def _bring_up_to_date(db: sqlite3.Connection) -> None:
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version >= FORMAT_VERSION:
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        if version < _UNCHECKED_VERSION:
            _convert_format_1(db)
        for statement in CHECKED_SCHEMA.split(";"):
            db.execute(statement)
        _store_large_snapshots_once(db)
        tables = CheckedTables(db)
        tables.compute()
        tables.save()
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


def _store_large_snapshots_once(db: sqlite3.Connection) -> None:
    for table, *key in (("positions", "id"), ("ends", "draw"), ("snapshots", "state", "slot")):
        columns, here = ", ".join(key), " AND ".join(f"{column} = ?" for column in key)
        rows = db.execute(f"SELECT snapshot, name, {columns} FROM {table}").fetchall()
        for snapshot, name, *place in rows:
            stored = stored_form(snapshot)
            if stored != snapshot:
                db.execute("INSERT OR IGNORE INTO contents VALUES (?, ?)", (stored, snapshot))
                named = SavedPosition.unnamed(snapshot).name if name is None else name
                db.execute(
                    f"UPDATE {table} SET snapshot = ?, name = ? WHERE {here}",
                    (stored, named, *place),
                )


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
    return SavedPosition.unnamed(snapshot) if name is None else SavedPosition(snapshot, name)


_DRAWS_KEPT = "finished draws, if any, are kept"
_AGAIN = "resume the run, or start it again if it had no draw yet"


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn an error of SQLite into one line that says what is kept and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        reason = " ".join(str(error).split())  # SQLite may quote a statement of several lines
        if "full" in reason:
            advice = f"the disk is full; {_DRAWS_KEPT}: free some space, then {_AGAIN}"
        elif "locked" in reason:
            advice = "another process is writing to this run; wait for it or stop it"
        elif "I/O" in reason:
            advice = f"the disk is full or failed; {_DRAWS_KEPT}: fix that, then {_AGAIN}"
        elif "interrupted" in reason:
            advice = "checking it takes too long; no journal that capscope wrote does"
        elif "readonly" in reason or "unable to open" in reason:
            advice = "the file cannot be opened for writing; check its permissions"
        else:
            advice = "the file is damaged or not a journal; it was left untouched"
        raise JournalError(f"{path}: {reason}: {advice}") from error
    except OSError as error:
        raise JournalError(
            f"{path}: {error.strerror}: the file cannot be written; check its permissions"
        ) from error


_NOT_UNDERSTOOD = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError,
    CapscopeError,
)  # fmt: skip


@contextmanager
def understood(path: Path) -> Iterator[None]:
    """Read and decode; what cannot be decoded was written by something else."""
    try:
        with explained(path):
            yield
    except JournalError:
        raise
    except _NOT_UNDERSTOOD as error:
        raise JournalError(
            f"{path} holds something capscope did not write ({' '.join(str(error).split())}); "
            "it was left untouched"
        ) from error
