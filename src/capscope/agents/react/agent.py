"""The agent: prompt, read the plan, act it out, look again; until it is done or out of actions.

Asking after every single action would cost a call for each step and is not how the models of the
paper are used. So an answer is a plan of several actions. When it is used up the model is shown
where it got to and what it did, and plans again. An answer that cannot be read is asked for once
more; after a second one the agent stops, as somebody would who does not understand the question.

Nothing is remembered between attempts, and all chance is the model's own, by the attempt's seed.
"""

from __future__ import annotations

import hashlib
from collections import deque
from functools import cached_property
from typing import Protocol

from capscope.agents.llm import Calls, Completion, LlmClient, Message, Sampling
from capscope.agents.react.answer import DONE, Plan, Unreadable, read_plan, read_structured, schema
from capscope.agents.react.guide import Guide
from capscope.agents.react.prompt import WORDING, reminder, situation, system_prompt
from capscope.agents.react.settings import ReactSettings
from capscope.seeds import child_seed
from capscope.symbolic import Intent
from capscope.world import Allowance

_TRIES = 2
_MOST_ECHOED = 2000
"""Characters of an unreadable answer that are shown to the model again."""
_CALLS, _GOAL = 0, 1  # the places, below an attempt, that seed its answers and its goal


class Shown(Protocol):
    """An observation that can be read."""

    def text(self) -> str:
        """Describe everything that is seen."""


class ReactAgent:
    """A language model in a world that can be shown as text."""

    def __init__(
        self, client: LlmClient, guide: Guide, settings: ReactSettings | None = None
    ) -> None:
        self.client = client
        self.guide = guide
        self.settings = settings or ReactSettings()
        self.prompt = system_prompt(guide, self.settings)
        """What the model is told in every call."""

    @cached_property
    def sampling(self) -> Sampling:
        """How answers are drawn."""
        chosen = self.settings
        form = None
        if chosen.structured:
            form = schema(self.guide.actions, chosen.max_plan, chosen.max_thought)
        return Sampling(
            temperature=chosen.temperature, max_tokens=chosen.max_tokens, json_schema=form
        )

    @property
    def fingerprint(self) -> str:
        """Identifies what the agent does: the model, every word said to it, and the sampling."""
        parts = (self.prompt, self.guide.sentences, WORDING, self.settings)
        digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
        return f"{self.client.settings.model}-{digest}"

    def begin(self, intent: Intent, seed: int) -> Deliberation:
        """Start afresh on an intent."""
        return Deliberation(self, intent, seed)

    def read(self, text: str) -> Plan | Unreadable:
        """Read an answer of the model."""
        read = read_structured if self.settings.structured else read_plan
        return read(text, self.guide.actions, self.settings.max_plan)


class Deliberation:
    """One attempt."""

    def __init__(self, agent: ReactAgent, intent: Intent, seed: int) -> None:
        self._agent = agent
        self._intent = intent
        self._seed = seed
        self._calls = Calls(agent.client, child_seed(seed, _CALLS))
        self._goal: str | None = None
        self._planned: deque[str] = deque()
        self._ends = False
        self._happened: list[tuple[str, bool]] = []
        self._acting: tuple[str, str] | None = None
        self._parts: list[str] = []

    @property
    def llm_tokens(self) -> int:
        """Tokens of the answers so far, those of the questions included."""
        return self._calls.llm_tokens

    @property
    def transcript(self) -> str:
        """Everything that was said, in order; what others wrote is indented."""
        return "\n".join(self._parts)

    def spend_from(self, allowance: Allowance) -> None:
        """Pay for every call from here on out of an allowance."""
        self._calls.spend_from(allowance)

    def act(self, observation: Shown) -> str | None:
        """Take the next action of the plan, or make a new one; None: the agent stops."""
        seen = observation.text()
        if self._goal is None:
            self._goal = self._agent.guide.goal(
                self._intent, observation, child_seed(self._seed, _GOAL)
            )
        if self._acting is not None:
            action, before = self._acting
            self._happened.append((action, seen != before))
            self._acting = None
        if len(self._happened) >= self._agent.settings.max_actions:
            self._note("stopped", f"after {len(self._happened)} actions")
            return None
        if not self._planned and not self._ends:
            self._make_plan(seen)
        if not self._planned:
            return None
        self._acting = self._planned.popleft(), seen
        return self._acting[0]

    def _make_plan(self, seen: str) -> None:
        """Ask for a plan; without a readable one there is nothing more to do."""
        assert self._goal is not None
        agent = self._agent
        messages: list[Message] = [
            self._said("system", agent.prompt, known=bool(self._parts)),
            self._said("user", situation(self._goal, self._happened, seen)),
        ]
        for tried in range(1, _TRIES + 1):
            answer = self._calls.complete(messages, agent.sampling)
            self._note(f"assistant ({_remark(answer)})", answer.text)
            plan = agent.read(answer.text)
            if isinstance(plan, Plan):
                self._planned.extend(plan.actions)
                self._ends = plan.ends
                self._note("plan", ", ".join([*plan.actions, *[DONE] * plan.ends]))
                return
            self._note("unreadable", plan.reason)
            if tried < _TRIES:
                again = reminder(plan, agent.guide, agent.settings.structured)
                # Some servers refuse a message without a word in it.
                echo = answer.text[:_MOST_ECHOED].strip() or "(nothing)"
                messages.append({"role": "assistant", "content": echo})
                messages.append(self._said("user", again))
        self._ends = True

    def _said(self, role: str, content: str, known: bool = False) -> Message:
        """Make a message and note it, unless the transcript has it already."""
        if not known:
            self._note(role, content)
        return {"role": role, "content": content}

    def _note(self, heading: str, text: str) -> None:
        # Indented, so that no answer can pass for a heading.
        self._parts.append(f"{heading}:")
        self._parts.extend(f"  {line}" for line in text.splitlines() or ["(nothing)"])


def _remark(answer: Completion) -> str:
    return f"{answer.finish_reason}, {answer.completion_tokens} tokens"
