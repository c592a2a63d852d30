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

from capscope.assessment.time_limit import OutOfTime, until
from capscope.errors import ProblemError, RunError
from capscope.journal.draws import Draw, Execution, Start
from capscope.journal.run_meta import Budget
from capscope.logic import Intent
from capscope.problem import Allowance, Ending, Position, Problem
from capscope.problem.attempt import (
    observed_state,
    pursue,
    report_simulator_errors,
    simulator_error,
)
from capscope.problem.positions import SavedPosition, save_position
from capscope.seeds import child_seed
from capscope.strategy.base import Task


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

    An attempt that has not ended when the time is over is not an outcome of the agent: the answer
    has the executions before it.
    """
    begun = time.monotonic()
    deadline = begun + _most(order.budget.seconds)
    allowance = order.budget.allowance(within=common)
    seen: Seen = []
    try:
        cut, end = until(
            deadline, lambda: _make(problem, order, intents, allowance, deadline, seen)
        )
    except OutOfTime:
        cut, end = True, None
    made = tuple(seen)  # a thread that was left behind may still add to it
    executions = tuple(execution for execution, _ in made)
    steps = sum(attempt.simulator_steps for _, attempt in executions)
    tokens = sum(attempt.llm_tokens for _, attempt in executions)
    seconds = time.monotonic() - begun
    draw = Draw(executions, steps, tokens, seconds, cut, end, allowance.cost)
    return Answer(draw, {i: after for i, (_, after) in enumerate(made) if after is not None})


Seen = list[tuple[Execution, SavedPosition | None]]
"""The executions of a draw so far, each with the position after it if it took a step."""


def _make(
    problem: Problem,
    order: DrawOrder,
    intents: Sequence[Intent],
    allowance: Allowance,
    deadline: float,
    seen: Seen,
) -> tuple[bool, SavedPosition]:
    """Make a draw, and note what it shows at once: it may be interrupted.

    Return whether a budget cut it short, and the position at the end.
    """
    task, seed, budget = order.task, order.seed, order.budget
    position = _restored(problem, task.start, seed)
    walk = task.policy.walk()
    steps = tokens = 0
    cut = False
    most_executions, most_tokens = _most(budget.executions), _most(budget.llm_tokens)
    most_steps = _most(budget.simulator_steps)
    while not cut and (capability := walk(position.state)) is not None:
        if allowance.stopped.is_set():
            break
        number = len(seen)
        cut = (
            number >= most_executions
            or steps >= most_steps
            or tokens >= most_tokens
            or time.monotonic() >= deadline
        )
        if cut:
            break
        left = None if budget.simulator_steps is None else budget.simulator_steps - steps
        attempt, position = pursue(
            problem, intents[capability], position, child_seed(seed, number), left, allowance
        )
        if time.monotonic() >= deadline:  # the agent may have caught the interruption
            raise OutOfTime
        steps += attempt.simulator_steps
        tokens += attempt.llm_tokens
        after = _save(problem) if attempt.simulator_steps else None
        seen.append((Execution(capability, attempt), after))
        cut = attempt.ending is Ending.CUT
    return cut, _save(problem)


def retrace(task: Task, draw: Draw) -> None:
    """Let a policy observe a recorded draw, so that it goes on as if it had just made it."""
    walk, state = task.policy.walk(), task.start.state
    for capability, attempt in draw.executions:
        if walk(state) != capability:
            raise RunError(
                "the query that was interrupted is not the one that is chosen now, most likely "
                "because the run was begun by another version of capscope; start a new run"
            )
        state = attempt.trajectory[-1]
        if attempt.ending is Ending.CUT:
            return
    walk(state)  # the question that ended the draw


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
