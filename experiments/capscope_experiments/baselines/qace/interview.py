"""Queries about one capability: set the state, let the agent pursue the intent, observe the end.

QACE names the symbolic state of a query. Its own code looks up the answer to a precondition query
in the domain file, at no cost; here every answer is an execution of the agent and is counted. The
state need not be reachable: flipping one literal of a Blocksworld state can give a hand that is
both empty and full. The agent is asked anyway.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from capscope.errors import ProblemError
from capscope.journal.run_meta import Budget, Usage
from capscope.logic import Intent, State
from capscope.problem import Ending, Position, Problem, Snapshot
from capscope.problem.attempt import pursue, report_simulator_errors
from capscope.seeds import child_seed
from capscope_experiments.baselines import BudgetSpent


@runtime_checkable
class SettableSimulator(Protocol):
    """A simulator that can be set to any symbolic state: the inverse of the abstraction."""

    def snapshot_of(self, state: State) -> Snapshot:
        """Describe a position that the abstraction maps to this state, reachable or not."""


@dataclass
class Interview:
    """The queries about one capability, the answers of the agent, and their cost."""

    problem: Problem
    simulator: SettableSimulator
    intent: Intent
    seed: int
    """An answer depends only on this seed, the state and the number of the execution."""
    budget: Budget
    """What may be spent on this capability."""
    answers: dict[State, Counter[State]] = field(default_factory=dict)
    """For each state that was set, the states in which the executions ended."""

    def __post_init__(self) -> None:
        self._begun = time.perf_counter()
        self._queries = self._executions = self._steps = self._tokens = 0

    @property
    def usage(self) -> Usage:
        """What was spent so far."""
        seconds = time.perf_counter() - self._begun
        return Usage(self._queries, self._executions, self._steps, self._tokens, seconds)

    def ask(self, state: State, runs: int) -> Counter[State]:
        """Return where at least `runs` executions from a state ended."""
        tally = self.answers.setdefault(state, Counter())
        if (done := tally.total()) < runs:
            self._queries += 1
            for run in range(done, runs):
                tally[self._execute(state, child_seed(self.seed, state, run))] += 1
        return tally

    def _execute(self, state: State, seed: int) -> State:
        spent = self.budget.spent_by(usage := self.usage)
        if spent is not None:
            raise BudgetSpent(spent)
        position = self._set(state, seed)
        left = self.budget.left_after(usage).simulator_steps
        attempt, end = pursue(self.problem, self.intent, position, child_seed(seed, 0), left)
        self._executions += 1
        self._steps += attempt.simulator_steps
        self._tokens += attempt.llm_tokens
        if attempt.ending is Ending.CUT:
            raise BudgetSpent("simulator_steps")
        return end.state

    def _set(self, state: State, seed: int) -> Position:
        problem = self.problem
        with report_simulator_errors(problem, "when a state was set"):
            observation = problem.simulator.restore(self.simulator.snapshot_of(state), seed)
            seen = problem.abstraction(observation)
        if seen != state:
            differing = ", ".join(map(str, problem.vocabulary.holding(seen ^ state)))
            raise ProblemError(
                f"a state of {problem.name} that was set looks different ({differing}); fix "
                "snapshot_of() of the simulator, or remove it if states cannot be set"
            )
        return Position(observation, seen)
