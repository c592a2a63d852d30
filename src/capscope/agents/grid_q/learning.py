"""Learn to reach goals in a grid by trial and error: tabular Q-learning, one goal an episode.

An episode begins at a position met before and has one goal, drawn from those that are known: cells
that were stood on, and literals that were seen to come true. So the learner sets itself only goals
that can be reached, and they grow with what it meets. Reaching the goal is worth 1; time discounts
it. Nothing else is worth anything: death is no punishment, it merely ends the episode.

The naive way to use an episode better is to learn from it for all goals at once. In a world this
small that finds the shortest way everywhere, and the agent would be a planner. Learning for the
episode's own goal leaves what trial and error leaves in larger worlds: detours, corners where the
agent has no idea, and no fear of lava where little is at stake.

Everything is plain arithmetic on one random stream, so a seed gives the same table on any machine.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from capscope.agents.grid_q.values import ActionValues, Position, Seen, cell_goal, position_of
from capscope.seeds import child_seed
from capscope.symbolic import Literal, State
from capscope.world import Abstraction, Simulator, Snapshot

ROOM_PREDICATE = "agent-at"
"""Asked to be in a room, an agent is sent to a cell: the literal itself is no goal."""
FIRST_EPISODES = 300

Reached = Callable[[Seen, State], bool]
"""Says by an observation and its symbolic state whether a goal is reached."""


@dataclass(frozen=True, slots=True)
class Training:
    """How long and how eagerly to learn."""

    episodes: int = 80_000
    most_steps: int = 100
    learning_rate: float = 0.3
    discount: float = 0.95
    least_exploration: float = 0.1
    """The share of random actions falls from 1 to this, evenly over the episodes."""
    seed: int = 0


def _set(bit: State) -> Reached:
    return lambda _, state: bool(state & bit)


def _clear(bit: State) -> Reached:
    return lambda _, state: not state & bit


class Learner:
    """Learns episode by episode; the same training gives the same values."""

    def __init__(self, simulator: Simulator, look: Abstraction, training: Training) -> None:
        self._simulator = simulator
        self._look = look
        self._training = training
        self._random = random.Random(child_seed(training.seed))
        self._rows: dict[Position, int] = {}
        self._starts: list[Snapshot] = []
        self._goals: dict[str, int] = {}
        self._reached: list[Reached] = []
        self._values: list[dict[int, list[float]]] = []
        self._ever_added = self._ever_removed = 0
        self.episodes = 0
        first = simulator.reset(training.seed)
        self._actions: tuple[str, ...] = tuple(simulator.actions())
        self._look_round(first)

    def learn(self, episodes: int | None = None) -> None:
        """Go through that many more episodes, or through all that are left."""
        left = self._training.episodes - self.episodes
        for _ in range(left if episodes is None else min(left, episodes)):
            self._episode()
            self.episodes += 1

    def _look_round(self, seen: Seen) -> None:
        """Take random actions from the beginning, so that there are goals to set out with."""
        state = self._look(seen)
        for _ in range(self._training.most_steps):
            self._row(seen)
            seen = self._simulator.step(self._actions[self._choice()])
            self._notice(state, state := self._look(seen))
            if not self._simulator.actions():
                return

    def _choice(self) -> int:
        return int(self._random.random() * len(self._actions))

    def _episode(self) -> None:
        """Pursue one goal until it is reached, the agent dies or time is up."""
        training, simulator, draw = self._training, self._simulator, self._random.random
        seen = simulator.restore(self._starts[int(draw() * len(self._starts))], 0)
        state = self._look(seen)
        goal = int(draw() * len(self._reached))
        reached, rows = self._reached[goal], self._values[goal]
        if reached(seen, state):
            return
        progress = self.episodes / training.episodes
        exploration = 1 - (1 - training.least_exploration) * progress
        now = self._values_at(rows, seen)
        for _ in range(training.most_steps):
            chosen = self._greedy(now) if draw() >= exploration else self._choice()
            seen = simulator.step(self._actions[chosen])
            self._notice(state, state := self._look(seen))
            ahead = self._values_at(rows, seen) if simulator.actions() else None
            if reached(seen, state):
                worth, ahead = 1.0, None
            else:
                worth = training.discount * max(ahead) if ahead else 0.0
            now[chosen] += training.learning_rate * (worth - now[chosen])
            if ahead is None:
                return
            now = ahead

    def _values_at(self, rows: dict[int, list[float]], seen: Seen) -> list[float]:
        """Return the values of the actions at a position, all 0 at first."""
        row = self._row(seen)
        if row not in rows:
            rows[row] = [0.0] * len(self._actions)
        return rows[row]

    def _greedy(self, values: list[float]) -> int:
        best = max(values)
        ties = [i for i, value in enumerate(values) if value == best]
        return ties[int(self._random.random() * len(ties))] if len(ties) > 1 else ties[0]

    def _row(self, seen: Seen) -> int:
        """Return the row of a position; a new one is a start, and its cell a goal, from now on."""
        position = position_of(seen)
        row = self._rows.get(position)
        if row is None:
            row = self._rows[position] = len(self._rows)
            self._starts.append(self._simulator.snapshot())
            cell = seen.position
            self._add_goal(cell_goal(cell), lambda now, _: now.position == cell)
        return row

    def _notice(self, before: State, after: State) -> None:
        """Take every literal that came true for a goal from now on."""
        added = after & ~before & ~self._ever_added
        removed = before & ~after & ~self._ever_removed
        if not added and not removed:
            return
        self._ever_added |= added
        self._ever_removed |= removed
        words = self._look.vocabulary
        for atom in words.holding(added):
            if atom.predicate != ROOM_PREDICATE:
                self._add_goal(str(Literal(atom)), _set(words.bit[atom]))
        for atom in words.holding(removed):
            self._add_goal(str(Literal(atom, False)), _clear(words.bit[atom]))

    def _add_goal(self, name: str, reached: Reached) -> None:
        if name not in self._goals:
            self._goals[name] = len(self._goals)
            self._reached.append(reached)
            self._values.append({})

    @property
    def digest(self) -> str:
        """A hash of everything learned so far, to the last bit."""
        parts = [sorted(values.items()) for values in self._values]
        return hashlib.sha256(repr((list(self._goals), parts)).encode()).hexdigest()[:16]

    def learned(self, origin: Mapping[str, Any]) -> ActionValues:
        """Return the values of the goals that were reached at least once."""
        met = {goal: self._values[i] for goal, i in self._goals.items()}
        known = {goal: rows for goal, rows in met.items() if any(map(any, rows.values()))}
        table = np.zeros((len(self._rows), len(known), len(self._actions)), dtype=np.float16)
        for column, rows in enumerate(known.values()):
            for row, values in rows.items():
                table[row, column] = values
        return ActionValues(
            actions=self._actions,
            positions=dict(self._rows),
            goals={goal: column for column, goal in enumerate(known)},
            table=table,
            origin=origin,
        )


def train(
    simulator: Simulator, look: Abstraction, training: Training, grid: str = ""
) -> ActionValues:
    """Learn all episodes; `grid` is the fingerprint of the layout, kept with the values.

    The digest after the first episodes is kept too: that the values come from this code and this
    training can be checked without learning all of it again.
    """
    learner = Learner(simulator, look, training)
    learner.learn(FIRST_EPISODES)
    first = learner.digest
    learner.learn()
    return learner.learned({"grid": grid, "training": asdict(training), "first_episodes": first})
