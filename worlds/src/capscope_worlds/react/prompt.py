"""What the model is told: a guide to the world, the answer format, and what happened so far.

Everything that depends on the world is in a `Guide`. The constant part comes first and is one
message, since servers cache prompt prefixes. Earlier actions are summarized in one line instead of
repeating the conversation, whose cost would grow with the square of its length.

The texts below are part of the fingerprint of an agent and of the keys of cached answers.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from capscope.logic import Intent
from capscope_worlds.react.answer import DONE, UnreadableAnswer


@dataclass(frozen=True)
class GuideExample:
    """A situation and a good answer to it."""

    observation: str
    goal: str
    thought: str
    actions: tuple[str, ...]


@dataclass(frozen=True)
class Guide:
    """How to read a world, what can be done in it, and how its goals are phrased."""

    introduction: str
    """Legend, actions, rules and hints."""
    actions: tuple[str, ...]
    """The actions of the world, without the one to stop."""
    examples: tuple[GuideExample, ...]
    goal: Callable[[Intent, Any, int], str]
    """Phrases an intent as a sentence, given the first observation and a seed for open choices."""
    sentences: str
    """All wording that `goal` uses, for the fingerprint of the agent."""


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
"""All wording that is not in a guide, for the fingerprint of the agent."""


def system_prompt(guide: Guide, structured: bool, max_plan: int) -> str:
    """Return the message that is the same in every call of every attempt."""
    answer_format = _STRUCTURED if structured else _FORMAT
    examples = [
        f"EXAMPLE {number}\n=========\n{_example(example, structured)}"
        for number, example in enumerate(guide.examples, start=1)
    ]
    return "\n\n".join([guide.introduction, *examples, answer_format.format(most=max_plan)])


def situation(goal: str, happened: Sequence[tuple[str, bool]], observation: str) -> str:
    """Describe the goal, the actions so far (and whether each had an effect), and the result."""
    parts = [f"Goal: {goal}"]
    if happened:
        done = ", ".join(action + ("" if changed else _NO_EFFECT) for action, changed in happened)
        parts.append(f"Done so far: {done}")
    return "\n".join([*parts, "Observation:", observation])


def reminder(answer: UnreadableAnswer, guide: Guide, structured: bool) -> str:
    """Explain what was wrong with an answer and ask again."""
    again = _STRUCTURED_AGAIN if structured else _AGAIN
    actions = ", ".join([*guide.actions, DONE])
    return again.format(reason=answer.reason, actions=actions, done=DONE)


def _example(example: GuideExample, structured: bool) -> str:
    if structured:
        answer = json.dumps({"thought": example.thought, "actions": list(example.actions)})
    else:
        answer = "\n".join([f"Thought: {example.thought}", "Actions:", *example.actions])
    return f"{situation(example.goal, (), example.observation)}\n\n{answer}"
