"""Read a plan from the answer of a language model.

The format is a thought, the word `Actions:`, then one known action per line. Models decorate it, so
headings may be bold, lists numbered, names quoted, capitalized or followed by a remark, and a
closing sentence may follow the list. But every line of the list must name a known action: skipping
an unknown one would carry out a plan that the model did not make. Only the first list counts, since
models tend to continue and invent what they would see next.

The reasons of an `UnreadableAnswer` are sent to the model, so they are part of the keys of cached
answers.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

DONE = "done"
"""The action to stop."""
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
class ActionPlan:
    """The next actions, without `done`."""

    actions: tuple[str, ...]
    ends: bool
    """The model said that it is done after these."""


@dataclass(frozen=True)
class UnreadableAnswer:
    """An answer without a plan."""

    reason: str


def read_plan(text: str, actions: Collection[str], most: int) -> ActionPlan | UnreadableAnswer:
    """Find the list of actions in free text, and take the first `most`.

    >>> read_plan("Thought: ahead.\\nActions:\\nmove_forward\\ndone", ["move_forward"], 5)
    ActionPlan(actions=('move_forward',), ends=True)
    """
    lines = text.splitlines()
    below = _below_heading(lines)
    # Without a heading, there must be nothing but actions.
    words = list(_listed(lines if below is None else below, actions))
    unknown = next((word for word in words if word not in actions and word != DONE), None)
    if not words or (below is None and unknown is not None):
        return UnreadableAnswer("there is no list of actions below the word Actions:")
    if unknown is not None:
        return UnreadableAnswer(f"{_quoted(unknown)} is no action")
    return _plan(words, most)


def read_structured(
    text: str, actions: Collection[str], most: int
) -> ActionPlan | UnreadableAnswer:
    """Read an answer in JSON that follows `schema`; only a code fence around it is allowed.

    >>> read_structured('{"thought": "", "actions": ["done"]}', ["move_forward"], 5)
    ActionPlan(actions=(), ends=True)
    """
    lines = [line for line in text.strip().split("\n") if not _FENCE.match(line)]
    try:
        answer = json.loads("\n".join(lines))
    except (ValueError, RecursionError):
        return UnreadableAnswer("it is not one JSON object")
    if not isinstance(answer, dict) or set(answer) != {"thought", "actions"}:
        return UnreadableAnswer("its keys are not thought and actions")
    listed = answer["actions"]
    if not isinstance(answer["thought"], str) or not isinstance(listed, list):
        return UnreadableAnswer("thought must be a text and actions a list")
    for word in listed:
        if not isinstance(word, str) or (word not in actions and word != DONE):
            return UnreadableAnswer(f"{_quoted(str(word))} is no action")
    if not 1 <= len(listed) <= most:
        return UnreadableAnswer(f"it must hold 1 to {most} actions, not {len(listed)}")
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


def _plan(words: list[str], most: int) -> ActionPlan:
    ends = DONE in words
    wanted = words[: words.index(DONE)] if ends else words
    return ActionPlan(tuple(wanted[:most]), ends and len(wanted) <= most)


def _listed(lines: list[str], actions: Collection[str]) -> Iterator[str]:
    """Yield the names in the list at the start of these lines, including unknown ones."""
    found = apart = False
    for line in lines:
        if not line.strip() or _FENCE.match(line):
            apart = found
            continue
        words = list(_words(line))
        known = all(word in actions or word == DONE for word in words)
        # A sentence separated from the list is not part of it, nor is anything after it.
        if not known and (apart or _OTHER_HEADING.match(line)):
            return
        yield from words
        found = True


def _below_heading(lines: list[str]) -> list[str] | None:
    """Return what follows the heading, on its line and below; None without a heading."""
    for number, line in enumerate(lines):
        heading = _HEADING.match(line)
        if heading and heading.end() == len(line):
            return [heading.group("rest") or "", *lines[number + 1 :]]
    return None


def _words(line: str) -> Iterator[str]:
    """Yield the names in a line of a list."""
    bullet = _BULLET.match(line)
    plain = line[bullet.end() if bullet else 0 :].strip(_QUOTES)
    remark = _REMARK.search(plain)
    # Ignore a remark, unless it asks for repetition.
    if remark and not _REPEATED.search(remark["remark"]):
        plain = plain[: remark.start()]
    for piece in _SEPARATOR.split(plain):
        word = re.sub(r"[\s_-]+", "_", piece.strip(_QUOTES).lower())
        if word:
            yield word


def _quoted(word: str) -> str:
    return repr(word if len(word) <= _LONGEST_QUOTE else word[:_LONGEST_QUOTE] + "…")
