"""Where the next query starts.

Starting always from the initial state wastes most of a query on the way to what is new. A simulator
that can be restored may start anywhere it has been: at an end of the last query, while queries keep
being telling and the walk has not gone on for too long, and otherwise at a state seen before, the
less often left the likelier. States that every capability leaves unchanged are never started from.

Several positions of the simulator may look like one symbolic state. For each state a bounded,
uniformly drawn sample of the positions met is kept. Which of the visits are kept depends on the
run's seed, the state and the number of the visit alone, so a resumed run keeps the same ones.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from capscope.model import StateGraph
from capscope.record.transitions import Dataset
from capscope.seeds import child_seed
from capscope.symbolic import State


@dataclass(frozen=True, slots=True)
class Start:
    """Where a query starts: a position, its state, and how far it is from where the walk began."""

    state: State
    snapshot: bytes
    distance: int = 0


@dataclass(frozen=True, slots=True)
class End:
    """Where a draw ended."""

    state: State
    snapshot: bytes
    distance: int
    """How far it is from where the walk began, earlier queries included."""


class Reservoir:
    """A bounded, uniformly drawn sample of the positions met in each state."""

    def __init__(self, size: int, seed: int) -> None:
        self._size = size
        self._seed = seed
        self._visits: dict[State, int] = {}
        self._next: dict[State, tuple[int, float]] = {}

    def slot(self, state: State) -> int | None:
        """Count a visit to a state; return the slot its position goes to, or None to pass."""
        visit = self._visits.get(state, 0)
        self._visits[state] = visit + 1
        if visit < self._size:
            if visit == self._size - 1:
                self._next[state] = self._skip(state, visit, 1.0)
            return visit
        due, weight = self._next[state]
        if visit < due:
            return None
        self._next[state] = self._skip(state, visit, weight)
        return child_seed(self._seed, state, visit, 1) % self._size

    def _skip(self, state: State, visit: int, weight: float) -> tuple[int, float]:
        # Algorithm L: draw how many visits to pass over instead of a number at each visit.
        rng = random.Random(child_seed(self._seed, state, visit))
        weight *= math.exp(math.log(1.0 - rng.random()) / self._size)
        passed = math.floor(math.log(1.0 - rng.random()) / math.log1p(-weight))
        return visit + passed + 1, weight


def weighted_choice(states: Sequence[State], dataset: Dataset, rng: random.Random) -> State:
    """Draw a state with weight n_max + 1 − N(s)."""
    most = dataset.most_departures + 1
    weights = [most - dataset.departures(state) for state in states]
    return rng.choices(states, weights)[0]


def end_to_go_on_from(
    ends: Iterable[End], dataset: Dataset, most_distance: int, rng: random.Random
) -> End | None:
    """Choose among the ends of the last query whose walk is still short enough."""
    open_ends = [end for end in ends if end.distance < most_distance]
    if not open_ends:
        return None
    state = weighted_choice(sorted({end.state for end in open_ends}), dataset, rng)
    return rng.choice([end for end in open_ends if end.state == state])


def state_to_start_from(dataset: Dataset, graph: StateGraph, rng: random.Random) -> State | None:
    """Choose a state seen before that some capability may leave; None while there is none."""
    states = [state for state in dataset.states if not graph.node(state).sink]
    return weighted_choice(states, dataset, rng) if states else None
