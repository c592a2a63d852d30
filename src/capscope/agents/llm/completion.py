"""What is sent to a language model and what it answers, as values.

Two draws are two observations, even if their prompts are identical. So each request carries a
`CallId`: the seed of the attempt and the number of the call within it. It is part of the cache key,
and the seed sent to the server is derived from it.
"""

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


@dataclass(frozen=True)
class Completion:
    """An answer as received, even if empty, cut off or nonsense."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    finish_reason: str
    """As reported by the server; `context overflow` or `content filter` if it refused to answer."""
    cached: bool = False
    """It was paid for earlier."""
    cost: float = 0.0
    """What this call cost."""

    @property
    def tokens(self) -> int:
        """Tokens of the prompt and the answer."""
        return self.prompt_tokens + self.completion_tokens


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
    if call is not None:
        body["seed"] = call.sampling_seed
    return body


def cache_key(model: str, messages: Sequence[Message], sampling: Sampling, call: CallId) -> str:
    """Return a hash of everything that an answer depends on, including the call."""
    question = {
        "model": model,
        "messages": [dict(message) for message in messages],
        "sampling": asdict(sampling),
        "draw": list(call),
    }
    text = json.dumps(question, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
