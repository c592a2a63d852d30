"""A simulator of a compiled task: the observation is the symbolic state itself.

A search restores millions of times and rarely draws. So a restore only stores its seed, and the
generator is seeded at the first step with several outcomes.
"""

import random
from collections.abc import Sequence

from capscope.adapters.pddl.task import GroundOperator, PddlTask
from capscope.logic import State, Vocabulary
from capscope.problem import InvalidAction, Snapshot


class IdentityAbstraction:
    """The abstraction of a simulator whose observations are symbolic states."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def __call__(self, observation: State) -> State:
        """Return the observation."""
        return observation


class PddlSimulator:
    """Steps a compiled task; the last reset or restore seeds all randomness."""

    def __init__(self, task: PddlTask, cached_states: int = 1 << 17) -> None:
        """Cache the applicable operators of at most `cached_states` states (0: of none)."""
        self.task = task
        self._width = (len(task.vocabulary.atoms) + 7) // 8
        self._state = task.initial_state
        self._random = random.Random()
        self._seed: int | None = 0
        self._cached_states = cached_states
        self._applicable: dict[State, Sequence[GroundOperator]] = {}

    def reset(self, seed: int) -> State:
        """Go to the initial state."""
        self._seed = seed
        self._state = self.task.initial_state
        return self._state

    def actions(self) -> Sequence[GroundOperator]:
        """List the operators applicable now, in their fixed order."""
        found = self._applicable.get(self._state)
        if found is None:
            found = tuple(self.task.applicable(self._state))
            if len(self._applicable) >= self._cached_states:
                # A walk soon fills it again, so there is no need to choose which to drop.
                self._applicable.clear()
            if self._cached_states:
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
        """Write a state as bytes; any state over the vocabulary, reachable or not."""
        return state.to_bytes(self._width, "little")

    def restore(self, snapshot: Snapshot, seed: int) -> State:
        """Go back to a state; later draws depend on `seed` only."""
        self._seed = seed
        self._state = state = int.from_bytes(snapshot, "little")
        return state
