"""The agent and its simulator as a system under learning: reset, request, observe.

This is all that AALpy may do. It has no snapshots: the only position it can return to is the
initial one. Every request goes through this module, so the counts are exact.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import inf

from capscope.errors import ProblemError
from capscope.logic import Intent, State
from capscope.problem import Position, Problem
from capscope.problem.attempt import pursue, report_simulator_errors
from capscope.seeds import child_seed
from capscope_experiments.baselines import BudgetSpent


class AgentSystem:
    """An agent that is asked for one capability after another, from the initial position.

    Reset it before the first request.
    """

    def __init__(
        self,
        problem: Problem,
        intents: Sequence[Intent],
        seed: int,
        max_executions: int | None = None,
        max_seconds: float | None = None,
    ) -> None:
        self.intents = tuple(intents)
        self.executions = self.resets = self.simulator_steps = 0
        self._problem = problem
        self._seed = seed
        self._most = inf if max_executions is None else max_executions
        self._seconds = inf if max_seconds is None else max_seconds
        self._begun = time.perf_counter()
        self._in_trace = 0
        self._first: State | None = None
        self._position: Position

    @property
    def state(self) -> State:
        """The current symbolic state."""
        return self._position.state

    def reset(self) -> State:
        """Return to the initial position; the number of the trace determines the seed."""
        problem = self._problem
        self.resets += 1
        self._in_trace = 0
        with report_simulator_errors(problem, "when it was reset"):
            observation = problem.simulator.reset(child_seed(self._seed, self.resets, 0))
            state = problem.abstraction(observation)
        self._position = Position(observation, state)
        if self._first is None:
            self._first = state
        if state != self._first:
            differing = problem.vocabulary.holding(state ^ self._first)
            raise ProblemError(
                f"two resets of {problem.name} gave two states "
                f"({', '.join(map(str, differing))} differ); AALpy needs resets that always lead "
                "to one state"
            )
        return state

    def request(self, capability: int) -> State:
        """Ask the agent for a capability; return the state in which its attempt ended."""
        if self.executions >= self._most:
            raise BudgetSpent(f"{self.executions:,} executions")
        if time.perf_counter() - self._begun >= self._seconds:
            raise BudgetSpent(f"{self._seconds:g} seconds")
        seed = child_seed(self._seed, self.resets, self._in_trace + 1)
        intent = self.intents[capability]
        attempt, self._position = pursue(self._problem, intent, self._position, seed)
        self.executions += 1
        self._in_trace += 1
        self.simulator_steps += attempt.simulator_steps
        return self.state
