"""Train the agent of `overcooked-hrl` by Q-learning on two levels.

python scripts/train_kitchen_hrl.py [VALUES.npz] [--option-episodes N] [--seed N] …

Without arguments, this recreates the values that come with capscope.

First each option is learned by itself: an episode starts where the option may begin, and being done
has reward 1, discounted by time; every action but waiting costs a little. Then the options are
carried out as they were learned, and the level above learns which of them to pick for a goal. Goals
are the literals that became true while the options were learned. A choice takes as many steps as
its option, so its value is discounted by them: Q-learning in a semi-Markov decision process.

What the agent experiences is biased, as training data often are:

- Pile 1 is stocked whenever an episode starts, pile 2 in some of them only.
- Dishes are only fetched while something cooks.

Neither level sees the stocks. No reward makes the agent go to pile 1, or cook before it takes a
dish; it never had a reason to do otherwise.

Everything is plain arithmetic on one random stream, so a seed gives the same values on any machine.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import random
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from capscope.errors import CapscopeError
from capscope.logic import Literal, LiteralTest
from capscope.problem import Abstraction
from capscope.seeds import child_seed
from capscope_worlds.kitchen_hrl import KITCHEN_VALUES, MOST_STEPS, KitchenIndex, KitchenValues
from capscope_worlds.kitchen_hrl.options import (
    FACINGS,
    HELD,
    KitchenFeatures,
    KitchenOption,
    pot_class,
)
from capscope_worlds.kitchen_hrl.values import Rows, Values, table
from capscope_worlds.overcooked import (
    ACTIONS,
    FLOOR,
    PLACES,
    POT_STATES,
    KitchenAbstraction,
    KitchenObservation,
    kitchen_simulator,
)

if TYPE_CHECKING:
    from capscope_worlds.overcooked.simulator import KitchenSimulator

FIRST_EPISODES = 200
"""Episodes of either level before the digests that `train` keeps."""


@dataclass(frozen=True, slots=True)
class Training:
    """Hyperparameters of both levels."""

    option_episodes: int = 60_000
    goal_episodes: int = 60_000
    most_options: int = 12
    """Options in an episode of the level above, at most."""
    learning_rate: float = 0.4
    last_learning_rate: float = 0.02
    """The rate decreases linearly, so that noise averages out in the end."""
    discount: float = 0.95
    effort: float = 0.01
    """What every action but `stay` costs."""
    second_pile: float = 0.85
    """The share of the episodes that start with an onion at pile 2."""
    least_exploration: float = 0.1
    """The share of random choices decreases linearly from 1 to this over the episodes."""
    seed: int = 0

    def cost(self, action: str) -> float:
        """Return what an action costs."""
        return 0.0 if action == "stay" else self.effort


def something_cooks(seen: KitchenFeatures) -> bool:
    """Return whether there is soup in the pot that cooks or is ready."""
    return pot_class(seen.pot) in ("cooking", "ready")


def offered(option: KitchenOption, seen: KitchenFeatures) -> bool:
    """Return whether an option may begin here in training: dishes only while something cooks."""
    if option.name == "get dish" and not something_cooks(seen):
        return False
    return option.may_begin(seen)


class Starts:
    """The positions from which the episodes of one option or goal start."""

    def __init__(self, starts: Iterable[KitchenObservation], training: Training) -> None:
        self._starts: tuple[list[KitchenObservation], ...] = ([], [])
        for seen in starts:
            self._starts[seen.piles[1]].append(seen)
        self._second_pile = training.second_pile

    def draw(self, uniform: Callable[[], float]) -> KitchenObservation:
        """Draw whether pile 2 is stocked, and then a position."""
        empty, stocked = self._starts
        wanted = stocked if uniform() < self._second_pile else empty
        starts = wanted or stocked or empty
        return starts[int(uniform() * len(starts))]


def all_starts() -> list[KitchenObservation]:
    """List the positions from which training may start: this is where its bias comes from."""
    everything = itertools.product(FLOOR, FACINGS, HELD, POT_STATES, (0, 1))
    starts = [
        KitchenObservation(cell, facing, held, pot, (1, second), held in (None, "onion"), False)
        for cell, facing, held, pot, second in everything
    ]
    return [seen for seen in starts if seen.held != "dish" or something_cooks(seen)]


class QLearner:
    """Tables of values, the chance to explore, and the rate at which values change."""

    def __init__(self, tables: int, columns: int, episodes: int, training: Training) -> None:
        self.training = training
        self.random = random.Random(child_seed(training.seed, columns))
        self.values: list[Rows] = [{} for _ in range(tables)]
        self.episode = 0
        self._columns = columns
        self._episodes = episodes

    def repeat(self, episode: Callable[[], None], episodes: int | None) -> None:
        """Learn from this many more episodes, or from all that remain."""
        left = self._episodes - self.episode
        for _ in range(left if episodes is None else min(left, episodes)):
            episode()
            self.episode += 1

    def row(self, number: int, row: int) -> list[float]:
        """Return the values in a row of a table, initially 0."""
        rows = self.values[number]
        if row not in rows:
            rows[row] = [0.0] * self._columns
        return rows[row]

    def choose(self, values: Sequence[float], allowed: Sequence[int]) -> int:
        """Choose the best column, or a random one to explore."""
        draw, progress = self.random.random, self.episode / self._episodes
        if draw() < 1 - (1 - self.training.least_exploration) * progress:
            return allowed[int(draw() * len(allowed))]
        best = max(values[i] for i in allowed)
        ties = [i for i in allowed if values[i] == best]
        return ties[int(draw() * len(ties))] if len(ties) > 1 else ties[0]

    def update(self, values: list[float], column: int, target: float) -> None:
        """Move a value towards a target."""
        training, progress = self.training, self.episode / self._episodes
        decrease = training.learning_rate - training.last_learning_rate
        values[column] += (training.learning_rate - decrease * progress) * (target - values[column])

    @property
    def digest(self) -> str:
        """An exact hash of everything learned so far."""
        parts = [sorted(rows.items()) for rows in self.values]
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


class OptionLearner:
    """Learns the options, one episode at a time, and notices which literals become true."""

    def __init__(
        self,
        simulator: KitchenSimulator,
        abstraction: Abstraction,
        starts: Sequence[KitchenObservation],
        training: Training,
    ) -> None:
        self._simulator = simulator
        self._abstraction = abstraction
        self.index = KitchenIndex(ACTIONS, FLOOR, PLACES)
        self.learner = QLearner(
            len(self.index.options), len(ACTIONS), training.option_episodes, training
        )
        self._starts = [
            Starts((seen for seen in starts if offered(option, seen)), training)
            for option in self.index.options
        ]
        self._became_true: dict[str, None] = {}
        self._ever_added = self._ever_removed = 0

    def learn(self, episodes: int | None = None) -> None:
        """Learn from this many more episodes, or from all that remain."""
        self.learner.repeat(self._episode, episodes)

    def _episode(self) -> None:
        learner, index, training = self.learner, self.index, self.learner.training
        number = learner.episode % len(index.options)
        option, start = index.options[number], self._starts[number].draw(learner.random.random)
        begun = self._simulator.place(start, child_seed(training.seed, learner.episode))
        state = self._abstraction(begun)
        columns = range(len(ACTIONS))
        now = learner.row(number, index.row(begun))
        for _ in range(MOST_STEPS):
            chosen = learner.choose(now, columns)
            seen = self._simulator.step(ACTIONS[chosen])
            self._notice(state, state := self._abstraction(seen))
            ahead = learner.row(number, index.row(seen))
            done = option.done(begun, seen)
            worth = 1.0 if done else training.discount * max(ahead)
            learner.update(now, chosen, worth - training.cost(ACTIONS[chosen]))
            if done:
                return
            now = ahead

    def _notice(self, before: int, after: int) -> None:
        """Make every literal that became true a goal."""
        added = after & ~before & ~self._ever_added
        removed = before & ~after & ~self._ever_removed
        self._ever_added |= added
        self._ever_removed |= removed
        for bits, positive in ((added, True), (removed, False)):
            for atom in self._abstraction.vocabulary.holding(bits):
                self._became_true[str(Literal(atom, positive))] = None

    def learned(self) -> tuple[KitchenIndex, Values]:
        """Return the index with the goals found, and the values of actions."""
        values = table(self.learner.values, self.index.rows, len(ACTIONS))
        return replace(self.index, goals=tuple(self._became_true)), values


class GoalLearner:
    """Learns which option to pick for a goal, one episode at a time."""

    def __init__(
        self,
        simulator: KitchenSimulator,
        abstraction: Abstraction,
        starts: Sequence[KitchenObservation],
        options: tuple[KitchenIndex, Values],
        training: Training,
    ) -> None:
        self.index, values = options
        self._simulator = simulator
        self._abstraction = abstraction
        self._in_options: list[list[list[float]]] = values.tolist()
        index, vocabulary = self.index, abstraction.vocabulary
        self.learner = QLearner(
            len(index.goals), len(index.options), training.goal_episodes, training
        )
        self._tests = [vocabulary.test([Literal.parse(goal)]) for goal in index.goals]
        self._starts = [
            Starts((seen for seen in starts if not reached(abstraction(seen))), training)
            for reached in self._tests
        ]

    def learn(self, episodes: int | None = None) -> None:
        """Learn from this many more episodes, or from all that remain."""
        self.learner.repeat(self._episode, episodes)

    def _episode(self) -> None:
        """Pick options until the goal is reached, or none may begin."""
        learner, index, training = self.learner, self.index, self.learner.training
        goal = learner.episode % len(index.goals)
        reached, start = self._tests[goal], self._starts[goal].draw(learner.random.random)
        seen = self._simulator.place(start, child_seed(training.seed, learner.episode))
        allowed = self._offered(seen)
        for _ in range(training.most_options):
            if not allowed:
                return
            now = learner.row(goal, index.goal_row(seen))
            chosen = learner.choose(now, allowed)
            seen, steps, reward, achieved = self._carry_out(chosen, seen, reached)
            allowed = self._offered(seen)
            ahead = learner.row(goal, index.goal_row(seen))
            best = 1.0 if achieved else max((ahead[i] for i in allowed), default=0.0)
            learner.update(now, chosen, reward + training.discount**steps * best)
            if achieved:
                return

    def _offered(self, seen: KitchenFeatures) -> list[int]:
        return [i for i, option in enumerate(self.index.options) if offered(option, seen)]

    def _carry_out(
        self, number: int, begun: KitchenFeatures, reached: LiteralTest
    ) -> tuple[KitchenFeatures, int, float, bool]:
        """Act by an option's values until it is done or failed, or the goal is reached.

        Return what is seen then, the steps taken, their discounted cost as a reward, and whether
        the goal is reached.
        """
        training = self.learner.training
        option, values = self.index.options[number], self._in_options[number]
        seen, reward = begun, 0.0
        for steps in range(1, MOST_STEPS + 1):
            row = values[self.index.row(seen)]
            best = max(row)
            ties = [i for i, value in enumerate(row) if value == best]
            action = ties[int(self.learner.random.random() * len(ties))]
            seen = self._simulator.step(ACTIONS[action])
            reward -= training.discount ** (steps - 1) * training.cost(ACTIONS[action])
            achieved = reached(self._abstraction(seen))
            if achieved or option.done(begun, seen):
                return seen, steps, reward, achieved
        return seen, MOST_STEPS, reward, False


def train(training: Training) -> KitchenValues:
    """Train both levels in the default kitchen.

    The digests after the first episodes are stored too, so that a test can check that values come
    from this code without repeating the whole training.
    """
    simulator, abstraction = kitchen_simulator(), KitchenAbstraction()
    starts = all_starts()
    below = OptionLearner(simulator, abstraction, starts, training)
    below.learn(FIRST_EPISODES)
    digests = {"options": below.learner.digest}
    below.learn()
    above = GoalLearner(simulator, abstraction, starts, below.learned(), training)
    above.learn(FIRST_EPISODES)
    digests["goals"] = above.learner.digest
    above.learn()
    index, in_options = below.learned()
    for_goals = table(above.learner.values, index.goal_rows, len(index.options))
    origin = {"training": asdict(training), "first_episodes": digests}
    return KitchenValues(index, in_options, for_goals, origin)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("values", nargs="?", type=Path, default=KITCHEN_VALUES)
    for field in fields(Training):
        option = f"--{field.name.replace('_', '-')}"
        parser.add_argument(option, type=type(field.default), default=field.default)
    given = parser.parse_args()
    training = Training(**{field.name: getattr(given, field.name) for field in fields(Training)})
    start = time.process_time()
    try:
        values = train(training)
    except CapscopeError as error:
        parser.error(str(error))
    values.save(given.values)
    options, goals = len(values.index.options), len(values.index.goals)
    print(
        f"{given.values}: {options} options, {goals} goals, "
        f"{given.values.stat().st_size / 1000:.0f} kB, {time.process_time() - start:.0f} s of CPU"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
