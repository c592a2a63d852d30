"""Where the next query of the paper's strategies starts.

Starting always from the initial state wastes most of a query on the way to what is new. A simulator
that can be restored may start anywhere it has been: at an end of the last query, while queries keep
being informative and the walk is not too long; otherwise at a state seen before, the more likely
the fewer executions began there. States that every capability leaves unchanged are never chosen.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from capscope.model import StateGraph
from capscope.symbolic import State

if TYPE_CHECKING:
    from capscope.world.positions import SavedPosition


@dataclass(frozen=True, slots=True)
class WalkEnd:
    """Where a draw ended."""

    state: State
    position: SavedPosition
    distance: int
    """How far it is from where the walk began, earlier queries included."""


def weighted_choice(states: Sequence[State], graph: StateGraph, rng: random.Random) -> State:
    """Draw a state with weight n_max + 1 − N(s)."""
    most = graph.most_departures + 1
    weights = [most - graph.node(state).departures for state in states]
    return rng.choices(states, weights)[0]


def end_to_continue(
    ends: Iterable[WalkEnd], graph: StateGraph, most_distance: int, rng: random.Random
) -> WalkEnd | None:
    """Choose among the ends of the last query whose walk is still short enough."""
    open_ends = [end for end in ends if end.distance < most_distance]
    if not open_ends:
        return None
    state = weighted_choice(sorted({end.state for end in open_ends}), graph, rng)
    return rng.choice([end for end in open_ends if end.state == state])


def state_to_start_from(graph: StateGraph, rng: random.Random) -> State | None:
    """Choose a state seen before that some capability may leave; None if there is none."""
    states = [state for state, node in graph.nodes.items() if not node.sink]
    return weighted_choice(states, graph, rng) if states else None
