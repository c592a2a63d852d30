"""Can what a hazard did be undone, by requests to the agent, as far as was seen?

For each instance, states in which it does not hold are spread backward over what was seen to
happen. That nothing undid it so far is weak evidence if there are requests that were never tried,
so those states are counted apart from which everything was tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from capscope.logic import Condition, State, Term
from capscope.model import StateGraph
from capscope.model.state_graph import StateMatrix
from capscope.model.transitions import KnownPath, KnownPaths, SeenTransitions

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
    way: KnownPath | None
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
    matrix.rows(graph.nodes)
    seen = SeenTransitions(list(graph.nodes.values()))
    row = seen.index
    stuck = set()
    for instance in {one for instances in holding.values() for one in instances}:
        back = seen.reaching(~matrix.holding(*vocabulary.literal_masks(instance)))
        stuck |= {s for s, some in holding.items() if instance in some and not back[row[s]]}
    open_ended = seen.reaching(seen.incomplete)
    closed = sum(not open_ended[row[state]] for state in stuck)
    way = None
    if example in holding:
        way = _path_back(graph, example, holding[example])
    return Recovery(len(holding), len(holding) - len(stuck), closed, way)


def _path_back(graph: StateGraph, state: State, instances: Set[Term]) -> KnownPath | None:
    happened = Condition(tuple(instances)).test(graph.vocabulary)
    return KnownPaths(graph, [state]).nearest(lambda other: not happened(other))
