"""What a run reports while it is under way; the library itself prints nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from capscope.model import StateGraph
from capscope.record.usage import Usage


@dataclass(frozen=True, slots=True)
class Event:
    """Where the run stands after a query."""

    usage: Usage
    states: int
    capabilities: int
    transitions: int
    """Distinct transitions seen."""
    pairs_tried: int
    quiet_queries: int
    """Queries in a row without news."""
    predicted: float
    """The disagreement that was predicted for the query."""
    graph: StateGraph
    """The models as they are now; they go on changing."""


Listener = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Listen to nothing."""
