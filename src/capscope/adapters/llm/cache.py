"""Cache every answer on disk, so that no draw is paid for twice.

Answers are stored in SQLite before they are used, so killed, resumed and repeated runs find them.
The key includes the draw: a cache keyed by the prompt alone would give every draw the same answer.
Scores of first tokens are not sampled; they are kept in a table of their own, for all draws.

Threads share one connection under a lock. Processes may share the file: it is in write-ahead mode,
and if two answers to one question arrive, the first one stored is used for both. Errors are never
cached.
"""

import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock

from capscope.adapters.llm.completion import Completion, TokenScores
from capscope.errors import LlmError

APPLICATION_ID = 0x43415041  # "CAPA", to recognize databases of other programs
_BETWEEN_TRIES = 0.01  # seconds
_LOCK_TIMEOUT = 60.0
_COLUMNS = """(
    key TEXT PRIMARY KEY, model TEXT NOT NULL, text TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
    finish_reason TEXT NOT NULL, cost REAL NOT NULL) WITHOUT ROWID
"""
_TABLES = ("answers", "scores")  # the text of scores is a JSON list of tokens and log probabilities


def cache_directory() -> Path:
    """Return the directory for answers and weights, which may not exist yet.

    `CAPSCOPE_CACHE`, or `capscope` in the user's cache directory. It is safe to delete, but answers
    are then paid for again.
    """
    given = os.environ.get("CAPSCOPE_CACHE")
    if given:
        return Path(given).expanduser()
    # The XDG specification says to ignore a relative path.
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (base if base.is_absolute() else Path.home() / ".cache") / "capscope"


def make_directory(path: Path) -> Path:
    """Create a directory and its parents."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LlmError(
            f"cannot create the cache directory {path}: {error.strerror}; set CAPSCOPE_CACHE to a "
            "writable directory"
        ) from error
    return path


class AnswerCache:
    """An open cache; database errors become an `LlmError` that names the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        make_directory(path.parent)
        with _explained(path):
            self._db = sqlite3.connect(
                path, timeout=_LOCK_TIMEOUT, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare_when_free()
            except BaseException:
                self._db.close()
                raise

    def _prepare_when_free(self) -> None:
        """Wait for other processes that open the file for the first time.

        SQLite itself does not wait if another process switches to write-ahead mode.
        """
        deadline = time.monotonic() + _LOCK_TIMEOUT
        while True:
            try:
                return self._prepare()
            except sqlite3.OperationalError as error:
                busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > deadline:
                    raise
            time.sleep(_BETWEEN_TRIES)

    def _prepare(self) -> None:
        # In this order: another process that opens it now writes the number first.
        tables = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        found = self._db.execute("PRAGMA application_id").fetchone()[0]
        if found != APPLICATION_ID and (found or tables):
            raise LlmError(
                f"{self.path} is a database of another program and was not changed; move it, or "
                "set CAPSCOPE_CACHE to another directory"
            )
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        for table in _TABLES:
            self._db.execute(f"CREATE TABLE IF NOT EXISTS {table} {_COLUMNS}")

    def close(self) -> None:
        """Close the file; added answers are already on disk."""
        with self._lock:
            self._db.close()

    def find(self, key: str) -> Completion | None:
        """Return the cached answer, at no cost, or None."""
        row = self._row("answers", key)
        return None if row is None else Completion(*row, cached=True)

    def add(self, key: str, model: str, answer: Completion) -> Completion:
        """Store an answer and return the one to use.

        If another process was faster, that is the other one's answer; both were paid for.
        """
        if self._insert("answers", key, model, answer.text, answer):
            return answer
        first = self.find(key)
        return answer if first is None else replace(first, cached=False, cost=answer.cost)

    def find_scores(self, key: str) -> TokenScores | None:
        """Return the cached scores, at no cost, or None."""
        row = self._row("scores", key)
        if row is None:
            return None
        logprobs = tuple((str(token), float(value)) for token, value in json.loads(row[0]))
        return TokenScores(logprobs, *row[1:], cached=True)

    def add_scores(self, key: str, model: str, scores: TokenScores) -> TokenScores:
        """Store scores and return those to use, as `add` does."""
        if self._insert("scores", key, model, json.dumps(scores.logprobs), scores):
            return scores
        first = self.find_scores(key)
        return scores if first is None else replace(first, cached=False, cost=scores.cost)

    def _row(self, table: str, key: str) -> tuple[str, int, int, str] | None:
        with self._lock, _explained(self.path):
            row: tuple[str, int, int, str] | None = self._db.execute(
                "SELECT text, prompt_tokens, completion_tokens, finish_reason "
                f"FROM {table} WHERE key = ?",
                (key,),
            ).fetchone()
        return row

    def _insert(
        self, table: str, key: str, model: str, text: str, answer: Completion | TokenScores
    ) -> bool:
        """Store a row and return True, or return False if the key is already there."""
        with self._lock, _explained(self.path):
            added = self._db.execute(
                f"INSERT OR IGNORE INTO {table} VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    key, model, text, answer.prompt_tokens, answer.completion_tokens,
                    answer.finish_reason, answer.cost,
                ),
            ).rowcount  # fmt: skip
        return added > 0


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn an SQLite error into one line that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        reason = " ".join(str(error).split())
        if "full" in reason:
            advice = "the disk is full; free some space and resume"
        elif "locked" in reason:
            advice = "another process is writing to it; wait for it or stop it, then resume"
        elif "readonly" in reason or "unable to open" in reason or "I/O" in reason:
            advice = "check the disk and its permissions, or set CAPSCOPE_CACHE, then resume"
        else:
            advice = (
                "the answer cache is damaged; delete it (its answers will be paid for again) or "
                "set CAPSCOPE_CACHE to another directory, then resume"
            )
        raise LlmError(f"{path}: {reason}: {advice}") from error
