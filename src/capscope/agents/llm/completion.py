"""What is asked of a language model and what it answers, as values.

Two draws are two facts, even if all their words are the same. So the question includes the `Place`
of the call, the seed of the attempt and the number of the call within it. It is part of the cache's
key, and the seed that is sent to the server comes from it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from capscope.seeds import child_seed

Message = Mapping[str, str]
"""A `role` (system, user or assistant) and a `content`."""

CONTEXT_OVERFLOW = "context overflow"
CONTENT_FILTER = "content filter"


class Place(NamedTuple):
    """Where in a run a call is made; no two calls of a run have the same."""

    seed: int
    """The seed of the attempt."""
    call: int = 0
    """Its number within the attempt."""

    @property
    def sampling_seed(self) -> int:
        """A seed small enough for every server."""
        return child_seed(self.seed, self.call) & 0x7FFFFFFF


@dataclass(frozen=True)
class Sampling:
    """How an answer is drawn; None leaves a setting to the server."""

    temperature: float | None = 1.0
    top_p: float | None = None
    max_tokens: int = 1024
    """Most tokens of one answer; a longer one is cut, with `length` as its finish reason."""
    stop: tuple[str, ...] = ()
    json_schema: Mapping[str, Any] | None = None
    """Asks for an answer in JSON by this schema; what comes back must still be checked."""


@dataclass(frozen=True)
class Completion:
    """An answer, as it came: empty, cut short or nonsense included."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    finish_reason: str
    """As the server says; `context overflow` and `content filter` where it refused to answer."""
    cached: bool = False
    """It was paid for earlier."""
    cost: float = 0.0
    """What was paid for it now."""

    @property
    def tokens(self) -> int:
        """All tokens, those of the question included."""
        return self.prompt_tokens + self.completion_tokens


def request_body(
    model: str, messages: Sequence[Message], sampling: Sampling, draw: Place | None
) -> dict[str, Any]:
    """Return a request for a chat completion; with a `draw`, its seed is sent along."""
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
    if draw is not None:
        body["seed"] = draw.sampling_seed
    return body


def question_key(model: str, messages: Sequence[Message], sampling: Sampling, draw: Place) -> str:
    """Return what an answer is found by again: everything that it depends on, and the draw."""
    question = {
        "model": model,
        "messages": [dict(message) for message in messages],
        "sampling": asdict(sampling),
        "draw": list(draw),
    }
    text = json.dumps(question, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
