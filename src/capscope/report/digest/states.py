"""The states that a digest mentions, and the map of them.

Listed are the states on the map and those that a draw or an example passes through. A state is
named by its number in the order in which states were first seen, whether or not all are listed.

A map of everything would be too large, and the most visited states of a large world would form
islands. So the map has as many states as fit, nearest to the initial state of the run first, with
all edges between them.
"""

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from capscope.journal.execution_table import ExecutionTable
from capscope.journal.journal import Journal
from capscope.logic import Intent, State, Vocabulary
from capscope.model.state_graph import StateGraph, StateNode, constant_atoms
from capscope.problem.positions import SavedPosition
from capscope.report.digest.shape import MapEdge, StateDigest, StateMap
from capscope.report.digest.size_budget import SizeBudget, brief
from capscope.sanitize import sanitize

Pictures = Callable[[bytes], bytes]
"""Draws the position of a snapshot as a PNG."""
_PNG = b"\x89PNG\r\n\x1a\n"
_MOST_MAP_STATES = 300


class StateListing:
    """The states listed so far, by number."""

    def __init__(self, vocabulary: Vocabulary, executions: ExecutionTable) -> None:
        self._atoms = [sanitize(str(atom)) for atom in vocabulary.atoms]
        self._listed: dict[int, StateDigest] = {}
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

    def _digest(self, number: int) -> StateDigest:
        atoms = self.holding(self.states[number] & ~self.always)
        return StateDigest(f"s{number}", atoms, self._departures[number], "")

    def indices(self) -> dict[int, int]:
        """Return the index of each listed state, by its number."""
        return {number: i for i, number in enumerate(sorted(self._listed))}

    def digests(self, pictures: Mapping[int, str]) -> tuple[StateDigest, ...]:
        """Return the listed states in order, each with its picture if there is one."""
        return tuple(
            replace(digest, picture=pictures.get(number, ""))
            for number, digest in sorted(self._listed.items())
        )

    def most_visited(self, numbers: Iterable[int]) -> list[int]:
        """Sort states: the initial state first, then the most visited."""
        return sorted(numbers, key=lambda n: (n > 0, -self._departures[n], n))


def state_pictures(
    listing: StateListing, journal: Journal, draw: Pictures | None, space: SizeBudget
) -> dict[int, str]:
    """Draw a position of each listed state, as many as fit; return data addresses."""
    drawn: dict[int, str] = {}
    if draw is not None:
        for number in listing.most_visited(listing.indices()):
            address = picture_address(journal.positions(listing.states[number]), draw)
            if address and space.take(address):
                drawn[number] = address
    return drawn


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
) -> StateMap:
    """Make the map of a run, with states by number; edges refer to the position in `intents`.

    A state is added together with all edges between it and the states added before.
    """
    ranked = _nearest_first(graph, listing)
    rank = {number: i for i, number in enumerate(ranked[:_MOST_MAP_STATES])}
    capabilities = [graph.index[intent] for intent in intents]
    added_with: list[list[MapEdge]] = [[] for _ in rank]
    for number in rank:
        node = graph.nodes[listing.states[number]]
        for edge in _edges(node, capabilities, listing.number):
            if edge.target in rank:
                added_with[max(rank[number], rank[edge.target])].append(edge)
    states: list[int] = []
    edges: list[MapEdge] = []
    for number, own in zip(rank, added_with, strict=True):
        if not listing.take([number], space, *own):
            break
        states.append(number)
        edges += own
    return StateMap(tuple(sorted(states)), tuple(edges), len(ranked) - len(states))


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


def _edges(
    node: StateNode, capabilities: Sequence[int], number: Mapping[State, int]
) -> Iterator[MapEdge]:
    for position, capability in enumerate(capabilities):
        pair = node.pairs[capability]
        if pair is not None:
            for effect, after in zip(pair.group.effects, pair.successors, strict=True):
                if after is not node:
                    count = pair.counts[effect]
                    ends = number[node.state], number[after.state]
                    yield MapEdge(*ends, position, brief(count / pair.total), count)
