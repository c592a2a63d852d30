"""Train the agent of `minigrid-q`, or one for a grid of your own, by tabular Q-learning.

python examples/train_grid_q.py [LAYOUT.txt VALUES.npz] [--episodes N] [--seed N]

Without arguments, this recreates the values that come with capscope.

An episode starts at a position visited before and has one goal, drawn from those known so far:
cells that the agent stood on and literals that became true. So all goals are reachable, and their
number grows with experience. Reaching the goal has reward 1, discounted by time; nothing else has a
reward. Death is not punished; it ends the episode.

Each episode could be used to learn for all goals at once. In a world this small, that finds the
shortest path everywhere, and the agent would be a planner. Learning only for the episode's own goal
leaves the flaws that trial and error leaves in larger worlds: detours, positions where the agent
knows nothing, and carelessness near lava.

Everything is plain arithmetic on one random stream, so a seed gives the same table on any machine.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from capscope.errors import CapscopeError
from capscope.logic import Literal, State
from capscope.problem import Abstraction, Simulator, Snapshot
from capscope.seeds import child_seed
from capscope_worlds.grid_q import FOUR_QUADRANTS_VALUES, ROOM_PREDICATE, ActionValues
from capscope_worlds.grid_q.values import GridFeatures, GridPosition, cell_goal, position_of
from capscope_worlds.minigrid import (
    FOUR_QUADRANTS,
    GridAbstraction,
    grid_simulator,
    read_layout,
)

FIRST_EPISODES = 300
"""Episodes before the digest that `train` keeps."""

Reached = Callable[[GridFeatures, State], bool]
"""Returns, from an observation and its symbolic state, whether a goal is reached."""


@dataclass(frozen=True, slots=True)
class Training:
    """Hyperparameters of Q-learning."""

    episodes: int = 80_000
    most_steps: int = 100
    learning_rate: float = 0.3
    discount: float = 0.95
    least_exploration: float = 0.1
    """The share of random actions decreases linearly from 1 to this over the episodes."""
    seed: int = 0


def _set(bit: State) -> Reached:
    return lambda _, state: bool(state & bit)


def _clear(bit: State) -> Reached:
    return lambda _, state: not state & bit


class Learner:
    """Learns one episode at a time; the same hyperparameters give the same values."""

    def __init__(self, simulator: Simulator, abstraction: Abstraction, training: Training) -> None:
        self._simulator = simulator
        self._abstraction = abstraction
        self._training = training
        self._random = random.Random(child_seed(training.seed))
        self._rows: dict[GridPosition, int] = {}
        self._starts: list[Snapshot] = []
        self._goals: dict[str, int] = {}
        self._reached: list[Reached] = []
        self._values: list[dict[int, list[float]]] = []
        self._ever_added = self._ever_removed = 0
        self.episodes = 0
        first = simulator.reset(training.seed)
        self._actions: tuple[str, ...] = tuple(simulator.actions())
        self._explore(first)

    def learn(self, episodes: int | None = None) -> None:
        """Learn from this many more episodes, or from all that remain."""
        left = self._training.episodes - self.episodes
        for _ in range(left if episodes is None else min(left, episodes)):
            self._episode()
            self.episodes += 1

    def _explore(self, seen: GridFeatures) -> None:
        """Take random actions from the initial position to find the first goals."""
        state = self._abstraction(seen)
        for _ in range(self._training.most_steps):
            self._row(seen)
            seen = self._simulator.step(self._actions[self._random_action()])
            self._notice(state, state := self._abstraction(seen))
            if not self._simulator.actions():
                return

    def _random_action(self) -> int:
        return int(self._random.random() * len(self._actions))

    def _episode(self) -> None:
        """Pursue one goal until it is reached, the agent dies, or the step limit is hit."""
        training, simulator, draw = self._training, self._simulator, self._random.random
        seen = simulator.restore(self._starts[int(draw() * len(self._starts))], 0)
        state = self._abstraction(seen)
        goal = int(draw() * len(self._reached))
        reached, rows = self._reached[goal], self._values[goal]
        if reached(seen, state):
            return
        progress = self.episodes / training.episodes
        exploration = 1 - (1 - training.least_exploration) * progress
        now = self._values_at(rows, seen)
        for _ in range(training.most_steps):
            chosen = self._greedy(now) if draw() >= exploration else self._random_action()
            seen = simulator.step(self._actions[chosen])
            self._notice(state, state := self._abstraction(seen))
            ahead = self._values_at(rows, seen) if simulator.actions() else None
            if reached(seen, state):
                worth, ahead = 1.0, None
            else:
                worth = training.discount * max(ahead) if ahead else 0.0
            now[chosen] += training.learning_rate * (worth - now[chosen])
            if ahead is None:
                return
            now = ahead

    def _values_at(self, rows: dict[int, list[float]], seen: GridFeatures) -> list[float]:
        """Return the values of the actions at a position, initially 0."""
        row = self._row(seen)
        if row not in rows:
            rows[row] = [0.0] * len(self._actions)
        return rows[row]

    def _greedy(self, values: list[float]) -> int:
        best = max(values)
        ties = [i for i, value in enumerate(values) if value == best]
        return ties[int(self._random.random() * len(ties))] if len(ties) > 1 else ties[0]

    def _row(self, seen: GridFeatures) -> int:
        """Return the row of a position; a new position becomes a start and its cell a goal."""
        position = position_of(seen)
        row = self._rows.get(position)
        if row is None:
            row = self._rows[position] = len(self._rows)
            self._starts.append(self._simulator.snapshot())
            cell = seen.position
            self._add_goal(cell_goal(cell), lambda now, _: now.position == cell)
        return row

    def _notice(self, before: State, after: State) -> None:
        """Make every literal that became true a goal."""
        added = after & ~before & ~self._ever_added
        removed = before & ~after & ~self._ever_removed
        if not added and not removed:
            return
        self._ever_added |= added
        self._ever_removed |= removed
        vocabulary = self._abstraction.vocabulary
        for atom in vocabulary.holding(added):
            if atom.predicate != ROOM_PREDICATE:
                self._add_goal(str(Literal(atom)), _set(vocabulary.bit[atom]))
        for atom in vocabulary.holding(removed):
            self._add_goal(str(Literal(atom, False)), _clear(vocabulary.bit[atom]))

    def _add_goal(self, name: str, reached: Reached) -> None:
        if name not in self._goals:
            self._goals[name] = len(self._goals)
            self._reached.append(reached)
            self._values.append({})

    @property
    def digest(self) -> str:
        """An exact hash of everything learned so far."""
        parts = [sorted(values.items()) for values in self._values]
        return hashlib.sha256(repr((list(self._goals), parts)).encode()).hexdigest()[:16]

    def learned(self, origin: Mapping[str, Any]) -> ActionValues:
        """Return the values for the goals that were reached at least once."""
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
    simulator: Simulator, abstraction: Abstraction, training: Training, grid: str = ""
) -> ActionValues:
    """Train for all episodes; `grid` is the fingerprint of the layout, stored with the values.

    The digest after the first episodes is stored too, so that a test can check that values come
    from this code without repeating the whole training.
    """
    learner = Learner(simulator, abstraction, training)
    learner.learn(FIRST_EPISODES)
    first = learner.digest
    learner.learn()
    return learner.learned({"grid": grid, "training": asdict(training), "first_episodes": first})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("layout", nargs="?", type=Path, default=FOUR_QUADRANTS)
    parser.add_argument("values", nargs="?", type=Path)
    for field in fields(Training):
        option = f"--{field.name.replace('_', '-')}"
        parser.add_argument(option, type=type(field.default), default=field.default)
    given = parser.parse_args()
    if given.values is None and given.layout != FOUR_QUADRANTS:
        parser.error("give the file to write, too: LAYOUT.txt VALUES.npz")
    training = Training(**{field.name: getattr(given, field.name) for field in fields(Training)})
    try:
        layout = read_layout(given.layout)
        simulator = grid_simulator(layout)
    except CapscopeError as error:
        parser.error(str(error))
    start = time.perf_counter()
    values = train(simulator, GridAbstraction(layout), training, layout.fingerprint)
    path = given.values or FOUR_QUADRANTS_VALUES
    values.save(path)
    rows, goals, _ = values.table.shape
    seconds = time.perf_counter() - start
    print(
        f"{path}: {rows} positions, {goals} goals, {training.episodes:,} episodes, {seconds:.0f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
