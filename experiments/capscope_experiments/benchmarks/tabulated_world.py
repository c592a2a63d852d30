"""Worlds given by a function: what an agent does in each state for each intent.

The agent draws the outcome and the simulator goes there, so the truth is known by construction.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from capscope import Intent, Limits, Problem, Vocabulary
from capscope.logic import State

Outcomes = Callable[[State, Intent], Mapping[State, float]]
"""The distribution over the state in which an attempt ends."""


class StateSimulator:
    """A simulator whose action is the state to go to."""

    def __init__(self, initial: State, bits: int) -> None:
        self._initial = self._state = initial
        self._bytes = (bits + 7) // 8

    def reset(self, seed: int) -> State:
        self._state = self._initial
        return self._state

    def step(self, action: State) -> State:
        self._state = action
        return self._state

    def actions(self) -> Sequence[State]:
        return (self._state,)

    def snapshot(self) -> bytes:
        return self._state.to_bytes(self._bytes, "big")

    def restore(self, snapshot: bytes, seed: int) -> State:
        self._state = int.from_bytes(snapshot, "big")
        return self._state


@dataclass
class OutcomeAgent:
    """An agent that draws the outcome of an attempt; `outcomes` may be replaced during a run."""

    outcomes: Outcomes

    def begin(self, intent: Intent, seed: int) -> "OutcomeAttempt":
        return OutcomeAttempt(self.outcomes, intent, random.Random(seed))


class OutcomeAttempt:
    def __init__(self, outcomes: Outcomes, intent: Intent, rng: random.Random) -> None:
        self._outcomes, self._intent, self._rng = outcomes, intent, rng
        self._done = False

    def act(self, observation: State) -> State | None:
        if self._done:
            return None
        self._done = True
        ends = self._outcomes(observation, self._intent)
        return self._rng.choices(list(ends), list(ends.values()))[0]


@dataclass(frozen=True)
class SymbolicState:
    """The abstraction: an observation is a symbolic state already."""

    vocabulary: Vocabulary

    def __call__(self, observation: State) -> State:
        return observation


@dataclass(frozen=True)
class OutcomeTruth:
    """The exact model of an agent given by its outcomes."""

    initial: State
    asked: Sequence[Intent]
    given: Outcomes

    def reachable_states(self) -> Sequence[State]:
        states = {self.initial: None}
        queue = list(states)
        for state in queue:
            for intent in self.asked:
                for after, share in self.given(state, intent).items():
                    if share > 0 and after not in states:
                        states[after] = None
                        queue.append(after)
        return queue

    def intents(self) -> Sequence[Intent]:
        return self.asked

    def outcomes(self, state: State, intent: Intent) -> Mapping[State, float]:
        return self.given(state, intent)


def tabulated_problem(
    name: str, vocabulary: Vocabulary, initial: State, intents: Sequence[Intent], outcomes: Outcomes
) -> Problem:
    """Make a problem of what its agent does for these intents."""
    return Problem(
        name,
        StateSimulator(initial, len(vocabulary.atoms)),
        OutcomeAgent(outcomes),
        SymbolicState(vocabulary),
        Limits(horizon=1),
        OutcomeTruth(initial, tuple(intents), outcomes),
        intents=tuple(map(str, intents)),
    )
