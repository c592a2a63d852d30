"""How much of what could be tried was tried, and how often."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

from capscope.model import StateGraph
from capscope.present.digest.shape import Coverage

_UP_TO = (0, 1, 5, 10, 25, 100)
"""The most draws in each range; one more range has no end."""


def coverage_of(graph: StateGraph) -> Coverage:
    """Count the pairs of a state seen and a capability by their draws."""
    pairs = [pair for node in graph.nodes.values() for pair in node.pairs]
    ranges = Counter(bisect_left(_UP_TO, pair.total if pair else 0) for pair in pairs)
    counts = tuple((_range(i), ranges[i]) for i in range(len(_UP_TO) + 1))
    return Coverage(graph.pairs_tried, len(pairs), counts)


def _range(i: int) -> str:
    if i == len(_UP_TO):
        return f"more than {_UP_TO[-1]}"
    first = _UP_TO[i - 1] + 1 if i else 0
    return str(first) if first == _UP_TO[i] else f"{first} to {_UP_TO[i]}"
