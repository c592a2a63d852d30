"""The built-in agent: show a model the tools, carry out its calls, until it makes none.

Each call is one simulator step; several calls in one answer are made one after another. A call that
cannot be read is made all the same, with what was sent as its argument: the world refuses it and
the model reads why.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from capscope.agents.llm import Calls, LlmClient, LlmSettings, Message, Sampling, shared_client
from capscope.agents.tool_calling.prompts import Prompts
from capscope.agents.tool_calling.transcript import Transcript
from capscope.seeds import child_seed
from capscope.symbolic import Intent
from capscope.world import Allowance
from capscope.world.tool_calls import Tool, ToolCall, ToolObservation

_CALLS = 0  # child of the attempt's seed
UNREADABLE = "(unreadable arguments)"


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
        message: dict[str, Any] = {"role": "assistant", "content": None}
        if answer.text:  # empty if the conversation is too long, or was filtered
            message = json.loads(answer.text)
        calls = [_call(one) for one in message.get("tool_calls", ())]
        self._planned.extend(call for call in calls if call is not None)
        said = [message["content"] or "", *(f"→ {call}" for _, call in self._planned)]
        self._say(
            message, "\n".join(filter(None, said)), f"assistant ({answer.completion_tokens} tokens)"
        )

    def _say(self, message: Message, text: str, heading: str = "") -> None:
        self._messages.append(message)
        self._transcript.note(heading or message["role"], text)


def _call(sent: Any) -> tuple[str, ToolCall] | None:
    """Read a tool call as a server sends it; None if it names no tool."""
    if not isinstance(sent, Mapping) or not isinstance(sent.get("function"), Mapping):
        return None
    function = sent["function"]
    text = function.get("arguments") or "{}"
    try:
        arguments = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        arguments = {UNREADABLE: text}
    return str(sent.get("id") or ""), ToolCall(str(function.get("name") or ""), arguments)
