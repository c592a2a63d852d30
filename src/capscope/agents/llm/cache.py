"""Every answer that was paid for, so that no draw is paid for twice.

A dictionary in memory would do within a run, but a run that is killed, resumed or repeated is where
the money is. So answers go to SQLite before they are used. The key holds the draw: a cache keyed by
the words alone would hand the first answer to every draw, and turn a fair coin into a constant.

Threads share one connection under a lock. Other processes may use the same file: it is in
write-ahead mode, a writer waits for its turn, and of two answers to one question the first one
written is the answer to both. Only answers come in here; an error is never kept.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock

from capscope.agents.llm.completion import Completion
from capscope.agents.llm.directory import make_directory
from capscope.errors import LlmError

APPLICATION_ID = 0x43415041  # "CAPA", so that a foreign database is recognized
_SECONDS_TO_WAIT = 60.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, text TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
    finish_reason TEXT NOT NULL, cost REAL NOT NULL) WITHOUT ROWID
"""


class AnswerCache:
    """An open cache; every error of the database becomes a sentence about the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        make_directory(path.parent)
        with _explained(path):
            self._db = sqlite3.connect(
                path, timeout=_SECONDS_TO_WAIT, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare()
            except BaseException:
                self._db.close()
                raise

    def _prepare(self) -> None:
        found = self._db.execute("PRAGMA application_id").fetchone()[0]
        tables = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if found != APPLICATION_ID and (found or tables):
            raise LlmError(
                f"{self.path} is a database of something else and was left untouched; move it, or "
                "set CAPSCOPE_CACHE to another directory"
            )
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self._db.execute(_SCHEMA)

    def close(self) -> None:
        """Close the file; everything added is on disk already."""
        with self._lock:
            self._db.close()

    def find(self, key: str) -> Completion | None:
        """Return the answer that was kept, at no cost; None if there is none."""
        with self._lock, _explained(self.path):
            row = self._db.execute(
                "SELECT text, prompt_tokens, completion_tokens, finish_reason FROM answers "
                "WHERE key = ?",
                (key,),
            ).fetchone()
        return None if row is None else replace(Completion(*row), cached=True)

    def add(self, key: str, model: str, answer: Completion) -> Completion:
        """Keep an answer and return the one to use.

        Where another process was faster that is the other one's; both were paid for.
        """
        with self._lock, _explained(self.path):
            added = self._db.execute(
                "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    key, model, answer.text, answer.prompt_tokens, answer.completion_tokens,
                    answer.finish_reason, answer.cost,
                ),
            ).rowcount  # fmt: skip
        if added:
            return answer
        first = self.find(key)
        return answer if first is None else replace(first, cached=False, cost=answer.cost)

    def __len__(self) -> int:
        with self._lock, _explained(self.path):
            return int(self._db.execute("SELECT count(*) FROM answers").fetchone()[0])


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn an error of SQLite into one line that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        reason = " ".join(str(error).split())
        if "full" in reason:
            advice = "the disk is full; free some space and resume"
        elif "locked" in reason:
            advice = "another process is writing to it; wait for it or end it, and resume"
        elif "readonly" in reason or "unable to open" in reason or "I/O" in reason:
            advice = "check the disk and the permissions, or set CAPSCOPE_CACHE, and resume"
        else:
            advice = (
                "the answer cache is damaged; delete it (its answers will be paid for again) or "
                "set CAPSCOPE_CACHE to another directory, and resume"
            )
        raise LlmError(f"{path}: {reason}: {advice}") from error
