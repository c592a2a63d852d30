"""What is sent to a language model, what it answers, and a cache of all answers on disk.

Two draws are two observations, even if their prompts are identical. So each request carries a
`CallId`: the seed of the attempt and the number of the call within it. It is part of the cache key,
and the seed sent to the server is derived from it. Scores are different: the probabilities of the
first token are computed, not sampled, so they depend on the prompt alone, and so does their key.

Answers are stored in SQLite before they are used, so that no draw is paid for twice: killed,
resumed and repeated runs find them. Threads share one connection under a lock. Processes may share
the file: it is in write-ahead mode, and if two answers to one question arrive, the first one stored
is used for both. Errors are never cached.
"""

import hashlib
import json
import math
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from capscope.errors import LlmError
from capscope.seeds import child_seed

Message = Mapping[str, Any]
"""A `role` (system, user, assistant or tool), a `content`, and tool calls or their id."""


class CallId(NamedTuple):
    """Identifies a call; unique within a run."""

    seed: int
    """The seed of the attempt."""
    number: int = 0
    """The number of the call within the attempt."""

    @property
    def sampling_seed(self) -> int:
        """A seed small enough for every server."""
        return child_seed(self.seed, self.number) & 0x7FFFFFFF


@dataclass(frozen=True)
class Sampling:
    """How an answer is sampled; None leaves a setting to the server."""

    temperature: float | None = 1.0
    top_p: float | None = None
    max_tokens: int = 1024
    """Limit on the answer; a longer one is cut, with finish reason `length`."""
    stop: tuple[str, ...] = ()
    json_schema: Mapping[str, Any] | None = None
    """Request JSON that follows this schema; the answer must still be checked."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """Tools that the model may call, as the protocol describes them."""
    other: Mapping[str, Any] | None = None
    """Further parameters of the request, sent as they are."""
    whole_message: bool = False
    """Return the message as JSON, with its tool calls, instead of its text."""

    def as_dict(self) -> dict[str, Any]:
        """Return all settings; those of tools only if they are set, to keep older keys valid."""
        given = asdict(self)
        unset = [name for name in ("tools", "other", "whole_message") if not given[name]]
        return {name: value for name, value in given.items() if name not in unset}


@dataclass(frozen=True)
class Completion:
    """An answer as received, even if empty, cut off or nonsense."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    finish_reason: str
    """As reported by the server."""
    cached: bool = False
    """It was paid for earlier."""
    cost: float = 0.0
    """What this call cost."""

    @property
    def tokens(self) -> int:
        """Tokens of the prompt and the answer."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True)
class TokenScores:
    """The most likely first tokens of an answer."""

    logprobs: tuple[tuple[str, float], ...]
    """Tokens and the logarithms of their probabilities; empty if the answer has no tokens."""
    prompt_tokens: int
    completion_tokens: int
    finish_reason: str = "length"
    cached: bool = False
    cost: float = 0.0

    @property
    def tokens(self) -> int:
        """Tokens of the prompt and the answer."""
        return self.prompt_tokens + self.completion_tokens

    def logprob(self, word: str) -> float | None:
        """Return the log probability that the answer begins with this word as one token.

        Tokens that differ only in case or spaces are added up; None if no such token is listed.

        >>> scores = TokenScores((("Yes", math.log(0.5)), (" yes", math.log(0.25))), 9, 1)
        >>> round(math.exp(scores.logprob("yes")), 6)
        0.75
        """
        found = [value for token, value in self.logprobs if _plain(token) == _plain(word)]
        if not found:
            return None
        most = max(found)
        return most + math.log(sum(math.exp(value - most) for value in found))

    @property
    def least(self) -> float | None:
        """The least listed log probability, which no token that is not listed exceeds."""
        return min((value for _, value in self.logprobs), default=None)


def _plain(token: str) -> str:
    return token.strip().casefold()


def request_body(
    model: str, messages: Sequence[Message], sampling: Sampling, call: CallId | None
) -> dict[str, Any]:
    """Return the body of a chat completion request, with the seed of `call` if it is given."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [dict(message) for message in messages],
        "max_tokens": sampling.max_tokens,
    }
    if sampling.temperature is not None:
        body["temperature"] = sampling.temperature
    if sampling.top_p is not None:
        body["top_p"] = sampling.top_p
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if sampling.json_schema is not None:
        schema = {"name": "answer", "strict": True, "schema": sampling.json_schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    if sampling.tools:
        body["tools"] = list(sampling.tools)
    body.update(sampling.other or {})
    if call is not None:
        body["seed"] = call.sampling_seed
    return body


def score_body(model: str, messages: Sequence[Message], top: int) -> dict[str, Any]:
    """Return the body of a request for the `top` most likely first tokens."""
    body = request_body(model, messages, Sampling(temperature=0.0, max_tokens=1), None)
    return {**body, "logprobs": True, "top_logprobs": top}


def cache_key(model: str, messages: Sequence[Message], sampling: Sampling, call: CallId) -> str:
    """Return a hash of everything that an answer depends on, including the call."""
    return _hash(model, messages, {"sampling": sampling.as_dict(), "draw": list(call)})


def score_key(model: str, messages: Sequence[Message], top: int) -> str:
    """Return a hash of everything that scores depend on."""
    return _hash(model, messages, {"top_logprobs": top})


def _hash(model: str, messages: Sequence[Message], rest: dict[str, Any]) -> str:
    question = {"model": model, "messages": [dict(message) for message in messages], **rest}
    text = json.dumps(question, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


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
