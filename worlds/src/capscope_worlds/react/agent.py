"""The ReAct agent: ask for a plan, carry it out, look again; until it is done or out of actions.

As in the paper, an answer is a plan of several actions, which saves calls. When the plan is used
up, the model is shown the current observation and its actions so far, and plans again. An
unreadable answer is asked for once more; after a second one the agent stops. Nothing is remembered
between attempts, and the attempt seeds the model's randomness.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

from capscope.adapters.llm import Calls, Completion, LlmClient, Message, ModelAttempt, Sampling
from capscope.errors import ProblemError
from capscope.logic import Intent
from capscope.seeds import child_seed
from capscope_worlds.react.answer import (
    DONE,
    ActionPlan,
    UnreadableAnswer,
    read_plan,
    read_structured,
    schema,
)
from capscope_worlds.react.prompt import WORDING, Guide, reminder, situation, system_prompt

_TRIES = 2
_MOST_ECHOED = 2000
"""Characters of an unreadable answer that are shown to the model again."""
_CALLS, _GOAL = 0, 1  # children of the attempt's seed, for its answers and its goal
_YES, _NO = ("yes", "true", "on", "1"), ("no", "false", "off", "0")


@dataclass(frozen=True)
class ReactSettings:
    """Limits of an attempt and sampling of its answers.

    On the command line they follow the name of the problem, so they are part of the run:
    `minigrid-react:structured=yes,max-actions=20,temperature=0.7`.
    """

    structured: bool = False
    """Request answers as JSON that follows a schema, for models that cannot keep to a format."""
    max_actions: int = 50
    """Maximum number of actions in an attempt."""
    max_plan: int = 20
    """Maximum number of actions in one answer; then the model is shown the result."""
    max_tokens: int = 2048
    """Maximum number of tokens in one answer, including hidden reasoning."""
    max_thought: int = 0
    """Maximum number of characters in the thought of a structured answer; 0 means no limit, which
    some servers require."""
    temperature: float = 1.0

    def __post_init__(self) -> None:
        for name in ("max_actions", "max_plan", "max_tokens"):
            if getattr(self, name) < 1:
                raise ProblemError(f"{_option(name)} must be at least 1, not {getattr(self, name)}")
        if self.max_thought < 0 or not 0 <= self.temperature <= 10:
            raise ProblemError("max-thought must be at least 0, and temperature from 0 to 10")

    def changed(self, options: Mapping[str, str]) -> ReactSettings:
        """Return the settings with some of them replaced by typed options."""
        return replace(self, **{name: self._read(name, text) for name, text in options.items()})

    def _read(self, name: str, text: str) -> Any:
        kind = type(getattr(self, name))
        value = text.strip().lower()
        if kind is bool:
            if value not in _YES + _NO:
                raise ProblemError(f"{_option(name)} must be yes or no, not {text!r}")
            return value in _YES
        try:
            return kind(value)
        except ValueError:
            raise ProblemError(f"{_option(name)} must be a number, not {text!r}") from None


SMALL_MODEL_SETTINGS = ReactSettings(structured=True, max_plan=10, max_tokens=200, max_thought=200)
"""For models that run on a laptop: after a few sentences they lose the format and the topic."""


def _option(name: str) -> str:
    return name.replace("_", "-")


class TextObservation(Protocol):
    """An observation that can be described as text."""

    def text(self) -> str:
        """Describe everything that is visible."""


class ReactAgent:
    """A language model in a world that can be described as text."""

    def __init__(
        self, client: LlmClient, guide: Guide, settings: ReactSettings | None = None
    ) -> None:
        self.client = client
        self.guide = guide
        self.settings = settings or ReactSettings()
        self.prompt = system_prompt(guide, self.settings.structured, self.settings.max_plan)
        """The system message of every call."""

    @cached_property
    def sampling(self) -> Sampling:
        """How answers are sampled."""
        chosen = self.settings
        json_schema = None
        if chosen.structured:
            json_schema = schema(self.guide.actions, chosen.max_plan, chosen.max_thought)
        return Sampling(
            temperature=chosen.temperature, max_tokens=chosen.max_tokens, json_schema=json_schema
        )

    @property
    def fingerprint(self) -> str:
        """Identifies the agent: the model, all wording of its prompts, and the settings."""
        parts = (self.prompt, self.guide.sentences, WORDING, self.settings)
        digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
        return f"{self.client.settings.model}-{digest}"

    def begin(self, intent: Intent, seed: int) -> ReactAttempt:
        """Start an attempt at an intent."""
        return ReactAttempt(self, intent, seed)

    def read(self, text: str) -> ActionPlan | UnreadableAnswer:
        """Read an answer of the model."""
        read = read_structured if self.settings.structured else read_plan
        return read(text, self.guide.actions, self.settings.max_plan)


class ReactAttempt(ModelAttempt):
    """One attempt at an intent."""

    def __init__(self, agent: ReactAgent, intent: Intent, seed: int) -> None:
        self._agent = agent
        self._intent = intent
        self._seed = seed
        self._calls = Calls(agent.client, child_seed(seed, _CALLS))
        super().__init__(self._calls)
        self._goal: str | None = None
        self._planned: deque[str] = deque()
        self._ends = False
        self._happened: list[tuple[str, bool]] = []
        self._last: tuple[str, str] | None = None
        """The last action, and the observation before it."""

    def act(self, observation: TextObservation) -> str | None:
        """Return the next action of the plan, asking for a new plan if needed; None to stop."""
        seen = observation.text()
        if self._goal is None:
            self._goal = self._agent.guide.goal(
                self._intent, observation, child_seed(self._seed, _GOAL)
            )
        if self._last is not None:
            action, before = self._last
            self._happened.append((action, seen != before))
            self._last = None
        if len(self._happened) >= self._agent.settings.max_actions:
            self._note("stopped", f"after {len(self._happened)} actions")
            return None
        if not self._planned and not self._ends:
            self._make_plan(seen)
        if not self._planned:
            return None
        self._last = self._planned.popleft(), seen
        return self._last[0]

    def _make_plan(self, seen: str) -> None:
        """Ask for a plan; end the attempt if there is no readable one."""
        assert self._goal is not None
        agent = self._agent
        messages: list[Message] = [
            self._message("system", agent.prompt, noted=bool(self._parts)),
            self._message("user", situation(self._goal, self._happened, seen)),
        ]
        for tried in range(1, _TRIES + 1):
            answer = self._calls.complete(messages, agent.sampling)
            self._note(f"assistant ({_remark(answer)})", answer.text)
            plan = agent.read(answer.text)
            if isinstance(plan, ActionPlan):
                self._planned.extend(plan.actions)
                self._ends = plan.ends
                self._note("plan", ", ".join([*plan.actions, *[DONE] * plan.ends]))
                return
            self._note("unreadable", plan.reason)
            if tried < _TRIES:
                again = reminder(plan, agent.guide, agent.settings.structured)
                # Some servers reject an empty message.
                echo = answer.text[:_MOST_ECHOED].strip() or "(nothing)"
                messages.append({"role": "assistant", "content": echo})
                messages.append(self._message("user", again))
        self._ends = True

    def _message(self, role: str, content: str, noted: bool = False) -> Message:
        """Make a message and add it to the transcript, unless it is there already."""
        if not noted:
            self._note(role, content)
        return {"role": role, "content": content}


def _remark(answer: Completion) -> str:
    return f"{answer.finish_reason}, {answer.completion_tokens} tokens"
