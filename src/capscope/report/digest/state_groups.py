"""An overview of the states: groups that agree in the atoms that matter, and how they connect.

A map of a thousand states is a ball of wool. Behavior depends on few atoms, those that the rules
split on, so states that agree in them are drawn as one. Atoms are added in the order of their
importance for as long as the groups stay few enough to be read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from capscope.logic import Intent, State
from capscope.model import StateGraph
from capscope.report.digest.shape import GroupOverview, MapEdge, StateGroup
from capscope.report.digest.size_budget import SizeBudget, brief
from capscope.report.digest.states import StateListing
from capscope.sanitize import sanitize

MOST_GROUPS = 20
_MOST_MEMBERS = 12
_LEAST_SHARE = 0.01
_MOST_EDGES = 4_000
NO_OVERVIEW = GroupOverview((), (), ())


def grouping_atoms(
    states: Sequence[State], atoms: Sequence[int], most: int = MOST_GROUPS
) -> list[int]:
    """Choose atoms, the most important first, that divide the states into a few groups.

    An atom is passed over if it would make too many groups or none that are new, or if nearly all
    states agree in it: that separates a few from the rest and tells little about the others.
    """
    chosen: list[int] = []
    mask, groups = 0, 1
    least = _LEAST_SHARE * len(states)
    for atom in atoms:
        holding = sum(state >> atom & 1 for state in states)
        if min(holding, len(states) - holding) < least:
            continue
        wider = mask | 1 << atom
        number = len({state & wider for state in states})
        if groups < number <= most:
            chosen.append(atom)
            mask, groups = wider, number
        if groups == most:
            break
    return chosen


def group_overview(
    graph: StateGraph,
    intents: Sequence[Intent],
    atoms: Sequence[int],
    listing: StateListing,
    space: SizeBudget,
) -> GroupOverview:
    """Group the states seen; members are numbers, edges refer to the position in `intents`."""
    chosen = grouping_atoms(list(graph.nodes), atoms)
    mask = sum(1 << atom for atom in chosen)
    members: dict[State, list[int]] = {}
    for state in graph.nodes:
        members.setdefault(state & mask, []).append(listing.number[state])
    index = {key: i for i, key in enumerate(members)}
    named = _named_atoms(graph, mask, len(members))
    groups = tuple(_group(graph, numbers, named, listing) for numbers in members.values())
    listed = [number for group in groups for number in group.members]
    edges = _edges(graph, intents, mask, index)
    # Groups of one state each say nothing that the map of states does not.
    if len(groups) in (1, len(graph.nodes)) or not listing.take(listed, space, groups, edges):
        return NO_OVERVIEW
    names = (sanitize(str(graph.vocabulary.atoms[atom])) for atom in sorted(chosen))
    return GroupOverview(tuple(names), groups, edges)


def _named_atoms(graph: StateGraph, mask: State, groups: int) -> State:
    """Add atoms by which a group can be named: that a robot is there says more than not here."""
    for group in graph.exactly_one.groups:
        wider = mask | group
        if group & mask and len({state & wider for state in graph.nodes}) == groups:
            mask = wider
    return mask


def _group(
    graph: StateGraph, numbers: Sequence[int], named: State, listing: StateListing
) -> StateGroup:
    departures = (graph.nodes[listing.states[number]].departures for number in numbers)
    shown = listing.most_visited(numbers)[:_MOST_MEMBERS]
    return StateGroup(
        listing.holding(listing.states[numbers[0]] & named),
        len(numbers),
        sum(departures),
        tuple(shown),
        0 in numbers,
    )


def _edges(
    graph: StateGraph, intents: Sequence[Intent], mask: State, index: dict[State, int]
) -> tuple[MapEdge, ...]:
    draws: Counter[tuple[int, int]] = Counter()
    led: Counter[tuple[int, int, int]] = Counter()
    capabilities = [graph.index[intent] for intent in intents]
    for node in graph.nodes.values():
        source = index[node.state & mask]
        for position, capability in enumerate(capabilities):
            pair = node.pairs[capability]
            if pair is None:
                continue
            draws[source, position] += pair.total
            if pair.only is node:
                continue
            for effect, after in zip(pair.group.effects, pair.successors, strict=True):
                target = index[after.state & mask]
                if target != source:
                    led[source, target, position] += pair.counts[effect]
    return tuple(
        MapEdge(source, target, position, brief(count / draws[source, position]), count)
        for (source, target, position), count in led.most_common(_MOST_EDGES)
    )
