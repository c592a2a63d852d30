"""The file of a journal: its tables, how it is recognized, and its error messages.

Reading changes no byte of a run directory, and no file appears or disappears, whether the run has
ended, was killed or is under way; all rows that were committed are seen.

A journal may come from someone else, so nothing in it is run: it may hold the tables of a journal
and nothing else (no view, no trigger, no generated column), values are of limited size, and
checking it takes limited time.
"""

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path

from capscope.errors import CapscopeError, JournalError
from capscope.journal.checked_tables import find_damage

APPLICATION_ID = 0x43415053  # "CAPS", so that a foreign database is recognized
FORMAT_VERSION = 5
_SECONDS_TO_WAIT = 5.0
"""If another process has locked the file."""
_LARGEST_VALUE = 256 * 1024**2
_SECONDS_TO_CHECK = 60.0
_SECONDS_TO_CHECK_A_MEGABYTE = 0.5
_OPERATIONS_BETWEEN_LOOKS = 100_000
"""How often SQLite asks whether the time is over."""
SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE states (id INTEGER PRIMARY KEY, bits TEXT NOT NULL);
CREATE TABLE intents (id INTEGER PRIMARY KEY, literals TEXT NOT NULL);
CREATE TABLE positions (
    id INTEGER PRIMARY KEY, state INTEGER NOT NULL, snapshot BLOB NOT NULL, name BLOB);
CREATE TABLE queries (
    id INTEGER PRIMARY KEY, position INTEGER NOT NULL, distance INTEGER NOT NULL, xi REAL NOT NULL,
    predicted REAL NOT NULL, informative INTEGER NOT NULL, finished INTEGER NOT NULL DEFAULT 0,
    policy TEXT, seconds REAL NOT NULL DEFAULT 0);
CREATE TABLE draws (
    query INTEGER NOT NULL, draw INTEGER NOT NULL, position INTEGER, attempts TEXT NOT NULL,
    simulator_steps INTEGER NOT NULL, llm_tokens INTEGER NOT NULL, llm_cost REAL NOT NULL,
    cut INTEGER NOT NULL, seconds REAL NOT NULL, actions TEXT NOT NULL,
    PRIMARY KEY (query, draw)) WITHOUT ROWID;
CREATE TABLE replays (
    query INTEGER NOT NULL, draw INTEGER NOT NULL, execution INTEGER NOT NULL,
    atom INTEGER NOT NULL, positive INTEGER NOT NULL, verdict TEXT NOT NULL, kept TEXT NOT NULL,
    steps INTEGER NOT NULL, note TEXT NOT NULL,
    PRIMARY KEY (query, draw, execution, atom, positive)) WITHOUT ROWID;
CREATE TABLE actions (id INTEGER PRIMARY KEY, written TEXT NOT NULL);
CREATE TABLE starts (draw INTEGER PRIMARY KEY, query INTEGER NOT NULL, position INTEGER NOT NULL);
CREATE TABLE ends (
    draw INTEGER PRIMARY KEY, query INTEGER NOT NULL, snapshot BLOB NOT NULL, name BLOB);
CREATE TABLE snapshots (
    state INTEGER NOT NULL, slot INTEGER NOT NULL, snapshot BLOB NOT NULL, name BLOB,
    PRIMARY KEY (state, slot)) WITHOUT ROWID;
CREATE TABLE transcripts (
    query INTEGER NOT NULL, draw INTEGER NOT NULL, execution INTEGER NOT NULL, text BLOB NOT NULL,
    PRIMARY KEY (query, draw, execution)) WITHOUT ROWID;
