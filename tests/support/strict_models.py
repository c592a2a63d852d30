"""A server that keeps to the protocol of tool calls, and a model that does not always."""

import json
import re

from support.llm_stub import fails


def strict(respond):
    """Refuse every conversation that breaks the protocol, as vLLM and others do."""

    def act(handler, request):
        wrong = violation(request["messages"])
        (respond if wrong is None else fails(400, wrong))(handler, request)

    return act


def violation(messages):
    """Return what is wrong with the tool calls of a conversation and their results, or None."""
    seen, open_calls = set(), set()
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                return f"no call {message['tool_call_id']!r} waits for a result"
            open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            return f"no results of {sorted(open_calls)}"
        for call in message.get("tool_calls", ()):
            if wrong := call_violation(call, seen):
                return wrong
            seen.add(call["id"])
            open_calls.add(call["id"])
    return f"no results of {sorted(open_calls)}" if open_calls else None


def call_violation(call, seen):
    """Return what is wrong with one call, or None."""
    try:
        if call["type"] != "function" or not isinstance(call["id"], str) or not call["id"]:
            return f"{call!r} is no call of a function"
        if call["id"] in seen:
            return f"the id {call['id']} is used twice"
        function = call["function"]
        if not re.fullmatch("[a-zA-Z0-9_-]{1,64}", function["name"]):
            return f"{function['name']!r} is no name"
        arguments = json.loads(function["arguments"], parse_constant=_no_json)
        arguments = json.loads(json.dumps(arguments, ensure_ascii=False).encode())
        return None if isinstance(arguments, dict) else "arguments that are no object"
    except (TypeError, LookupError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


def _no_json(text):
    raise ValueError(f"{text} is no JSON")


def _with(**changed):
    return lambda call: {**call, **changed}


def _with_function(**changed):
    return lambda call: {**call, "function": {**call["function"], **changed}}


MALFORMED = {
    "cut off": lambda call: _with_function(arguments=call["function"]["arguments"][:-1])(call),
    "a bare word": _with_function(arguments="None"),
    "a list": _with_function(arguments="[1]"),
    "a number": _with_function(arguments=7),
    "not a number": _with_function(arguments='{"id": NaN}'),
    "half a character": _with_function(arguments='{"id": "\\ud83d"}'),
    "no text": _with_function(arguments=""),
    "null": _with_function(arguments=None),
    "no string": lambda call: _with_function(arguments=json.loads(call["function"]["arguments"]))(
        call
    ),
    "a name that is a number": _with_function(name=3),
    "a name that is no name": _with_function(name="<|call|>\ud83d"),
    "no name": _with_function(name=""),
    "no id": _with(id=None),
    "an id that is used twice": _with(id="call_1_0"),
    "no type": lambda call: {name: call[name] for name in ("id", "function")},
    "no function": lambda call: {"id": call["id"]},
    "no object": lambda call: "list_mail()",
}
"""How a tool call can be malformed: functions of a valid one."""


def sloppy(share):
    """Spoil this share of all tool calls, in every way."""

    def spoil(document, rng):
        message = document["choices"][0]["message"]
        for number, call in enumerate(message.get("tool_calls", ())):
            if rng.random() < share:
                message["tool_calls"][number] = rng.choice(list(MALFORMED.values()))(call)
                spoil.calls += 1
            spoil.of += 1

    spoil.calls = spoil.of = 0
    return spoil
