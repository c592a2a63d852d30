"""Put a query to the agent, one draw after another.

A draw restores the start, walks the policy, and lets the agent pursue what the policy asks for.
Everything random in it is seeded by its place (query, draw, execution), so draws are independent,
can be repeated, and do not care in which order or process they run.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from capscope.assessment.simulator_errors import report_simulator_errors, simulator_error
from capscope.errors import ProblemError
from capscope.record.journal import Draw, Execution
from capscope.record.usage import Budget
from capscope.seeds import child_seed
from capscope.strategy.policy import Policy
from capscope.strategy.starts import Start
from capscope.symbolic import Intent
from capscope.world import Allowance, Ending, Position, Problem
from capscope.world.attempt import pursue


class Task(NamedTuple):
    """What a draw is to do: a policy, and where to begin."""

    start: Start
    policy: Policy


@dataclass(frozen=True, slots=True)
class Query:
    """The tasks of its draws, and the place in the run that seeds them.

    In the paper's queries all draws have one task; an adaptive batch has one for each draw.
    """

    number: int
    tasks: Sequence[Task]
    seed: int
    """The run's seed."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished draw, with the positions met on the way."""

    draw: Draw
    snapshots: dict[int, bytes]
    """By number of the execution after which it was taken."""


def ask(
    problem: Problem,
    query: Query,
    index: int,
    intents: list[Intent],
    budget: Budget,
    common: Allowance | None = None,
) -> Answer:
    """Execute one draw; stop within it when `budget`, what is left for it, is spent.

    Draws made side by side have a `common` allowance for what a language model may cost. When that
    is stopped the draw ends after the attempt at hand and is not to be recorded.
    """
    begun = time.perf_counter()
    seed = child_seed(query.seed, query.number, index)
    task = query.tasks[index]
    position = _restored(problem, task.start, seed)
    walk = task.policy.walk()
    executions: list[Execution] = []
    snapshots: dict[int, bytes] = {}
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
            snapshots[len(executions)] = _snapshot(problem)
        executions.append(Execution(capability, attempt))
        if attempt.ending is Ending.CUT:
            cut = True
            break
    seconds = time.perf_counter() - begun
    end = _snapshot(problem)
    draw = Draw(tuple(executions), steps, tokens, seconds, cut, end, allowance.cost)
    return Answer(draw, snapshots)


def _most(allowed: float | None) -> float:
    return inf if allowed is None else allowed


def _snapshot(problem: Problem) -> bytes:
    # Taken after every execution: a context manager would show.
    try:
        return problem.simulator.snapshot()
    except Exception as error:
        raise simulator_error(problem, error, "when asked for a snapshot") from error


def _restored(problem: Problem, start: Start, seed: int) -> Position:
    with report_simulator_errors(problem, "when a position was restored"):
        observation = problem.simulator.restore(start.snapshot, seed)
        state = problem.abstraction(observation)
    if state != start.state:
        differing = problem.vocabulary.holding(state ^ start.state)
        raise ProblemError(
            f"restoring a snapshot of {problem.name} gave another state than it was taken in "
            f"({', '.join(map(str, differing))} differ); run `capscope check` on the problem, mend "
            "restore() and resume"
        )
    return Position(observation, state)
