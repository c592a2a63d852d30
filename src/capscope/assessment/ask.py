"""Execute one draw of a query.

A draw restores the start, walks the policy, and lets the agent pursue what the policy asks for.
All its randomness is seeded by its place (query, draw, execution), so draws are independent, can be
repeated, and do not depend on the order or the process in which they are made.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from capscope.assessment.simulator_errors import report_simulator_errors, simulator_error
from capscope.errors import ProblemError, RunError
from capscope.record.journal import Draw, Execution, Start
from capscope.record.usage import Budget
from capscope.seeds import child_seed
from capscope.strategy.base import Task
from capscope.symbolic import Intent
from capscope.world import Allowance, Ending, Position, Problem
from capscope.world.attempt import observed_state, pursue
from capscope.world.positions import SavedPosition, save_position


@dataclass(frozen=True, slots=True)
class Query:
    """The tasks of its draws, and the place in the run that seeds them."""

    number: int
    tasks: Sequence[Task]
    seed: int
    """The run's seed."""
    in_order: bool = False
    """Whether a draw depends on those before it."""

    def order(self, index: int, budget: Budget) -> DrawOrder:
        """Return the order for one of its draws, with what is left for it."""
        seed = child_seed(self.seed, self.number, index)
        return DrawOrder((self.number, index), self.tasks[index], seed, budget)


@dataclass(frozen=True, slots=True)
class DrawOrder:
    """Everything that one draw depends on, but for the intents."""

    place: tuple[int, int]
    """Number of the query, and of the draw within it."""
    task: Task
    seed: int
    budget: Budget
    """What is left for the draw."""

    def __str__(self) -> str:
        return f"draw {self.place[1]} of query {self.place[0]}"


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished draw, with the positions met on the way."""

    draw: Draw
    positions: dict[int, SavedPosition]
    """By number of the execution after which it was saved."""


def ask(
    problem: Problem, order: DrawOrder, intents: Sequence[Intent], common: Allowance | None = None
) -> Answer:
    """Execute one draw; stop within it when what is left for it is spent.

    Draws made in parallel have a `common` allowance for what a language model may cost. When it
    is stopped, the draw ends after the current attempt and must not be recorded.
    """
    begun = time.perf_counter()
    task, seed, budget = order.task, order.seed, order.budget
    position = _restored(problem, task.start, seed)
    walk = task.policy.walk()
    executions: list[Execution] = []
    positions: dict[int, SavedPosition] = {}
    steps = tokens = 0
    allowance = budget.allowance(within=common)
    most_executions, most_tokens = _most(budget.executions), _most(budget.llm_tokens)
    most_steps, deadline = _most(budget.simulator_steps), begun + _most(budget.seconds)
    cut = False
    while (capability := walk.next(position.state)) is not None:
        if allowance.stopped.is_set():
            break
        cut = (
            len(executions) >= most_executions
            or steps >= most_steps
            or tokens >= most_tokens
            or time.perf_counter() >= deadline
        )
        if cut:
            break
        left = None if budget.simulator_steps is None else budget.simulator_steps - steps
        attempt_seed = child_seed(seed, len(executions))
        attempt, position = pursue(
            problem, intents[capability], position, attempt_seed, left, allowance
        )
        steps += attempt.simulator_steps
        tokens += attempt.llm_tokens
        if attempt.simulator_steps:
            positions[len(executions)] = _save(problem)
        executions.append(Execution(capability, attempt))
        if attempt.ending is Ending.CUT:
            cut = True
            break
    seconds = time.perf_counter() - begun
    end = _save(problem)
    draw = Draw(tuple(executions), steps, tokens, seconds, cut, end, allowance.cost)
    return Answer(draw, positions)


def retrace(task: Task, draw: Draw) -> None:
    """Let a policy observe a recorded draw, so that it goes on as if it had just made it."""
    walk, state = task.policy.walk(), task.start.state
    for capability, attempt in draw.executions:
        if walk.next(state) != capability:
            raise RunError(
                "the query that was interrupted is not the one that is chosen now, most likely "
                "because the run was begun by another version of capscope; start a new run"
            )
        state = attempt.trajectory[-1]
        if attempt.ending is Ending.CUT:
            return
    walk.next(state)  # the question that ended the draw


def _most(allowed: float | None) -> float:
    return inf if allowed is None else allowed


def _save(problem: Problem) -> SavedPosition:
    # Called after every execution: a context manager would be slow.
    try:
        return save_position(problem.simulator)
    except ProblemError:
        raise
    except Exception as error:
        raise simulator_error(problem, error, "when asked for a snapshot") from error


def _restored(problem: Problem, start: Start, seed: int) -> Position:
    with report_simulator_errors(problem, "when a position was restored"):
        observation = problem.simulator.restore(start.position.snapshot, seed)
        state = observed_state(problem, observation)
    if state != start.state:
        differing = problem.vocabulary.holding(state ^ start.state)
        raise ProblemError(
            f"restoring a snapshot of {problem.name} gave another state than before "
            f"({', '.join(map(str, differing))} differ); run `capscope check` on the problem, fix "
            "restore() and resume"
        )
    return Position(observation, state)
