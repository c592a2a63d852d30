"""What is said in an attempt: prompts, and tool calls as a model makes them.

Models make calls with arguments that are cut off or not an object, or without an id. Strict servers
refuse a conversation that repeats such a call, each time it is sent. So calls are also written in a
form that every server accepts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from capscope.errors import ProblemError
from capscope.logic import Intent
from capscope.problem.tool_calls import ToolCall, ToolObservation
from capscope.seeds import child_seed

_PHRASING = -1  # child of the attempt's seed


Prompts = Mapping[Intent, tuple[str, ...]]
"""The phrasings of the intents that an agent can be asked for."""


def phrasings_of(prompts: Prompts, intent: Intent) -> tuple[str, ...]:
    """Return the phrasings of an intent; raise `ProblemError` for one without any."""
    if intent not in prompts:
        known = ", ".join(sorted(map(str, prompts))[:5])
        raise ProblemError(
            f"no ask says how to request {intent}; add one to `asks` (there are asks for "
            f"{known}, …)"
        )
    return prompts[intent]


def phrasing(known: tuple[str, ...], observation: ToolObservation, seed: int) -> str:
    """Return the phrasing of the observation's wording, or else one drawn by the seed."""
    wording = observation.wording
    number = child_seed(seed, _PHRASING) if wording is None else wording
    return known[number % len(known)]


_UNREADABLE = "unreadable arguments"
"""The argument under which the text of unreadable arguments is repeated to the server."""
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64


def read_call(sent: Any) -> ToolCall:
    """Read a tool call as a server sends it; one that cannot be read has an error."""
    function = _function(sent)
    name, given = function.get("name"), function.get("arguments")
    if not isinstance(name, str) or not name:
        return ToolCall("", error="the call does not name a tool")
    arguments = {} if given in (None, "") else _json_object(given)
    if arguments is None:
        return ToolCall(name, error="the arguments are not a JSON object")
    return ToolCall(name, arguments)


def valid_call(sent: Any, call: ToolCall, id: str, names: Collection[str]) -> dict[str, Any]:
    """Return a call as every server accepts it: as it was sent, if that is valid.

    `names` are those of the tools; no server refuses them.
    """
    function = _function(sent)
    name = call.tool
    if name not in names:
        name = _NOT_IN_NAMES.sub("_", name)[:_LONGEST_NAME] or "unknown"
    text = function.get("arguments")
    if _json_object(text) is None or not isinstance(text, str):
        text = json.dumps({_UNREADABLE: _json_text(text)} if call.error else dict(call.arguments))
    function = {**function, "name": name, "arguments": text}
    other = sent if isinstance(sent, Mapping) else {}
    return {**other, "id": id, "type": "function", "function": function}


def call_text(sent: Any) -> str:
    """Return the name of the tool that is called, or all that was sent if it cannot be read."""
    call = read_call(sent)
    return json.dumps(sent, ensure_ascii=False) if call.error else call.tool


def _json_object(given: Any) -> dict[str, Any] | None:
    """Read arguments, which some servers send as an object; None if they are none."""
    try:
        value = json.loads(given) if isinstance(given, str) else given
        # Python also reads NaN and halves of surrogate pairs, which other servers refuse.
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, TypeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _function(sent: Any) -> Mapping[str, Any]:
    function = sent.get("function") if isinstance(sent, Mapping) else None
    return function if isinstance(function, Mapping) else {}


def _json_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
