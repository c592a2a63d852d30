"""The transitions that were seen, as arrays: what is met in use, and what can be undone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from capscope.logic import State
from capscope.model.state_graph import StateNode
from capscope.stats.arrays import Floats, Integers, Mask

FAR = 1 << 30


class KnownSteps:
    """Every outcome that was seen, as a step from one state to another."""

    def __init__(self, nodes: Sequence[StateNode]) -> None:
        self.index = {node.state: i for i, node in enumerate(nodes)}
        begins: list[int] = []
        ends: list[int] = []
        shares: list[float] = []
        for i, node in enumerate(nodes):
            for pair in node.pairs:
                if pair is None or pair.only is node:
                    continue
                for effect, count in pair.counts.items():
                    begins.append(i)
                    ends.append(self.index[effect.apply(node.state)])
                    shares.append(count / pair.total / len(node.pairs))
        self._begins: Integers = np.array(begins, dtype=np.int64)
        self._ends: Integers = np.array(ends, dtype=np.int64)
        self._shares: Floats = np.array(shares, dtype=np.float64)

    @cached_property
    def _leaving(self) -> Floats:
        return np.bincount(self._begins, self._shares, len(self.index)).astype(np.float64)

    def visits(self, beginnings: Iterable[State], requests: int) -> Floats:
        """Return how often each state is met: the share of all requests that are made in it.

        Requests are random, in sequences from the beginnings. One that was never made in a state is
        taken to change nothing.
        """
        start = np.zeros(len(self.index))
        for state in beginnings:
            if state in self.index:
                start[self.index[state]] += 1
        if not start.any():
            start[:1] = 1
        now = start / max(start.sum(), 1)
        total = np.zeros(len(self.index))
        for _ in range(requests):
            total += now
            moved = np.bincount(self._ends, now[self._begins] * self._shares, len(now))
            now = now * (1 - self._leaving) + moved
        shares: Floats = total / requests
        return shares

    def can_reach(self, goal: Mask) -> Mask:
        """Return from which states a known sequence leads to one of the goal states."""
        reached = goal.copy()
        while True:
            found = self._begins[reached[self._ends]]
            new = found[~reached[found]]
            if not len(new):
                return reached
            reached[new] = True

    def distances(self, goal: Mask, allowed: Mask | None = None) -> Integers:
        """Return how many known steps lead from each state to a goal state; `FAR` if none do.

        With `allowed`, all states on the way must be among these.
        """
        inside = np.ones(len(goal), dtype=bool) if allowed is None else allowed
        usable = inside[self._begins] & inside[self._ends]
        begins, ends = self._begins[usable], self._ends[usable]
        distance = np.where(goal & inside, 0, FAR).astype(np.int64)
        steps = 0
        while True:
            steps += 1
            found = begins[distance[ends] == steps - 1]
            new = found[distance[found] == FAR]
            if not len(new):
                return distance
            distance[new] = steps
