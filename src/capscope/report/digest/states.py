"""The states that a digest mentions, the map of them, and an overview of groups of them.

Listed are the states on the map and those that a draw or an example passes through. A state is
named by its number in the order in which states were first seen, whether or not all are listed.

A map of everything would be too large, and the most visited states of a large world would form
islands. So the map has as many states as fit, nearest to the initial state of the run first, with
all edges between them.

Behavior depends on few atoms, those that the conditions of rules mention, so states that agree in
them are also drawn as one group. Atoms are added in the order of their importance for as long as
the groups stay few enough to be read.
"""

import base64
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from capscope.journal.execution_table import ExecutionTable
from capscope.journal.journal import Journal
from capscope.logic import Atom, Intent, State, Vocabulary
from capscope.model.state_graph import StateGraph, StateNode, constant_atoms
from capscope.problem.positions import SavedPosition
from capscope.report.digest.size_budget import SizeBudget, brief
from capscope.report.text import CapabilityView
from capscope.sanitize import sanitize

Pictures = Callable[[bytes], bytes]
"""Draws the position of a snapshot as a PNG."""
_PNG = b"\x89PNG\r\n\x1a\n"
_MOST_MAP_STATES = 300
MOST_GROUPS = 20
_MOST_MEMBERS = 12
_LEAST_SHARE = 0.01
_MOST_EDGES = 4_000


Edge = tuple[int, int, int, float, int]
"""Source, target, capability, its fraction of the executions in the source, and their number.

States are numbers and groups of states are indices; a capability is an index into those of the
digest.
"""
NO_OVERVIEW: dict[str, Any] = {"atoms": (), "groups": (), "edges": ()}


class StateListing:
    """The states listed so far, by number: short name, atoms, executions from there, picture.

    Atoms that always hold are left out; a picture is a `data:image/png` address, or empty.
    """

    def __init__(self, vocabulary: Vocabulary, executions: ExecutionTable) -> None:
        self._atoms = [sanitize(str(atom)) for atom in vocabulary.atoms]
        self._listed: dict[int, dict[str, Any]] = {}
        self.states = executions.states
        self.number = {state: number for number, state in enumerate(self.states)}
        self.always = constant_atoms(self.states)
        starts = executions.before[~executions.cut]
        self._departures: list[int] = np.bincount(starts, minlength=len(self.states)).tolist()

    def holding(self, state: State) -> tuple[str, ...]:
        """Return the atoms that hold in a state."""
        return tuple(atom for i, atom in enumerate(self._atoms) if state >> i & 1)

    def take(self, numbers: Iterable[int], space: SizeBudget, *values: object) -> bool:
        """List states and reserve the size of values that refer to them, all or none."""
        new = {n: self._digest(n) for n in numbers if n not in self._listed}
        if not space.take(*new.values(), *values):
            return False
        self._listed |= new
        return True

    def _digest(self, number: int) -> dict[str, Any]:
        atoms, count = self.holding(self.states[number] & ~self.always), self._departures[number]
        return {"name": f"s{number}", "atoms": atoms, "executions": count, "picture": ""}

    @property
    def listed(self) -> dict[int, dict[str, Any]]:
        """The states listed so far, by number in ascending order."""
        return dict(sorted(self._listed.items()))

    def most_visited(self, numbers: Iterable[int]) -> list[int]:
        """Sort states: the initial state first, then the most visited."""
        return sorted(numbers, key=lambda n: (n > 0, -self._departures[n], n))


def with_pictures(
    listing: StateListing, journal: Journal, draw: Pictures | None, space: SizeBudget
) -> dict[int, dict[str, Any]]:
    """Return the listed states by number, with a picture of each as far as they fit."""
    states = listing.listed
    if draw is None:
        return states
    for number in listing.most_visited(states):
        address = picture_address(journal.positions(listing.states[number]), draw)
        if address and space.take(address):
            states[number]["picture"] = address
    return states


def picture_address(positions: list[SavedPosition], draw: Pictures) -> str:
    """Draw the first of some positions; return a data address, empty if there is no picture."""
    try:
        png = draw(positions[0].snapshot) if positions else b""
    except Exception:
        return ""
    if not isinstance(png, bytes) or not png.startswith(_PNG):
        return ""
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"


def state_map(
    graph: StateGraph, intents: Sequence[Intent], listing: StateListing, space: SizeBudget
) -> dict[str, Any]:
    """Make the map of a run: states, edges between them, and how many states are omitted.

    A state is added together with all edges between it and the states added before.
    """
    ranked = _nearest_first(graph, listing)
    rank = {number: i for i, number in enumerate(ranked[:_MOST_MAP_STATES])}
    capabilities = [graph.index[intent] for intent in intents]
    added_with: list[list[Edge]] = [[] for _ in rank]
    for number in rank:
        node = graph.nodes[listing.states[number]]
        for position, after, count, total in _led(node, capabilities):
            target = listing.number[after.state]
            if target != number and target in rank:
                edge = number, target, position, brief(count / total), count
                added_with[max(rank[number], rank[target])].append(edge)
    states: list[int] = []
    edges: list[Edge] = []
    for number, own in zip(rank, added_with, strict=True):
        if not listing.take([number], space, *own):
            break
        states.append(number)
        edges += own
    return {"states": sorted(states), "edges": edges, "omitted": len(ranked) - len(states)}


