"""The words around a guide: how to answer, what happened, and what was wrong with an answer.

What is always the same comes first and is one message: servers remember the beginning of a prompt,
so that only what is new is read, and paid for, in full. What happened so far is told in a few lines
instead of repeating the conversation; a long attempt would otherwise cost its length squared.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from capscope.agents.react.answer import DONE, Unreadable
from capscope.agents.react.guide import Example, Guide
from capscope.agents.react.settings import ReactSettings

_FORMAT = """\
ANSWER
======
Answer in exactly this form and write nothing after it:
Thought: <what you see, and what each action will do>
Actions:
<one action a line, from the list above, at most {most} of them>"""
_STRUCTURED = """\
ANSWER
======
Answer with one JSON object: {{"thought": "<what you see, and what each action will do>",
"actions": [<actions from the list above, at most {most} of them>]}}"""
_AGAIN = """\
Your answer could not be used: {reason}. Answer once more in this form:

Thought: <what you see, and what each action will do>
Actions:
<one action a line>

The actions are {actions}. Each line below Actions: holds one of these words and nothing else. If \
the goal is reached, or cannot be reached, the only action is {done}."""
_STRUCTURED_AGAIN = """\
Your answer could not be used: {reason}. Answer once more with one JSON object that has the keys \
thought and actions. The actions are {actions}. If the goal is reached, or cannot be reached, the \
only action is {done}."""
_NO_EFFECT = " (nothing changed)"
WORDING = _FORMAT + _STRUCTURED + _AGAIN + _STRUCTURED_AGAIN + _NO_EFFECT
"""Everything that is said to the model beside a guide, for the fingerprint of the agent."""


def system_prompt(guide: Guide, settings: ReactSettings) -> str:
    """Return what is the same in every call of every attempt."""
    ask = _STRUCTURED if settings.structured else _FORMAT
    examples = [
        f"EXAMPLE {number}\n=========\n{_example(example, settings.structured)}"
        for number, example in enumerate(guide.examples, start=1)
    ]
    return "\n\n".join([guide.introduction, *examples, ask.format(most=settings.max_plan)])


def situation(goal: str, happened: Sequence[tuple[str, bool]], observation: str) -> str:
    """Say what is wanted, what was done (each action, and whether it changed anything), and where
    that has led.
    """
    parts = [f"Goal: {goal}"]
    if happened:
        done = ", ".join(action + ("" if changed else _NO_EFFECT) for action, changed in happened)
        parts.append(f"Done so far: {done}")
    return "\n".join([*parts, "Observation:", observation])


def reminder(answer: Unreadable, guide: Guide, structured: bool) -> str:
    """Say what was wrong with an answer and how to do it right."""
    again = _STRUCTURED_AGAIN if structured else _AGAIN
    actions = ", ".join([*guide.actions, DONE])
    return again.format(reason=answer.reason, actions=actions, done=DONE)


def _example(example: Example, structured: bool) -> str:
    if structured:
        answer = json.dumps({"thought": example.thought, "actions": list(example.actions)})
    else:
        answer = "\n".join([f"Thought: {example.thought}", "Actions:", *example.actions])
    return f"{situation(example.goal, (), example.observation)}\n\n{answer}"
