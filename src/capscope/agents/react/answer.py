"""Read a plan out of what a language model said.

The format is strict: a thought, the word `Actions:`, then one known action on each line. Models
decorate it all the same, and to fail an agent for a bullet would tell about our patience and not
about the agent. So headings may be bold, lists numbered, names quoted, capitalized or followed by a
remark, and a closing sentence may stand apart from the list. But every line of the list must name
an action that there is: to pass over a word that is none would be to act on a plan that the model
did not make.

Only the first list counts. Models like to go on, and invent what they would see next.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

DONE = "done"
"""What a model says to stop."""
_LONGEST_QUOTE = 40

_HEADING = re.compile(r"[\s#*_>`\d.)-]*(?:next |final )?actions?[\s*_`]*(?::(?P<rest>.*)|$)", re.I)
_OTHER_HEADING = re.compile(r"[\s#*_>`-]*(?:thought|observation|goal|reasoning)s?[\s*_`]*:", re.I)
_BULLET = re.compile(r"\s*(?:[-*+•>]|\(?\d+[.):])\s*")
_REMARK = re.compile(r"(?:->\s*\(|[(\[#:=—–]|//| - )(?P<remark>.*)")
_REPEATED = re.compile(r"\btimes\b|\btwice\b|\brepeat|[x×]\s*\d|\d\s*[x×]", re.I)
_SEPARATOR = re.compile(r",|;|→|->|\bthen\b")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_QUOTES = " \t\r`'\"*_.!"


@dataclass(frozen=True)
class Plan:
    """What to do next; `done` is not among the actions."""

    actions: tuple[str, ...]
    ends: bool
    """The model said that it is done behind these."""


@dataclass(frozen=True)
class Unreadable:
    """An answer that no plan could be found in."""

    reason: str


def read_plan(text: str, actions: Collection[str], most: int) -> Plan | Unreadable:
    """Find the list of actions in free text; of a long one the first `most` are taken.

    >>> read_plan("Thought: ahead.\\nActions:\\nmove_forward\\ndone", ["move_forward"], 5)
    Plan(actions=('move_forward',), ends=True)
    """
    lines = text.splitlines()
    below = _below_heading(lines)
    # Some leave the heading out; then there must be nothing but actions.
    words = list(_listed(lines if below is None else below, actions))
    unknown = next((word for word in words if word not in actions and word != DONE), None)
    if not words or (below is None and unknown is not None):
        return Unreadable("there is no list of actions below the word Actions:")
    if unknown is not None:
        return Unreadable(f"{_quoted(unknown)} is no action")
    return _plan(words, most)


def read_structured(text: str, actions: Collection[str], most: int) -> Plan | Unreadable:
    """Read an answer that was to be JSON by `schema`; nothing else is accepted but a fence.

    >>> read_structured('{"thought": "", "actions": ["done"]}', ["move_forward"], 5)
    Plan(actions=(), ends=True)
    """
    lines = [line for line in text.strip().split("\n") if not _FENCE.match(line)]
    try:
        answer = json.loads("\n".join(lines))
    except (ValueError, RecursionError):
        return Unreadable("it is not one JSON object")
    if not isinstance(answer, dict) or set(answer) != {"thought", "actions"}:
        return Unreadable("its keys are not thought and actions")
    listed = answer["actions"]
    if not isinstance(answer["thought"], str) or not isinstance(listed, list):
        return Unreadable("thought must be a text and actions a list")
    for word in listed:
        if not isinstance(word, str) or (word not in actions and word != DONE):
            return Unreadable(f"{_quoted(str(word))} is no action")
    if not 1 <= len(listed) <= most:
        return Unreadable(f"it must hold 1 to {most} actions, not {len(listed)}")
    return _plan(listed, most)


def schema(actions: Collection[str], most: int, max_thought: int = 0) -> dict[str, Any]:
    """Return the JSON schema of a structured answer."""
    thought: dict[str, Any] = {"type": "string"}
    if max_thought:
        thought["maxLength"] = max_thought
    return {
        "type": "object",
        "properties": {
            "thought": thought,
            "actions": {
                "type": "array",
                "items": {"type": "string", "enum": [*actions, DONE]},
                "minItems": 1,
                "maxItems": most,
            },
        },
        "required": ["thought", "actions"],
        "additionalProperties": False,
    }


def _plan(words: list[str], most: int) -> Plan:
    ends = DONE in words
    wanted = words[: words.index(DONE)] if ends else words
    return Plan(tuple(wanted[:most]), ends and len(wanted) <= most)


def _listed(lines: list[str], actions: Collection[str]) -> Iterator[str]:
    """Yield the words of the list that these lines begin with, unknown ones included."""
    found = apart = False
    for line in lines:
        if not line.strip() or _FENCE.match(line):
            apart = found
            continue
        words = list(_words(line))
        known = all(word in actions or word == DONE for word in words)
        # A sentence that stands apart from the list is no part of it, nor is what comes after.
        if not known and (apart or _OTHER_HEADING.match(line)):
            return
        yield from words
        found = True


def _below_heading(lines: list[str]) -> list[str] | None:
    """Return what stands below, or right behind, the word Actions; None if nobody wrote it."""
    for number, line in enumerate(lines):
        heading = _HEADING.match(line)
        if heading and heading.end() == len(line):
            return [heading.group("rest") or "", *lines[number + 1 :]]
    return None


def _words(line: str) -> Iterator[str]:
    """Take the names out of a line of a list."""
    bullet = _BULLET.match(line)
    plain = line[bullet.end() if bullet else 0 :].strip(_QUOTES)
    remark = _REMARK.search(plain)
    # A remark may be passed over, but not one that asks for more than the name does.
    if remark and not _REPEATED.search(remark["remark"]):
        plain = plain[: remark.start()]
    for piece in _SEPARATOR.split(plain):
        word = re.sub(r"[\s_-]+", "_", piece.strip(_QUOTES).lower())
        if word:
            yield word


def _quoted(word: str) -> str:
    return repr(word if len(word) <= _LONGEST_QUOTE else word[:_LONGEST_QUOTE] + "…")