def _nearest_first(graph: StateGraph, listing: StateListing) -> list[int]:
    """Sort all states by their distance from the initial state, then by visits.

    A state that is not reachable, since a run can start from any position, comes in turn by visits.
    """
    visited = listing.most_visited(listing.number[state] for state in graph.nodes)
    order = {number: i for i, number in enumerate(visited)}
    reached: dict[int, None] = {}
    for first in visited:
        layer = set() if first in reached else {first}
        while layer:
            reached.update(dict.fromkeys(sorted(layer, key=order.__getitem__)))
            nodes = (graph.nodes[listing.states[number]] for number in layer)
            after = (
                listing.number[after.state]
                for node in nodes
                for pair in node.pairs
                if pair is not None
                for after in pair.successors
            )
            # Subtracting all states reached from each layer would take time quadratic in them.
            layer = {number for number in after if number not in reached}
    return list(reached)


def _led(node: StateNode, capabilities: Sequence[int]) -> Iterator[tuple[int, StateNode, int, int]]:
    """Yield where each capability led, by position: how often, of how many executions."""
    for position, capability in enumerate(capabilities):
        pair = node.pairs[capability]
        if pair is not None:
            for effect, after in zip(pair.group.effects, pair.successors, strict=True):
                yield position, after, pair.counts[effect], pair.total


def splitting_atoms(views: Sequence[CapabilityView], vocabulary: Vocabulary) -> list[int]:
    """Return the positions of the atoms in the conditions of rules, the most important first.

    An atom counts for each rule by the share of the capability's states that the rule covers,
    divided among the literals of its condition: long conditions describe accidents.
    """
    position = {atom: i for i, atom in enumerate(vocabulary.atoms)}
    weights: defaultdict[int, float] = defaultdict(float)
    for view in views:
        tried = view.states_tried
        # A capability that does the same everywhere has no condition.
        for rule in view.rules if len(view.rules) > 1 else ():
            atoms: set[Atom] = {literal.atom for term in rule.when for literal in term}
            for atom in atoms:
                weights[position[atom]] += len(rule.rule.states) / tried / len(atoms)
    return sorted(weights, key=lambda i: (-weights[i], i))


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
) -> dict[str, Any]:
    """Group the states seen by a few atoms: readable if there are thousands of states.

    A group has the atoms that tell it from others, the numbers of its states and of executions from
    there, some states, and whether the run began in one of them.
    """
    chosen = grouping_atoms(list(graph.nodes), atoms)
    mask = sum(1 << atom for atom in chosen)
    members: dict[State, list[int]] = {}
    for state in graph.nodes:
        members.setdefault(state & mask, []).append(listing.number[state])
    named = _named_atoms(graph, mask, len(members))
    groups = [
        (
            listing.holding(listing.states[numbers[0]] & named),
            len(numbers),
            sum(graph.nodes[listing.states[number]].departures for number in numbers),
            listing.most_visited(numbers)[:_MOST_MEMBERS],
            0 in numbers,
        )
        for numbers in members.values()
    ]
    listed = [number for _, _, _, shown, _ in groups for number in shown]
    edges = _group_edges(graph, intents, mask, {key: i for i, key in enumerate(members)})
    # Groups of one state each say nothing that the map of states does not.
    if len(groups) in (1, len(graph.nodes)) or not listing.take(listed, space, groups, edges):
        return NO_OVERVIEW
    names = [sanitize(str(graph.vocabulary.atoms[atom])) for atom in sorted(chosen)]
    return {"atoms": names, "groups": groups, "edges": edges}


def _named_atoms(graph: StateGraph, mask: State, groups: int) -> State:
    """Add atoms by which a group can be named: that a robot is there says more than not here."""
    for group in graph.exactly_one.groups:
        wider = mask | group
        if group & mask and len({state & wider for state in graph.nodes}) == groups:
            mask = wider
    return mask


def _group_edges(
    graph: StateGraph, intents: Sequence[Intent], mask: State, index: dict[State, int]
) -> list[Edge]:
    draws: Counter[tuple[int, int]] = Counter()
    led: Counter[tuple[int, int, int]] = Counter()
    capabilities = [graph.index[intent] for intent in intents]
    for node in graph.nodes.values():
        source = index[node.state & mask]
        for position, after, count, _ in _led(node, capabilities):
            draws[source, position] += count
            target = index[after.state & mask]
            if target != source:
                led[source, target, position] += count
    return [
        (source, target, position, brief(count / draws[source, position]), count)
        for (source, target, position), count in led.most_common(_MOST_EDGES)
    ]
