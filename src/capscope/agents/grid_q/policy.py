"""The learned agent: it does what promised most, most of the time.

In each position it draws an action by the softmax of what it has learned for its goal: an action
whose value is lower by one temperature is e times less likely. Far from the goal all values are
small and close together, so there the agent dithers; near it the agent is sure of its way. Where it
has learned nothing all actions are alike, and it wanders.

What it makes of an intent:

- `agent-at(room)` sends it to one cell of the room, drawn by the attempt's seed when it first looks
  round; it goes there even if it is in the room already.
- Any other literal is a goal of its own if it was seen to come true while learning. It stops as
  soon as the literal holds.
- A literal that it never learned (nobody ever opened the green door) it does not try: it stops.
- Of several literals it pursues one until it holds, then the next that does not, round and round.
"""

from __future__ import annotations

import random
from bisect import bisect
from functools import cached_property
from typing import NamedTuple

import numpy as np

from capscope.agents.grid_q.learning import ROOM_PREDICATE
from capscope.agents.grid_q.values import (
    ActionValues,
    Place,
    Position,
    Seen,
    cell_goal,
    position_of,
)
from capscope.seeds import child_seed
from capscope.symbolic import Intent, Literal, State
from capscope.world import Abstraction

TEMPERATURE = 0.02


class GridQAgent:
    """Acts by values learned in a grid."""

    def __init__(
        self, values: ActionValues, look: Abstraction, temperature: float = TEMPERATURE
    ) -> None:
        """Act by `values`; `look` tells whether a literal holds, `temperature` is above 0."""
        if not temperature > 0:
            raise ValueError(f"temperature must be above 0, not {temperature}")
        self.values = values
        self.look = look
        self.temperature = temperature
        self._sums: dict[tuple[int, int], list[float]] = {}

    @property
    def fingerprint(self) -> str:
        """Identifies what the agent does: its values and its temperature."""
        return f"{self.values.fingerprint}-{self.temperature!r}"

    def begin(self, intent: Intent, seed: int) -> Pursuit:
        """Start afresh on an intent."""
        return Pursuit(self, intent, seed)

    def chances(self, position: Position, goal: str) -> list[float]:
        """Return the chance of each action in a position; all alike where nothing was learned."""
        row = self.values.positions.get(position)
        if row is None:
            return self._alike
        promises = self.values.table[row, self.values.goals[goal]].astype(np.float64)
        weights = np.exp((promises - promises.max()) / self.temperature)
        chances: list[float] = (weights / weights.sum()).tolist()
        return chances

    def draw(self, position: Position, goal: str, uniform: float) -> str:
        """Choose an action by a number from [0, 1)."""
        place = self.values.positions.get(position, -1), self.values.goals[goal]
        sums = self._sums.get(place)
        if sums is None:
            # The last sum is left out: rounding must not leave a number beyond it.
            sums = np.cumsum(self.chances(position, goal))[:-1].tolist()
            self._sums[place] = sums
        return self.values.actions[bisect(sums, uniform)]

    @cached_property
    def _alike(self) -> list[float]:
        return [1 / len(self.values.actions)] * len(self.values.actions)


class _Aim(NamedTuple):
    """What a literal means to the agent: when it holds, and what to pursue until then."""

    goal: str | None
    """None: never learned."""
    cell: Place | None
    bit: State
    value: State
    """What the bit must be; of no meaning where there is a cell."""


class Pursuit:
    """One attempt; all its chance comes from one seed."""

    def __init__(self, agent: GridQAgent, intent: Intent, seed: int) -> None:
        self._agent = agent
        self._intent = intent
        self._seed = seed
        self._uniform = random.Random(child_seed(seed, 0)).random
        self._aims: list[_Aim] | None = None

    def act(self, observation: Seen) -> str | None:
        """Choose the next action, or None when all is done that the agent knows to do."""
        if self._aims is None:
            self._aims = [
                self._aim(literal, observation, child_seed(self._seed, 1, i))
                for i, literal in enumerate(self._intent.literals)
            ]
        state = self._agent.look(observation)
        # What is pursued comes first: turning to another literal half-way might undo both.
        for _ in self._aims:
            goal, cell, bit, value = self._aims[0]
            holds = observation.position == cell if cell is not None else state & bit == value
            if not holds and goal is not None:
                return self._agent.draw(position_of(observation), goal, self._uniform())
            self._aims.append(self._aims.pop(0))
        return None

    def _aim(self, literal: Literal, observation: Seen, seed: int) -> _Aim:
        atom, words = literal.atom, self._agent.look.vocabulary
        cell = None
        goal = str(literal)
        if atom.predicate == ROOM_PREDICATE and literal.positive:
            cell = observation.sampled_cell(atom.arguments[0], seed)
            goal = "" if cell is None else cell_goal(cell)
        bit = words.bit_of(atom)
        learned = goal if goal in self._agent.values.goals else None
        return _Aim(learned, cell, bit, bit if literal.positive else 0)
