"""The states seen, as a graph for Graphviz.

A complete drawing would be unreadable. So there is one arrow between two states, as thick as its
likeliest capability is likely, labeled with the likeliest few; loops are omitted unless requested;
and of many states only the most visited are drawn. The title says what is omitted, and the tooltips
of the SVG show everything about a state or an arrow.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from capscope.logic import State
from capscope.model import StateGraph
from capscope.model.state_graph import StateNode
from capscope.sanitize import dot_string

_MOST_ATOMS = 8
_MOST_CAPABILITIES = 4


@dataclass(frozen=True)
class _Arrow:
    """Capabilities that lead from one state to another, with probabilities, likeliest first."""

    source: State
    target: State
    ways: tuple[tuple[float, str], ...]


def dot_graph(graph: StateGraph, problem: str, limit: int = 100, *, loops: bool = False) -> str:
    """Draw the most visited states and the arrows between them, with loops if requested."""
    drawn = _most_visited(graph, limit)
    numbers = {state: i for i, state in enumerate(graph.nodes)}
    arrows = [a for a in _arrows(graph) if loops or a.source != a.target]
    inside = [a for a in arrows if a.source in drawn and a.target in drawn]
    always = graph.always
    lines = [
        "digraph capabilities {",
        f"  graph [label={_title(graph, problem, len(drawn), len(arrows) - len(inside))}, "
        "labelloc=t];",
        '  node [shape=box, style=rounded, fontname="sans-serif", fontsize=10];',
        '  edge [fontname="sans-serif", fontsize=9, color="#00000090"];',
        *(_node(graph, drawn[state], numbers[state], always) for state in drawn),
        *(_edge(arrow, numbers) for arrow in inside),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _most_visited(graph: StateGraph, limit: int) -> dict[State, StateNode]:
    """Return the initial state, and the states from which most executions started."""
    first = graph.first_state
    nodes = sorted(graph.nodes.values(), key=lambda p: (p.state != first, -p.departures))
    return {place.state: place for place in nodes[:limit]}


def _arrows(graph: StateGraph) -> Iterator[_Arrow]:
    for place in graph.nodes.values():
        ways: dict[State, list[tuple[float, str]]] = {}
        for intent, pair in zip(graph.capabilities, place.pairs, strict=True):
            if pair is not None:
                shares = pair.group.probabilities()
                for after, share in zip(pair.successors, shares, strict=True):
                    ways.setdefault(after.state, []).append((share, str(intent)))
        for target, found in ways.items():
            found.sort(key=lambda way: (-way[0], way[1]))
            yield _Arrow(place.state, target, tuple(found))


def _title(graph: StateGraph, problem: str, drawn: int, hidden: int) -> str:
    title = f"{problem}: {len(graph.nodes)} states seen"
    if drawn < len(graph.nodes):
        title += f", the {drawn} most visited drawn; {hidden} arrows to or from others omitted"
    return dot_string(title)


def _node(graph: StateGraph, place: StateNode, number: int, always: int) -> str:
    atoms = [str(atom) for atom in graph.vocabulary.holding(place.state & ~always)]
    label = dot_string(f"s{number}", *_shortened(atoms, _MOST_ATOMS))
    everything = [str(atom) for atom in graph.vocabulary.holding(place.state)]
    style = "" if place.tried else ', style="rounded,dashed"'
    if place.state == graph.first_state:
        style += ", penwidth=3"
    return f"  s{number} [label={label}, tooltip={dot_string(*everything)}{style}];"


def _edge(arrow: _Arrow, numbers: dict[State, int]) -> str:
    ways = [f"{name} {share:.2g}" for share, name in arrow.ways]
    label, everything = dot_string(*_shortened(ways, _MOST_CAPABILITIES)), dot_string(*ways)
    width = 0.5 + 3.5 * arrow.ways[0][0]
    return (
        f"  s{numbers[arrow.source]} -> s{numbers[arrow.target]} "
        f"[label={label}, tooltip={everything}, penwidth={width:.2f}];"
    )


def _shortened(lines: list[str], most: int) -> list[str]:
    hidden = len(lines) - most
    return [*lines[:most], f"and {hidden} more"] if hidden > 1 else lines
