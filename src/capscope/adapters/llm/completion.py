"""What is sent to a language model and what it answers, as values.

Two draws are two observations, even if their prompts are identical. So each request carries a
`CallId`: the seed of the attempt and the number of the call within it. It is part of the cache key,
and the seed sent to the server is derived from it.

Scores are different: the probabilities of the first token are computed, not sampled, so they depend
on the prompt alone, and so does their cache key.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

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