CREATE TABLE contents (digest TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE checksums (
    rows_of TEXT PRIMARY KEY, rows INTEGER NOT NULL, total INTEGER NOT NULL) WITHOUT ROWID;
"""


def companion_files(path: Path) -> tuple[Path, Path]:
    """Return the files that SQLite keeps beside a journal while it is open."""
    return path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")


JournalStamp = tuple[tuple[int, int], ...]
"""Times and sizes of the files of a journal."""


def file_stamp(path: Path) -> JournalStamp:
    """Return a value that changes whenever a journal does."""
    return tuple(map(_stamp, (path, companion_files(path)[0])))


_NOTHING = (0, 0)


def _stamp(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:
        return _NOTHING
    return (found.st_mtime_ns, found.st_size) if found.st_size else _NOTHING


@contextmanager
def new_file(path: Path) -> Iterator[tuple[Path, sqlite3.Connection]]:
    """Make a file with empty tables, to be filled in the block, and then give it its name.

    It is made under another name: a journal either says what it is or does not exist.
    """
    draft = path.with_name(f".{path.name}.draft")
    drafts = (draft, *companion_files(draft))
    try:
        # A log that was left behind belongs to another file, yet SQLite would apply it.
        for old in drafts:
            old.unlink(missing_ok=True)
        with closing(sqlite3.connect(draft, isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode = MEMORY")
            db.executescript(
                f"PRAGMA application_id = {APPLICATION_ID}; "
                f"PRAGMA user_version = {FORMAT_VERSION}; {SCHEMA}"
            )
            yield draft, db
            # Once it has its name, a kill must not leave a file for undoing this change.
            db.execute("PRAGMA journal_mode = WAL")
        for old in companion_files(path):
            old.unlink(missing_ok=True)
        draft.replace(path)
    except BaseException:
        for made in drafts:
            with suppress(OSError):
                made.unlink(missing_ok=True)
        raise


def connect(path: Path) -> sqlite3.Connection:
    """Open a journal for reading and writing."""
    db = _defensive(sqlite3.connect(path, isolation_level=None))
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        db.close()
        raise
    return db


def _defensive(db: sqlite3.Connection) -> sqlite3.Connection:
    """Trust nothing in the file."""
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST_VALUE)
    for setting in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
        db.execute(f"PRAGMA {setting}")
    if hasattr(db, "setconfig"):  # from Python 3.12 on
        db.setconfig(getattr(sqlite3, "SQLITE_DBCONFIG_DEFENSIVE"), True)  # noqa: B009
    return db


def connect_for_reading(path: Path, seconds: float = _SECONDS_TO_WAIT) -> sqlite3.Connection:
    """Open a journal together with its log, and leave every byte as it is.

    `seconds` limits the wait for another process that has locked the file.
    SQLite needs notes for finding its way in a log. It reads those that a writer keeps beside the
    journal; if the writer was killed, it makes its own in memory. Without a log there is no writer,
    so nothing needs to be locked (see `require_unchanged`).
    """
    log, notes = companion_files(path)
    if not log.exists() or not (notes.exists() or log.stat().st_size):
        option = "immutable=1"
    elif notes.exists():
        option = "readonly_shm=1"
    else:
        return _defensive(_merged(path, log))
    address = f"{path.resolve().as_uri()}?mode=ro&{option}"
    return _defensive(sqlite3.connect(address, timeout=seconds, uri=True, isolation_level=None))


def _merged(path: Path, log: Path) -> sqlite3.Connection:
    """Return a journal and its log in memory: SQLite would not read a log without notes."""
    merged = sqlite3.connect(":memory:", isolation_level=None)
    with tempfile.TemporaryDirectory(prefix="capscope-") as folder:
        for file in (path, log):
            shutil.copyfile(file, Path(folder) / file.name)
        with closing(_defensive(sqlite3.connect(Path(folder) / path.name))) as copy:
            copy.execute("PRAGMA journal_mode = DELETE")
            copy.backup(merged)
    return merged


def require_unchanged(path: Path, before: JournalStamp) -> None:
    """Raise if a run was resumed while its journal was read without locks."""
    alone = before[1] == _NOTHING
    if alone and file_stamp(path)[0] != before[0]:
        raise JournalError(f"{path} was changed while it was read; try again")


def _limit_time(db: sqlite3.Connection, path: Path) -> None:
    allowed = _SECONDS_TO_CHECK + _SECONDS_TO_CHECK_A_MEGABYTE * path.stat().st_size / 1e6
    # Of this thread's processor time: on a busy machine a journal in order takes minutes.
    ends = time.thread_time() + allowed
    db.set_progress_handler(lambda: time.thread_time() > ends, _OPERATIONS_BETWEEN_LOOKS)


def verify(path: Path) -> None:
    """Check a file without changing a byte of it; raise if it cannot be read."""
    before = file_stamp(path)
    try:
        with closing(connect_for_reading(path)) as db:
            _limit_time(db, path)
            db.execute("BEGIN")  # a run may be under way: everything is checked as it is now
            _require_intact(path, db)
    finally:
        require_unchanged(path, before)


def _require_intact(path: Path, db: sqlite3.Connection) -> None:
    _require_journal(path, db)
    verdict = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    if verdict != "ok":
        raise damaged(
            path,
            verdict.splitlines()[-1],
            "`sqlite3 journal.sqlite .recover` brings back what can be read",
        )
    _require_tables(path, db)
    if found := find_damage(db):
        raise damaged(path, found, "restore it from a copy, or start a new run")


def recognize(path: Path, db: sqlite3.Connection) -> None:
    """Raise if an open file is not a journal of this format; damage is not looked for."""
    _limit_time(db, path)
    _require_journal(path, db)
    _require_tables(path, db)


def damaged(path: Path, what: str, advice: str) -> JournalError:
    """Return the error that says what is damaged."""
    return JournalError(f"{path} is damaged ({what}); it was left untouched. {advice}")


def _require_journal(path: Path, db: sqlite3.Connection) -> None:
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise JournalError(f"{path} is not a capscope journal; it was left untouched")
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if version != FORMAT_VERSION:
        raise JournalError(
            f"{path} has format {version}, this capscope reads {FORMAT_VERSION}; use the version "
            "that wrote it, or start a new run"
        )


def _require_tables(path: Path, db: sqlite3.Connection) -> None:
    """Raise if a file declares anything but the tables of a journal."""
    found, expected = _declared(db), _expected()
    odd = [name for name in found.keys() | expected if found.get(name) != expected.get(name)]
    if odd:
        raise JournalError(
            f"{path} does not have the tables of a journal (see {min(odd)!r}), so something else "
            "changed it; it was left untouched"
        )


def _declared(db: sqlite3.Connection) -> dict[str, str]:
    rows = db.execute("SELECT name, sql FROM sqlite_master").fetchall()
    return {str(name): " ".join(str(text).split()) for name, text in rows}


@cache
def _expected() -> dict[str, str]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SCHEMA)
        return _declared(db)


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
        elif "locked" in reason or "locking" in reason:
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
