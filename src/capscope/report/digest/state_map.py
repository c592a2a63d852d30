"""The map: which states the executions of capabilities led between.

A thousand states with a hundred capabilities each are a hundred thousand edges, which nobody can
draw and nobody can read. The map has as many states as there is room for, with all that leads from
one of them to another. Were they the most visited ones, the map of a large world would be islands;
so they are taken as one comes to them from where the run began, the nearest first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from capscope.model.lattice import Models, Place
from capscope.report.digest.capabilities import brief
from capscope.report.digest.room import Room
from capscope.report.digest.shape import Edge, StateMap
from capscope.report.digest.states import Listing
from capscope.symbolic import Intent, State

_MOST_STATES = 300


def map_of(models: Models, intents: Sequence[Intent], listing: Listing, room: Room) -> StateMap:
    """Draw the map of a run, its states by number as yet; `intents` are in the order of the table.

    A state is drawn with all edges between it and those drawn before.
    """
    ranked = _nearest_first(models, listing)
    rank = {number: i for i, number in enumerate(ranked[:_MOST_STATES])}
    capabilities = [models.index[intent] for intent in intents]
    coming: list[list[Edge]] = [[] for _ in rank]
    for number in rank:
        place = models.places[listing.states[number]]
        for edge in _edges(place, capabilities, listing.number):
            if edge.target in rank:
                coming[max(rank[number], rank[edge.target])].append(edge)
    drawn: list[int] = []
    edges: list[Edge] = []
    for number, own in zip(rank, coming, strict=True):
        if not listing.take([number], room, *own):
            break
        drawn.append(number)
        edges += own
    return StateMap(tuple(sorted(drawn)), tuple(edges), len(ranked) - len(drawn))


def _nearest_first(models: Models, listing: Listing) -> list[int]:
    """Order all states by the executions that lead there; equally near ones by visits.

    Where nothing leads to, for a run may be put into any position, comes in turn by visits.
    """
    visited = listing.most_visited(listing.number[state] for state in models.places)
    order = {number: i for i, number in enumerate(visited)}
    reached: dict[int, None] = {}
    for first in visited:
        layer = {first} - reached.keys()
        while layer:
            reached.update(dict.fromkeys(sorted(layer, key=order.__getitem__)))
            places = (models.places[listing.states[number]] for number in layer)
            layer = {
                listing.number[after.state]
                for place in places
                for pair in place.pairs
                if pair is not None
                for after in pair.successors
            } - reached.keys()
    return list(reached)


def _edges(
    place: Place, capabilities: Sequence[int], number: Mapping[State, int]
) -> Iterator[Edge]:
    for position, capability in enumerate(capabilities):
        pair = place.pairs[capability]
        if pair is not None:
            for effect, after in zip(pair.block.effects, pair.successors, strict=True):
                if after is not place:
                    count = pair.counts[effect]
                    ends = number[place.state], number[after.state]
                    yield Edge(*ends, position, brief(count / pair.total), count)
