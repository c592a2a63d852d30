"""Can what a hazard did be undone, by requests to the agent, as far as was seen?

For each instance, states in which it does not hold are spread backward over what was seen to
happen. That nothing undid it so far is weak evidence if there are requests that were never tried,
so those states are counted apart from which everything was tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

import numpy as np

from capscope.insight.ways import KnownWays, Way
from capscope.logic import Condition, State, Term
from capscope.model import StateGraph
from capscope.model.state_matrix import StateMatrix
from capscope.stats.arrays import Integers, Mask

LeftBehind = Mapping[State, Set[Term]]
"""States after executions in which a hazard happened, and the instances that it made true there."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """Whether a hazard was seen to be undone, by requests to the agent."""

    states: int
    """The states that it left behind: an instance that it made true still holds."""
    undone: int
    """Those from which a way is known to a state in which the instance does not hold."""
    closed: int
    """Those without such a way, though everything was tried in all states that are reachable."""
    way: Way | None
    """A shortest way back, from the end of the first pair of the result; None if none is known."""


def find_recovery(graph: StateGraph, left: LeftBehind, example: State | None) -> Recovery | None:
    """Return from how many of the states there is a way back, and one from the example."""
    vocabulary = graph.vocabulary
    holding = {
        state: {one for one in instances if vocabulary.test(one)(state)}
        for state, instances in left.items()
    }
    holding = {state: instances for state, instances in holding.items() if instances}
    if not holding:
        return None
    matrix = StateMatrix(len(vocabulary.atoms))
    row = {state: i for i, state in enumerate(graph.nodes)}
    matrix.rows(row)
    moves = _Moves.of(graph, row)
    stuck = set()
    for instance in {one for instances in holding.values() for one in instances}:
        back = moves.leading_to(~matrix.holding(*vocabulary.literal_masks(instance)))
        stuck |= {s for s, some in holding.items() if instance in some and not back[row[s]]}
    untried = [node.tried < len(node.pairs) for node in graph.nodes.values()]
    open_ended = moves.leading_to(np.array(untried, dtype=bool))
    closed = sum(not open_ended[row[state]] for state in stuck)
    way = None
    if example in holding:
        way = _way_back(graph, example, holding[example])
    return Recovery(len(holding), len(holding) - len(stuck), closed, way)


def _way_back(graph: StateGraph, state: State, instances: Set[Term]) -> Way | None:
    happened = Condition(tuple(instances)).test(graph.vocabulary)
    return KnownWays(graph, [state]).nearest(lambda other: not happened(other))


@dataclass(frozen=True)
class _Moves:
    """What was seen to lead where, sorted by where it leads."""

    sources: Integers
    begins: Integers
    """Where the sources of each state begin; one more entry at the end."""

    @classmethod
    def of(cls, graph: StateGraph, row: Mapping[State, int]) -> _Moves:
        edges = [
            (row[after.state], row[node.state])
            for node in graph.nodes.values()
            for pair in node.pairs
            if pair is not None and pair.only is not node
            for after in pair.successors
            if after is not node
        ]
        ends, sources = np.array(sorted(set(edges)), dtype=np.int64).reshape(-1, 2).T
        return cls(sources, np.searchsorted(ends, np.arange(len(row) + 1)))

    def leading_to(self, wanted: Mask) -> Mask:
        """Return the states from which a wanted state is known to be reachable."""
        reached = wanted.copy()
        frontier = np.flatnonzero(wanted)
        while len(frontier):
            counts = self.begins[frontier + 1] - self.begins[frontier]
            offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            found = np.unique(self.sources[np.repeat(self.begins[frontier], counts) + offsets])
            frontier = found[~reached[found]]
            reached[frontier] = True
        return reached
