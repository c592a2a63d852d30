"""A compiled task as a world: the observation is the symbolic state itself.

A search restores millions of times and draws rarely. Hence a restore only notes its seed; the
generator is seeded when the first operator with several outcomes is stepped. The applicable
operators of a state are remembered, for a walk meets the same states again and again.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from capscope.environments.pddl.operators import GroundOperator
from capscope.environments.pddl.task import PddlTask
from capscope.symbolic import State, Vocabulary
from capscope.world import InvalidAction, Snapshot

REMEMBERED_STATES = 1 << 17


class IdentityAbstraction:
    """The abstraction of a world that is observed symbolically: the identity."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def __call__(self, observation: State) -> State:
        """Return the observation."""
        return observation


class PddlSimulator:
    """Steps a compiled task; all chance comes from the seed of the last reset or restore."""

    def __init__(self, task: PddlTask, remembered_states: int = REMEMBERED_STATES) -> None:
        """Remember the applicable operators of at most `remembered_states` states (0: of none)."""
        self.task = task
        self._width = (len(task.vocabulary.atoms) + 7) // 8
        self._state = task.initial_state
        self._random = random.Random()
        self._seed: int | None = 0
        self._remembered_states = remembered_states
        self._applicable: dict[State, Sequence[GroundOperator]] = {}

    def reset(self, seed: int) -> State:
        """Go to the initial state."""
        self._seed = seed
        self._state = self.task.initial_state
        return self._state

    def actions(self) -> Sequence[GroundOperator]:
        """List the operators applicable now, in their fixed order."""
        found = self._applicable.get(self._state)
        return self._look_up() if found is None else found

    def _look_up(self) -> Sequence[GroundOperator]:
        found = tuple(self.task.applicable(self._state))
        if len(self._applicable) >= self._remembered_states:
            # Forgetting all is as good as forgetting some: a walk soon fills it again.
            self._applicable.clear()
        if self._remembered_states:
            self._applicable[self._state] = found
        return found

    def step(self, action: GroundOperator) -> State:
        """Apply an operator, or raise `InvalidAction` if it is not applicable."""
        state = self._state
        if not isinstance(action, GroundOperator):
            raise InvalidAction(f"{action!r} is not a ground operator of {self.task.name}")
        for care, required in action.tests:
            if state & care == required:
                break
        else:
            raise InvalidAction(f"{action.name} is not applicable now; choose one of actions()")
        masks = action.masks
        if masks is not None and len(masks) == 1:
            _, keep, adds = masks[0]
            self._state = state & keep | adds
        else:
            self._state = action.draw(state, self._uniform())
        return self._state

    def _uniform(self) -> float:
        if self._seed is not None:
            self._random.seed(self._seed)
            self._seed = None
        return self._random.random()

    def snapshot(self) -> Snapshot:
        """Write the state as little-endian bytes of fixed width."""
        return self.snapshot_of(self._state)

    def snapshot_of(self, state: State) -> Snapshot:
        """Write a state down; any bit vector over the vocabulary will do, reachable or not."""
        return state.to_bytes(self._width, "little")

    def restore(self, snapshot: Snapshot, seed: int) -> State:
        """Go back to a state; later draws depend on `seed` only."""
        self._seed = seed
        self._state = state = int.from_bytes(snapshot, "little")
        return state
