"""The map: which states the executions of capabilities led between.

A thousand states with a hundred capabilities each are a hundred thousand edges, which nobody can
draw and nobody can read. The map has as many states as there is room for, with all that leads from
one of them to another. Were they the most visited ones, the map of a large world would be islands;
so they are taken as one comes to them from where the run began, the nearest first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from capscope.model.state_graph import StateGraph, StateNode
from capscope.present.digest.capabilities import brief
from capscope.present.digest.shape import Edge, StateMap
from capscope.present.digest.size_budget import SizeBudget
from capscope.present.digest.states import Listing
from capscope.symbolic import Intent, State

_MOST_STATES = 300


def map_of(
    graph: StateGraph, intents: Sequence[Intent], listing: Listing, space: SizeBudget
) -> StateMap:
    """Draw the map of a run, its states by number as yet; `intents` are in the order of the table.

    A state is drawn with all edges between it and those drawn before.
    """
    ranked = _nearest_first(graph, listing)
    rank = {number: i for i, number in enumerate(ranked[:_MOST_STATES])}
    capabilities = [graph.index[intent] for intent in intents]
    coming: list[list[Edge]] = [[] for _ in rank]
    for number in rank:
        node = graph.nodes[listing.states[number]]
        for edge in _edges(node, capabilities, listing.number):
            if edge.target in rank:
                coming[max(rank[number], rank[edge.target])].append(edge)
    drawn: list[int] = []
    edges: list[Edge] = []
    for number, own in zip(rank, coming, strict=True):
        if not listing.take([number], space, *own):
            break
        drawn.append(number)
        edges += own
    return StateMap(tuple(sorted(drawn)), tuple(edges), len(ranked) - len(drawn))


def _nearest_first(graph: StateGraph, listing: Listing) -> list[int]:
    """Order all states by the executions that lead there; equally near ones by visits.

    Where nothing leads to, for a run may be put into any position, comes in turn by visits.
    """
    visited = listing.most_visited(listing.number[state] for state in graph.nodes)
    order = {number: i for i, number in enumerate(visited)}
    reached: dict[int, None] = {}
    for first in visited:
        layer = {first} - reached.keys()
        while layer:
            reached.update(dict.fromkeys(sorted(layer, key=order.__getitem__)))
            nodes = (graph.nodes[listing.states[number]] for number in layer)
            layer = {
                listing.number[after.state]
                for node in nodes
                for pair in node.pairs
                if pair is not None
                for after in pair.successors
            } - reached.keys()
    return list(reached)


def _edges(
    node: StateNode, capabilities: Sequence[int], number: Mapping[State, int]
) -> Iterator[Edge]:
    for position, capability in enumerate(capabilities):
        pair = node.pairs[capability]
        if pair is not None:
            for effect, after in zip(pair.group.effects, pair.successors, strict=True):
                if after is not node:
                    count = pair.counts[effect]
                    ends = number[node.state], number[after.state]
                    yield Edge(*ends, position, brief(count / pair.total), count)
