"""What is sent to a language model, what it answers, and a cache of all answers on disk.

Two draws are two observations, even if their prompts are identical. So each request carries a
`CallId`: the seed of the attempt and the number of the call within it. It is part of the cache key,
and the seed sent to the server is derived from it. Scores are different: the probabilities of the
first token are computed, not sampled, so they depend on the prompt alone, and so does their key.

Answers are stored in SQLite before they are used, so that no draw is paid for twice: killed,
resumed and repeated runs find them. Threads share one connection under a lock. Processes may share
the file; if two answers to one question arrive, the first one stored is used for both. Errors are
never cached.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sqlite3
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

    @classmethod
    def of(cls, answer: Completion) -> TokenScores:
        """Read an answer whose text is a JSON list of tokens and log probabilities."""
        logprobs = tuple((str(token), float(value)) for token, value in json.loads(answer.text))
        counts = answer.prompt_tokens, answer.completion_tokens
        return cls(logprobs, *counts, answer.finish_reason, answer.cached, answer.cost)

    def logprob(self, word: str) -> float | None:
        """Return the log probability that the answer begins with this word as one token.

        Tokens that differ only in case or spaces are added up; None if no such token is listed.

        >>> scores = TokenScores((("Yes", math.log(0.5)), (" yes", math.log(0.25))), 9, 1)
        >>> round(math.exp(scores.logprob("yes")), 6)
        0.75
        """
        wanted = word.strip().casefold()
        found = [value for token, value in self.logprobs if token.strip().casefold() == wanted]
        if not found:
            return None
        most = max(found)
        return most + math.log(sum(math.exp(value - most) for value in found))

    @property
    def least(self) -> float | None:
        """The least listed log probability, which no token that is not listed exceeds."""
        return min((value for _, value in self.logprobs), default=None)


def request_body(
    model: str, messages: Sequence[Message], sampling: Sampling, call: CallId | None
) -> dict[str, Any]:
    """Return the body of a chat completion request, with the seed of `call` if it is given."""
    schema = {"name": "answer", "strict": True, "schema": sampling.json_schema}
    optional = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "stop": list(sampling.stop) or None,
        "response_format": sampling.json_schema and {"type": "json_schema", "json_schema": schema},
        "tools": list(sampling.tools) or None,
        **(sampling.other or {}),
        "seed": call and call.sampling_seed,
    }
    return {
        "model": model,
        "messages": [dict(message) for message in messages],
        "max_tokens": sampling.max_tokens,
        **{name: value for name, value in optional.items() if value is not None},
    }


def score_body(model: str, messages: Sequence[Message], top: int) -> dict[str, Any]:
    """Return the body of a request for the `top` most likely first tokens."""
    body = request_body(model, messages, Sampling(temperature=0.0, max_tokens=1), None)
    return {**body, "logprobs": True, "top_logprobs": top}


def cache_key(model: str, messages: Sequence[Message], sampling: Sampling, call: CallId) -> str:
    """Return a hash of everything that an answer depends on, including the call."""
    # Settings that were added later count only if they are set, which keeps older keys valid.
    later = ("tools", "other", "whole_message")
    given = {name: value for name, value in asdict(sampling).items() if value or name not in later}
    return _hash(model, messages, {"sampling": given, "draw": list(call)})


def score_key(model: str, messages: Sequence[Message], top: int) -> str:
    """Return a hash of everything that scores depend on."""
    return _hash(model, messages, {"top_logprobs": top})


def _hash(model: str, messages: Sequence[Message], rest: dict[str, Any]) -> str:
    question = {"model": model, "messages": [dict(message) for message in messages], **rest}
    text = json.dumps(question, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


APPLICATION_ID = 0x43415041  # "CAPA", to recognize databases of other programs
_LOCK_TIMEOUT = 60.0
_TABLE = """CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, text TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
    finish_reason TEXT NOT NULL, cost REAL NOT NULL) WITHOUT ROWID
"""


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
                self._prepare()
            except BaseException:
                self._db.close()
                raise

    def _prepare(self) -> None:
        # In this order: another process that opens it now writes the number first.
        tables = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        found = self._db.execute("PRAGMA application_id").fetchone()[0]
        if found != APPLICATION_ID and (found or tables):
            raise LlmError(
                f"{self.path} is a database of another program and was not changed; move it, or "
                "set CAPSCOPE_CACHE to another directory"
            )
        self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        self._db.execute(_TABLE)

    def close(self) -> None:
        """Close the file; added answers are already on disk."""
        with self._lock:
            self._db.close()

    def find(self, key: str) -> Completion | None:
        """Return the cached answer, at no cost, or None."""
        with self._lock, _explained(self.path):
            row: tuple[str, int, int, str] | None = self._db.execute(
                "SELECT text, prompt_tokens, completion_tokens, finish_reason FROM answers "
                "WHERE key = ?",
                (key,),
            ).fetchone()
        return None if row is None else Completion(*row, cached=True)

    def add(self, key: str, model: str, answer: Completion) -> Completion:
        """Store an answer and return the one to use.

        If another process was faster, that is the other one's answer; both were paid for.
        """
        counts = answer.prompt_tokens, answer.completion_tokens
        with self._lock, _explained(self.path):
            added = self._db.execute(
                "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)",
                (key, model, answer.text, *counts, answer.finish_reason, answer.cost),
            ).rowcount
        first = None if added else self.find(key)
        return answer if first is None else replace(first, cached=False, cost=answer.cost)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn an SQLite error into one line that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        reason = " ".join(str(error).split())
        advice = "the answer cache is damaged; delete it (its answers will be paid for again) or"
        if any(sign in reason for sign in ("full", "locked", "readonly", "unable to open", "I/O")):
            advice = "check the disk, its permissions and other programs that use the file, or"
        raise LlmError(
            f"{path}: {reason}: {advice} set CAPSCOPE_CACHE to another directory, then resume"
        ) from error
