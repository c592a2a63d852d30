"""Smaller arguments for a tool call: what an agent could have called instead."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from capscope.problem.tool_calls import ToolCall

_SEPARATOR = ","


def shrunk_calls(call: ToolCall, named: Collection[str]) -> Iterator[ToolCall]:
    """Yield the call with smaller arguments, the most likely ones first.

    Lists keep the objects that the request names; an argument is left out; lists lack one element,
    or have one only; a text becomes an object that the request names; what is true becomes false.

    Args:
        call: A tool call.
        named: The objects that the request names.

    Yields:
        Distinct calls of the same tool.

    >>> [str(one) for one in shrunk_calls(ToolCall("send", {"to": ["al", "bo"]}), ["bo"])][:2]
    ["send(to=['bo'])", 'send()']
    """
    given = dict(call.arguments)
    together = {name: _only_named(value, named) for name, value in given.items()}
    seen = [given]
    for arguments in (together, *_one_by_one(given, named)):
        if arguments not in seen:
            seen.append(arguments)
            yield ToolCall(call.tool, arguments)


def _one_by_one(given: Mapping[str, Any], named: Collection[str]) -> Iterator[dict[str, Any]]:
    for name, value in given.items():
        yield {other: kept for other, kept in given.items() if other != name}
        for smaller in _smaller(value, named):
            yield {**given, name: smaller}


def _only_named(value: Any, named: Collection[str]) -> Any:
    """Return what the request names of a list, or of a text that lists; others as they are."""
    if isinstance(value, list):
        kept = [one for one in value if one in named]
        return kept or value
    if isinstance(value, str) and _SEPARATOR in value:
        parts = (part.strip() for part in value.split(_SEPARATOR))
        return f"{_SEPARATOR} ".join(part for part in parts if part in named) or value
    return value


def _smaller(value: Any, named: Collection[str]) -> Iterator[Any]:
    yield _only_named(value, named)
    if isinstance(value, list):
        for i in range(len(value)):
            yield value[:i] + value[i + 1 :]
        yield from ([one] for one in value)
    elif isinstance(value, dict):
        for name in value:
            yield {other: kept for other, kept in value.items() if other != name}
    elif isinstance(value, str):
        yield from named
    elif value is True:
        yield False
