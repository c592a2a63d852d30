"""The states seen, as a graph for Graphviz.

An arrow is a transition that was seen, with the probability that the model gives it. A complete
drawing would be unreadable. So there is one arrow between two states, as thick as its
likeliest capability is likely, labeled with the likeliest few; loops are omitted unless requested;
and of many states only the most visited are drawn. The title says what is omitted, and the tooltips
of the SVG show everything about a state or an arrow.
"""

from collections.abc import Iterator, Sequence

from capscope.logic import State
from capscope.model import LearnedModel, StateGraph
from capscope.model.state_graph import StateNode
from capscope.sanitize import dot_string
from capscope.wording import first_few

_MOST_ATOMS = 8
_MOST_CAPABILITIES = 4
_MORE = "and {} more"
Arrow = tuple[State, State, list[tuple[float, str]]]
"""Source, target, and the capabilities that lead there with probabilities, likeliest first."""


def dot_graph(model: LearnedModel, problem: str, limit: int = 100, *, loops: bool = False) -> str:
    """Draw the most visited states and the arrows between them, with loops if requested."""
    graph = model.graph
    drawn = _most_visited(graph, limit)
    numbers = {state: i for i, state in enumerate(graph.nodes)}
    arrows = [arrow for arrow in _arrows(model) if loops or arrow[0] != arrow[1]]
    inside = [arrow for arrow in arrows if arrow[0] in drawn and arrow[1] in drawn]
    always = graph.always
    lines = [
        "digraph capabilities {",
        f"  graph [label={_title(graph, problem, len(drawn), len(arrows) - len(inside))}, "
        "labelloc=t];",
        '  node [shape=box, style=rounded, fontname="sans-serif", fontsize=10];',
        '  edge [fontname="sans-serif", fontsize=9, color="#00000090"];',
        *(_node(graph.nodes[state], numbers[state], graph, always) for state in drawn),
        *(_edge(numbers[source], numbers[target], paths) for source, target, paths in inside),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _most_visited(graph: StateGraph, limit: int) -> dict[State, None]:
    """Return the initial state, and the states from which most executions started."""
    first = graph.first_state
    nodes = sorted(graph.nodes.values(), key=lambda node: (node.state != first, -node.departures))
    return dict.fromkeys(node.state for node in nodes[:limit])


def _arrows(model: LearnedModel) -> Iterator[Arrow]:
    graph = model.graph
    for node in graph.nodes.values():
        paths: dict[State, list[tuple[float, str]]] = {}
        for intent, pair in zip(graph.capabilities, node.pairs, strict=True):
            if pair is not None:
                predicted = model.predict(node.state, intent)
                for after in pair.successors:
                    share = predicted.share([after.state])
                    paths.setdefault(after.state, []).append((share, str(intent)))
        for target, found in paths.items():
            yield node.state, target, sorted(found, key=lambda path: (-path[0], path[1]))


def _title(graph: StateGraph, problem: str, drawn: int, hidden: int) -> str:
    title = f"{problem}: {len(graph.nodes)} states seen"
    if drawn < len(graph.nodes):
        title += f", the {drawn} most visited drawn; {hidden} arrows to or from others omitted"
    return dot_string(title)


def _node(node: StateNode, number: int, graph: StateGraph, always: State) -> str:
    atoms = [str(atom) for atom in graph.vocabulary.holding(node.state & ~always)]
    label = dot_string(f"s{number}", *first_few(atoms, _MOST_ATOMS, _MORE))
    everything = [str(atom) for atom in graph.vocabulary.holding(node.state)]
    style = "" if node.tried else ', style="rounded,dashed"'
    if node.state == graph.first_state:
        style += ", penwidth=3"
    return f"  s{number} [label={label}, tooltip={dot_string(*everything)}{style}];"


def _edge(source: int, target: int, paths: Sequence[tuple[float, str]]) -> str:
    texts = [f"{name} {share:.2g}" for share, name in paths]
    label = dot_string(*first_few(texts, _MOST_CAPABILITIES, _MORE))
    width = f"{0.5 + 3.5 * paths[0][0]:.2f}"
    return (
        f"  s{source} -> s{target} [label={label}, tooltip={dot_string(*texts)}, penwidth={width}];"
    )
