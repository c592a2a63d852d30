"""The trained agent: it picks an option for its goal, carries it out, and picks the next.

Both levels are greedy; equal values are decided by the attempt's seed. A row without values was
never visited in training: in an option, any action is then equally likely.

An attempt ends when the intent holds, and the agent gives up

- for a literal that never became true during training, at once;
- if no option that may begin has a positive value: it knows no way;
- after an option that was not done within `MOST_STEPS` steps;
- at the third visit of a symbolic state: it goes round in circles.

Several literals are pursued one after the other, in a cycle.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from capscope.logic import Intent, State
from capscope.problem import Abstraction
from capscope.seeds import child_seed
from capscope_worlds.kitchen_hrl.options import KitchenFeatures, KitchenOption
from capscope_worlds.kitchen_hrl.values import KitchenValues

MOST_STEPS = 12
"""Steps after which an option has failed; every errand in the kitchen takes at most eight."""
MOST_VISITS = 2

_Tie = TypeVar("_Tie")


class KitchenHrlAgent:
    """Acts on values learned in the kitchen."""

    def __init__(self, values: KitchenValues, abstraction: Abstraction) -> None:
        """Act on `values`; `abstraction` decides whether a literal holds."""
        self.values = values
        self.abstraction = abstraction
        self.goals = {goal: i for i, goal in enumerate(values.index.goals)}
        self._best: dict[tuple[int, int], list[str]] = {}
        self._ranked: dict[tuple[int, int], list[float]] = {}

    @property
    def fingerprint(self) -> str:
        """Identifies the agent: its values and when it gives up."""
        return f"{self.values.fingerprint}-{MOST_STEPS}-{MOST_VISITS}"

    def begin(self, intent: Intent, seed: int) -> KitchenAttempt:
        """Start an attempt at an intent."""
        return KitchenAttempt(self, intent, seed)

    def best_actions(self, option: int, seen: KitchenFeatures) -> list[str]:
        """List the actions of the greatest value in an option."""
        key = option, self.values.index.row(seen)
        best = self._best.get(key)
        if best is None:
            numbers = self.values.in_options[key].tolist()
            most = max(numbers)
            actions = self.values.index.actions
            best = [a for a, n in zip(actions, numbers, strict=True) if n == most]
            self._best[key] = best
        return best

    def best_options(self, goal: int, seen: KitchenFeatures) -> list[int]:
        """List the options of the greatest value among those that may begin; none if it is 0."""
        key = goal, self.values.index.goal_row(seen)
        numbers = self._ranked.get(key)
        if numbers is None:
            numbers = self._ranked[key] = self.values.for_goals[key].tolist()
        options = self.values.index.options
        promising = [i for i, n in enumerate(numbers) if n > 0 and options[i].may_begin(seen)]
        most = max((numbers[i] for i in promising), default=0.0)
        return [i for i in promising if numbers[i] == most]


class KitchenAttempt:
    """One attempt; the seed determines all its randomness."""

    def __init__(self, agent: KitchenHrlAgent, intent: Intent, seed: int) -> None:
        self._agent = agent
        vocabulary = agent.abstraction.vocabulary
        pursued = intent.pursuable(lambda literal: str(literal) in agent.goals)
        self._literals = [(str(x), vocabulary.test([x])) for x in pursued]
        self._holds = intent.test(vocabulary)
        self._uniform = random.Random(child_seed(seed, 0)).random
        self._visits: Counter[State] = Counter()
        self._last: State | None = None
        self._running: tuple[int, KitchenOption, KitchenFeatures] | None = None
        self._steps = 0

    def act(self, observation: KitchenFeatures) -> str | None:
        """Return the next action, or None if the intent holds or the agent gives up."""
        state = self._agent.abstraction(observation)
        if state != self._last:
            self._last = state
            self._visits[state] += 1
        goal = None if self._holds(state) else self._goal(state)
        if goal is None or self._visits[state] > MOST_VISITS:
            return None
        if self._running is not None and self._running[1].done(self._running[2], observation):
            self._running = None
        if self._running is None:
            best = self._agent.best_options(goal, observation)
            if not best:
                return None
            chosen = self._pick(best)
            self._running = chosen, self._agent.values.index.options[chosen], observation
            self._steps = 0
        if self._steps == MOST_STEPS:
            return None
        self._steps += 1
        return self._pick(self._agent.best_actions(self._running[0], observation))

    def _goal(self, state: State) -> int | None:
        """Return the number of the literal to pursue; None if all hold or were never learned."""
        # The current literal comes first: switching half-way might undo both.
        for _ in self._literals:
            text, holds = self._literals[0]
            if not holds(state) and text in self._agent.goals:
                return self._agent.goals[text]
            self._literals.append(self._literals.pop(0))
            self._running = None
        return None

    def _pick(self, ties: Sequence[_Tie]) -> _Tie:
        return ties[int(self._uniform() * len(ties))] if len(ties) > 1 else ties[0]
