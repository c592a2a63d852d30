"""What tool worlds and their agents agree on: tools, calls and results."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool, as the agent makes it: the arguments may be any object.

    >>> str(ToolCall("archive", {"id": 3}))
    'archive(id=3)'
    """

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    """Why the call cannot be read; the world refuses it, and the agent reads this."""

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.tool}({given})"


@dataclass(frozen=True)
class Tool:
    """What an agent may call."""

    name: str
    description: str
    schema: Mapping[str, Any]
    """JSON schema of the arguments."""
    run: Callable[[Any, Mapping[str, Any], random.Random], Any]
    """Calls the tool with the state, the arguments and a generator; raises to refuse."""
    function: Callable[..., Any] | None = None
    """The Python function, if it is one."""

    def as_openai(self) -> dict[str, Any]:
        """Return the tool as it is described to a model."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.schema),
        }
        return {"type": "function", "function": function}


@dataclass(frozen=True)
class ToolResult:
    """What a call returned, as the agent reads it."""

    text: str
    refused: bool = False


@dataclass(frozen=True)
class ToolObservation:
    """The state, which must not be modified; the result of the last call; and the wording."""

    state: Any
    result: ToolResult | None = None
    wording: int | None = None
    """Which phrasing of its ask the agent is given; None if the attempt draws it."""
