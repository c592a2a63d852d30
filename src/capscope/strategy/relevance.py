"""How much a state matters: how often it is met when the agent is used from the beginning.

Use is modelled as capabilities requested at random, one after the other, starting where the run
starts. The learned model says where each leads. A state's relevance is the expected number of
visits, later ones discounted. The newest states would be the wrong ones to prefer: in a world with
irreversible steps, a run that follows them never comes back to the beginning.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable

import numpy as np

from capscope.logic import State
from capscope.model import LearnedModel, StateGraph
from capscope.stats.arrays import Floats, Integers

_DISCOUNT = 0.9
_STEPS = 40
VISITS = (1 - _DISCOUNT ** (_STEPS + 1)) / (1 - _DISCOUNT)
"""The discounted visits of all states together, if none is lost."""


class Flow:
    """Where random requests lead, under the learned model: row → row with probabilities."""

    def __init__(self, model: LearnedModel, rows: Integers, types: Integers) -> None:
        """`types` has the predicted type of each capability (first axis) in each of the rows."""
        matrix, outcomes = model.matrix, model.types
        self._place = {row: i for i, row in enumerate(rows.tolist())}
        pairs, times = np.unique(
            np.stack([np.tile(np.arange(len(rows)), len(types)), types.ravel()]),
            axis=1,
            return_counts=True,
        )
        begins, ends, shares = [], [], []
        for place, number, count in zip(*pairs.tolist(), times.tolist(), strict=True):
            state = matrix.states[int(rows[place])]
            for effect, odds in outcomes.odds[number].items():
                end = self._place.get(matrix.row.get(effect.apply(state), -1))
                if end is not None:
                    begins.append(place)
                    ends.append(end)
                    shares.append(odds * count / len(types))
        self._begins = np.array(begins, dtype=np.int64)
        self._ends = np.array(ends, dtype=np.int64)
        self._shares = np.array(shares)

    def start(self, initial: Iterable[int]) -> Floats:
        """Return the distribution over places at the beginning."""
        places = [self._place[row] for row in initial if row in self._place]
        begun = np.bincount(places, minlength=len(self._place)).astype(np.float64)
        return begun / max(len(places), 1)

    def step(self, now: Floats) -> Floats:
        """Return the distribution after one more request; what leaves the rows is dropped."""
        shares = now[self._begins] * self._shares
        return np.bincount(self._ends, shares, len(self._place)).astype(np.float64)

    def expected_visits(self, initial: Iterable[int]) -> Floats:
        """Return the discounted number of visits of each place."""
        now = self.start(initial)
        visits = now.copy()
        for _ in range(_STEPS):
            now = _DISCOUNT * self.step(now)
            visits += now
        return visits


class Distances:
    """How many capabilities lead from the beginning to each state, at least; by what was seen."""

    def __init__(self, graph: StateGraph, initial: Collection[State]) -> None:
        self._graph = graph
        self.of: dict[State, int] = dict.fromkeys(initial, 0)

    def observe(self, pairs: Iterable[tuple[State, int]]) -> None:
        """Take in what some pairs have shown."""
        waiting = deque(state for state, _ in pairs if state in self.of)
        while waiting:
            state = waiting.popleft()
            farther = self.of[state] + 1
            for pair in self._graph.node(state).pairs:
                for node in () if pair is None else pair.successors:
                    if self.of.get(node.state, farther + 1) > farther:
                        self.of[node.state] = farther
                        waiting.append(node.state)
