"""The agent in its world as a system under learning: reset it, ask for a capability, look.

This is the whole of what a peer may do. It has no snapshots: the only position it can return to is
the initial one. Everything asked of the agent passes here, so what is counted is what was served.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import inf

from capscope.assessment.simulator_errors import report_simulator_errors
from capscope.errors import ProblemError
from capscope.seeds import child_seed
from capscope.symbolic import Intent, State
from capscope.world import Position, Problem
from capscope.world.attempt import pursue


class BudgetSpent(Exception):  # noqa: N818 - it ends a run, it is no defect
    """Raised at the execution that the budget does not allow; says which budget."""


class AgentSystem:
    """An agent that answers requests, one after another, from the initial position on.

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
        """The symbolic state that the world is in."""
        return self._position.state

    def reset(self) -> State:
        """Go to the initial position; chance comes from the number of the trace."""
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
                f"({', '.join(map(str, differing))} differ); AALpy needs a world that always "
                "begins in one"
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
