"""Which calls a random walk may make: for each tool, combinations of values of its parameters.

Values come from the user, or else from the schema: the members of an enumeration, true and false,
or the default. A tool with a parameter without values is not called.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from capscope.errors import ProblemError
from capscope.problem.tool_calls import Tool, ToolCall

Choices = Sequence[Any] | Callable[[Any], Sequence[Any]]
"""The values of a parameter: a list, or a function of the state."""
_MOST_CALLS = 60
"""Calls of one tool; of more combinations, evenly spaced ones are used."""


@dataclass(frozen=True)
class CallChoices:
    """The values that the parameters of tools may have."""

    tools: tuple[Tool, ...]
    values: Mapping[str, Choices]

    def __post_init__(self) -> None:
        known = {parameter for tool in self.tools for parameter in _parameters(tool)}
        known |= {f"{tool.name}.{one}" for tool in self.tools for one in _parameters(tool)}
        unknown = sorted(set(self.values) - known)
        if unknown:
            raise ProblemError(
                f"values are given for {', '.join(unknown)}, which no tool takes; parameters are "
                f"{', '.join(sorted(k for k in known if '.' not in k))}"
            )

    def calls(self, state: Any) -> list[ToolCall]:
        """List calls in a state."""
        return [call for tool in self.tools for call in self._calls_of(tool, state)]

    def _calls_of(self, tool: Tool, state: Any) -> list[ToolCall]:
        columns = {name: self._choices(tool, name, state) for name in _parameters(tool)}
        sizes = [len(choices) for choices in columns.values()]
        total = math.prod(sizes)
        calls = []
        for number in range(min(total, _MOST_CALLS)):
            place = number if total <= _MOST_CALLS else number * total // _MOST_CALLS
            arguments = {}
            for name, choices in columns.items():
                place, index = divmod(place, len(choices))
                arguments[name] = choices[index]
            calls.append(ToolCall(tool.name, arguments))
        return calls

    def _choices(self, tool: Tool, parameter: str, state: Any) -> Sequence[Any]:
        given = self.values.get(f"{tool.name}.{parameter}", self.values.get(parameter))
        if given is None:
            return _from_schema(_parameters(tool)[parameter], tool.schema)
        return list(given(state) if callable(given) else given)

    def missing(self, state: Any) -> dict[str, list[str]]:
        """Return the tools that are not called, and the parameters without values."""
        found = {
            tool.name: [p for p in _parameters(tool) if not self._choices(tool, p, state)]
            for tool in self.tools
        }
        return {name: parameters for name, parameters in found.items() if parameters}


def _parameters(tool: Tool) -> Mapping[str, Any]:
    parameters: Mapping[str, Any] = tool.schema.get("properties", {})
    return parameters


def _from_schema(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> list[Any]:
    """Return the values that a schema lists; empty if it does not."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return _from_schema(whole.get("$defs", {}).get(name, {}), whole)
    if "enum" in schema:
        return list(schema["enum"])
    if "const" in schema:
        return [schema["const"]]
    if schema.get("type") == "boolean":
        return [False, True]
    return [schema["default"]] if "default" in schema else []
