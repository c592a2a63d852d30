"""The built-in agent: show a model the tools, carry out its calls, until it makes none.

Each call is one simulator step; several calls in one answer are made one after another. A call that
cannot be read is a step too: the world refuses it, and the model reads why. It is repeated to the
server in a valid form, because strict servers refuse the whole conversation otherwise; the
transcript has what the model said.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, count
from typing import Any

from capscope.adapters.llm import Calls, LlmClient, LlmSettings, Message, Sampling, shared_client
from capscope.adapters.tools.model_calls import read_call, valid_call
from capscope.adapters.tools.prompts import Prompts
from capscope.adapters.tools.transcript import Transcript
from capscope.logic import Intent
from capscope.problem import Allowance
from capscope.problem.tool_calls import Tool, ToolCall, ToolObservation
from capscope.seeds import child_seed

_CALLS = 0  # child of the attempt's seed


@dataclass(frozen=True)
class ToolCallingSettings:
    """The system message and the sampling of answers."""

    system: str = ""
    max_tokens: int = 2048
    temperature: float | None = 1.0


@dataclass(frozen=True)
class ToolCallingAgent:
    """A language model that calls tools."""

    prompts: Prompts
    tools: Sequence[Tool]
    model: str | None = None
    """The name of the model; None is the one that the environment names."""
    settings: ToolCallingSettings = field(default_factory=ToolCallingSettings)

    @cached_property
    def client(self) -> LlmClient:
        """The client of the server that the environment names."""
        return shared_client(LlmSettings.from_environment(model=self.model))

    @cached_property
    def sampling(self) -> Sampling:
        """How answers are sampled."""
        return Sampling(
            temperature=self.settings.temperature,
            max_tokens=self.settings.max_tokens,
            tools=tuple(tool.as_openai() for tool in self.tools),
            whole_message=True,
        )

    @property
    def fingerprint(self) -> str:
        """Identify the model and the settings."""
        digest = hashlib.sha256(repr(self.settings).encode()).hexdigest()[:16]
        return f"{self.client.settings.model}-{digest}"

    def begin(self, intent: Intent, seed: int) -> ToolCallingAttempt:
        """Start an attempt at an intent."""
        self.prompts.check(intent)
        return ToolCallingAttempt(self, intent, seed)


class ToolCallingAttempt:
    """One conversation."""

    def __init__(self, agent: ToolCallingAgent, intent: Intent, seed: int) -> None:
        self._agent = agent
        self._intent = intent
        self._seed = seed
        self._calls = Calls(agent.client, child_seed(seed, _CALLS))
        self._messages: list[Message] = []
        self._planned: deque[tuple[str, ToolCall]] = deque()
        self._ids: set[str] = set()
        self._waiting: str | None = None  # the id of the call whose result comes next
        self._transcript = Transcript()

    @property
    def llm_tokens(self) -> int:
        """Tokens of the prompts and answers so far."""
        return self._calls.llm_tokens

    @property
    def transcript(self) -> str:
        """All messages in order."""
        return str(self._transcript)

    def spend_from(self, allowance: Allowance) -> None:
        """Pay for every later call from an allowance."""
        self._calls.spend_from(allowance)

    def act(self, observation: ToolObservation) -> ToolCall | None:
        """Return the next call, asking the model if there is none; None if it makes none."""
        if not self._messages:
            self._begin(observation)
        elif self._waiting is not None and observation.result is not None:
            text = observation.result.text
            self._say({"role": "tool", "tool_call_id": self._waiting, "content": text}, text)
            self._waiting = None
        if not self._planned:
            self._ask()
        if not self._planned:
            return None
        self._waiting, call = self._planned.popleft()
        return call

    def _begin(self, observation: ToolObservation) -> None:
        system = self._agent.settings.system
        if system:
            self._say({"role": "system", "content": system}, system)
        prompt = self._agent.prompts.prompt(self._intent, observation, self._seed)
        self._say({"role": "user", "content": prompt}, prompt)

    def _ask(self) -> None:
        answer = self._calls.complete(self._messages, self._agent.sampling)
        message: dict[str, Any] = json.loads(answer.text)
        said = [message["content"] or ""]
        repeated = []
        for sent in message.get("tool_calls", ()):
            call, valid = self._read(sent)
            self._planned.append((valid["id"], call))
            repeated.append(valid)
            said.append(f"→ {json.dumps(sent, ensure_ascii=False) if call.error else call}")
        if repeated:
            message["tool_calls"] = repeated
        self._say(
            message, "\n".join(filter(None, said)), f"assistant ({answer.completion_tokens} tokens)"
        )

    def _read(self, sent: Any) -> tuple[ToolCall, dict[str, Any]]:
        """Return the call that was sent, and the form in which it is repeated to the server."""
        call = read_call(sent)
        given = sent.get("id") if isinstance(sent, Mapping) else None
        names = [tool.name for tool in self._agent.tools]
        return call, valid_call(sent, call, self._new_id(given), names)

    def _new_id(self, sent: Any) -> str:
        """Return the id of a call, or another one if it has none or it was used before."""
        # Nine letters and digits: some servers accept nothing else.
        others = (f"call{n:05}" for n in count(len(self._ids)))
        usable = [sent] if isinstance(sent, str) and sent else []
        chosen = next(one for one in chain(usable, others) if one not in self._ids)
        self._ids.add(chosen)
        return chosen

    def _say(self, message: Message, text: str, heading: str = "") -> None:
        self._messages.append(message)
        self._transcript.note(heading or message["role"], text)
