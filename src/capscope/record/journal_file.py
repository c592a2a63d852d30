"""The file of a journal: its tables, how it is recognized, and what is said when it fails.

Journals of earlier releases lack the tables that came later; nothing they hold would be in them, so
these are made when a journal is opened for writing.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from capscope.errors import JournalError, VocabularyError

APPLICATION_ID = 0x43415053  # "CAPS", so that a foreign database is recognized
FORMAT_VERSION = 1
SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE states (id INTEGER PRIMARY KEY, bits TEXT NOT NULL);
CREATE TABLE intents (id INTEGER PRIMARY KEY, literals TEXT NOT NULL);
CREATE TABLE queries (
    id INTEGER PRIMARY KEY, start INTEGER NOT NULL, start_snapshot BLOB NOT NULL,
    distance INTEGER NOT NULL, xi REAL NOT NULL, predicted REAL NOT NULL, telling INTEGER NOT NULL,
    finished INTEGER NOT NULL DEFAULT 0, policy TEXT, seconds REAL NOT NULL DEFAULT 0);
CREATE TABLE draws (
    query INTEGER NOT NULL, draw INTEGER NOT NULL, attempts TEXT NOT NULL,
    simulator_steps INTEGER NOT NULL, llm_tokens INTEGER NOT NULL, cut INTEGER NOT NULL,
    seconds REAL NOT NULL, PRIMARY KEY (query, draw)) WITHOUT ROWID;
CREATE TABLE ends (draw INTEGER PRIMARY KEY, query INTEGER NOT NULL, snapshot BLOB NOT NULL);
CREATE TABLE snapshots (
    state INTEGER NOT NULL, slot INTEGER NOT NULL, snapshot BLOB NOT NULL,
    PRIMARY KEY (state, slot)) WITHOUT ROWID;
"""
LATER_TABLES = (
    """
CREATE TABLE IF NOT EXISTS starts (
    draw INTEGER PRIMARY KEY, query INTEGER NOT NULL, state INTEGER NOT NULL,
    snapshot BLOB NOT NULL)
    """,
    """
CREATE TABLE IF NOT EXISTS costs (
    query INTEGER NOT NULL, draw INTEGER NOT NULL, llm_cost REAL NOT NULL,
    PRIMARY KEY (query, draw)) WITHOUT ROWID
    """,
    """
CREATE TABLE IF NOT EXISTS transcripts (
    query INTEGER NOT NULL, draw INTEGER NOT NULL, execution INTEGER NOT NULL, text BLOB NOT NULL,
    PRIMARY KEY (query, draw, execution)) WITHOUT ROWID
    """,
)


def connected(path: Path) -> sqlite3.Connection:
    """Open a file for reading and writing."""
    return sqlite3.connect(path, isolation_level=None)


def connected_for_reading(path: Path) -> sqlite3.Connection:
    """Open a file so that nothing is written, also where nothing may be written.

    SQLite keeps notes for other processes beside the file. Only a connection that could write
    takes them away again when it is closed.
    """
    if not os.access(path.parent, os.W_OK):
        return _untouched(path)
    db = connected(path)
    db.execute("PRAGMA query_only = ON")
    return db


def _untouched(path: Path) -> sqlite3.Connection:
    address = f"{path.resolve().as_uri()}?mode=ro"
    # Where no notes can be kept and nobody else has left any, there is no other process.
    alone = not path.with_name(f"{path.name}-wal").exists()
    if alone and not os.access(path.parent, os.W_OK):
        address += "&immutable=1"
    return sqlite3.connect(address, uri=True, isolation_level=None)


def verify(path: Path) -> None:
    """Look at a file, without changing a byte of it, and say what keeps it from being read."""
    with closing(_untouched(path)) as db:
        if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise JournalError(f"{path} is not a capscope journal; it was left untouched")
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version != FORMAT_VERSION:
            raise JournalError(
                f"{path} has format {version}, this capscope reads {FORMAT_VERSION}; "
                "use the version that wrote it"
            )
        verdict = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
        if verdict != "ok":
            raise JournalError(
                f"{path} is damaged ({verdict.splitlines()[-1]}); it was left untouched. "
                "`sqlite3 journal.sqlite .recover` brings back what can be read"
            )


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn an error of SQLite into one line that says what is kept and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        reason = " ".join(str(error).split())  # SQLite may quote a statement of many lines
        if "full" in reason:
            advice = "the disk is full; all finished draws are kept: free some space and resume"
        elif "locked" in reason:
            advice = "another process is writing to this run; wait for it or end it"
        elif "I/O" in reason:
            advice = "the disk failed; all finished draws are kept: mend the disk and resume"
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
    """Read and decode: what cannot be decoded was written by something else."""
    try:
        with explained(path):
            yield
    except (ValueError, IndexError, KeyError, TypeError, VocabularyError) as error:
        raise JournalError(
            f"{path} holds something capscope did not write ({' '.join(str(error).split())}); "
            "it was left untouched"
        ) from error
