"""The trained agent: it samples actions from the softmax of its values.

An action whose value is lower by one temperature is e times less likely, so the agent wanders far
from the goal, where values are similar, and acts decisively near it. In a position without values
all actions are equally likely.

How it interprets an intent:

- `agent-at(room)`: go to one cell of the room, drawn with the attempt's seed at the first
  observation, even if the agent is in the room already.
- Any other literal: pursue it if it became true during training, and stop as soon as it holds.
- A literal that never became true during training (the green door was never opened): do not try.
- Several literals: pursue one until it holds, then the next that does not, in a cycle.
"""

from __future__ import annotations

import random
from bisect import bisect
from functools import cached_property
from typing import NamedTuple

import numpy as np

from capscope.logic import Intent, Literal, State
from capscope.problem import Abstraction
from capscope.seeds import child_seed
from capscope_worlds.grid_q.values import (
    ActionValues,
    CellIndex,
    GridFeatures,
    GridPosition,
    cell_goal,
    position_of,
)

TEMPERATURE = 0.02
ROOM_PREDICATE = "agent-at"
"""Not a goal itself: an agent asked to be in a room goes to one of its cells."""


class GridQAgent:
    """Acts on values learned in a grid."""

    def __init__(
        self, values: ActionValues, abstraction: Abstraction, temperature: float = TEMPERATURE
    ) -> None:
        """Act on `values`; `abstraction` decides whether a literal holds."""
        if not temperature > 0:
            raise ValueError(f"temperature must be above 0, not {temperature}")
        self.values = values
        self.abstraction = abstraction
        self.temperature = temperature
        self._sums: dict[tuple[int, int], list[float]] = {}

    @property
    def fingerprint(self) -> str:
        """Identifies the agent: its values and its temperature."""
        return f"{self.values.fingerprint}-{self.temperature!r}"

    def begin(self, intent: Intent, seed: int) -> GridQAttempt:
        """Start an attempt at an intent."""
        return GridQAttempt(self, intent, seed)

    def probabilities(self, position: GridPosition, goal: str) -> list[float]:
        """Return the probability of each action in a position; uniform without values."""
        row = self.values.positions.get(position)
        if row is None:
            return self._uniform
        values = self.values.table[row, self.values.goals[goal]].astype(np.float64)
        weights = np.exp((values - values.max()) / self.temperature)
        probabilities: list[float] = (weights / weights.sum()).tolist()
        return probabilities

    def draw(self, position: GridPosition, goal: str, uniform: float) -> str:
        """Choose an action by a number from [0, 1)."""
        key = self.values.positions.get(position, -1), self.values.goals[goal]
        sums = self._sums.get(key)
        if sums is None:
            # Without the last sum, which rounding may make smaller than `uniform`.
            sums = np.cumsum(self.probabilities(position, goal))[:-1].tolist()
            self._sums[key] = sums
        return self.values.actions[bisect(sums, uniform)]

    @cached_property
    def _uniform(self) -> list[float]:
        return [1 / len(self.values.actions)] * len(self.values.actions)


class _Target(NamedTuple):
    """What a literal means to the agent: when it holds, and what to pursue until then."""

    goal: str | None
    """None if it was never learned."""
    cell: CellIndex | None
    bit: State
    value: State
    """What the bit must be; unused if there is a cell."""


class GridQAttempt:
    """One attempt; the seed determines all its randomness."""

    def __init__(self, agent: GridQAgent, intent: Intent, seed: int) -> None:
        self._agent = agent
        self._intent = intent
        self._seed = seed
        self._uniform = random.Random(child_seed(seed, 0)).random
        self._targets: list[_Target] | None = None
        self._holds = intent.test(agent.abstraction.vocabulary)

    def act(self, observation: GridFeatures) -> str | None:
        """Return the next action, or None if no learned literal is left to pursue."""
        if self._targets is None:
            self._targets = [
                self._target(literal, observation, child_seed(self._seed, 1, i))
                for i, literal in enumerate(self._intent.pursuable(self._was_learned))
            ]
        state = self._agent.abstraction(observation)
        if len(self._intent.alternatives) > 1 and self._holds(state):
            return None
        # The current target comes first: switching half-way might undo both.
        for _ in self._targets:
            goal, cell, bit, value = self._targets[0]
            holds = observation.position == cell if cell is not None else state & bit == value
            if not holds and goal is not None:
                return self._agent.draw(position_of(observation), goal, self._uniform())
            self._targets.append(self._targets.pop(0))
        return None

    def _was_learned(self, literal: Literal) -> bool:
        if literal.atom.predicate == ROOM_PREDICATE and literal.positive:
            return True  # a cell of the room is the goal
        return str(literal) in self._agent.values.goals

    def _target(self, literal: Literal, observation: GridFeatures, seed: int) -> _Target:
        atom = literal.atom
        cell = None
        goal = str(literal)
        if atom.predicate == ROOM_PREDICATE and literal.positive:
            cell = observation.sampled_cell(atom.arguments[0], seed)
            goal = "" if cell is None else cell_goal(cell)
        bit = self._agent.abstraction.vocabulary.bit_of(atom)
        learned = goal if goal in self._agent.values.goals else None
        return _Target(learned, cell, bit, bit if literal.positive else 0)
