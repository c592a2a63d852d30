"""Test a claim about an agent by running it: as few executions as the claim needs.

Each execution starts from a reset of its own, so executions are independent. After each one the
sequential test (`stats/sequential_test.py`) says whether the claim is decided. The pytest plugin
limits how many executions all tests together, and one test, may make; without it there is no limit.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf
from typing import ClassVar

from capscope.errors import CapscopeError
from capscope.logic import Effect, Intent, Literal
from capscope.problem import Problem
from capscope.problem.attempt import Position, only_by_itself, pursue
from capscope.seeds import child_seed
from capscope.stats.sequential_test import SequentialTest
from capscope.wording import counted

_MOST_RESETS = 200
"""Resets in a row that do not lead to where the claim is about."""
_MOST_SHOWN = 4


class ExecutionBudget:
    """Executions that are allowed and made, perhaps within a larger budget.

    >>> budget = ExecutionBudget(most=2)
    >>> budget.spend(), budget.spend(), budget.spend()
    (True, True, False)
    """

    current: ClassVar[ExecutionBudget]
    """The budget of the running test."""

    def __init__(self, most: float = inf, within: ExecutionBudget | None = None) -> None:
        self.most = most
        self.made = 0
        self.within = within

    @property
    def left(self) -> float:
        """The executions that may still be made."""
        own = self.most - self.made
        return own if self.within is None else min(own, self.within.left)

    def spend(self) -> bool:
        """Count one execution; return False if none is left."""
        if self.left < 1:
            return False
        self.made += 1
        if self.within is not None:
            self.within.made += 1
        return True


ExecutionBudget.current = ExecutionBudget()


def when_text(conditions: Sequence[Literal]) -> str:
    """Return the condition of a claim, as it is written after its subject."""
    return f" when {' and '.join(map(str, conditions))}" if conditions else ""


@only_by_itself()
def run_until_decided(
    problem: Problem, intent: Intent, when: Sequence[Literal], test: SequentialTest, seed: int
) -> list[str]:
    """Run an agent until it is decided whether it achieves an intent; return why it does not.

    Args:
        problem: The agent and its world.
        intent: What is asked for after each reset.
        when: The literals that hold in the starts that count.
        test: Decides after each execution.
        seed: Seeds resets and executions.

    Returns:
        The lines of the message; none if the claim holds.
    """
    claim = f"{intent}{when_text(when)}"
    decides = (
        f"(decides between at least {test.high:g} and at most {test.low:g}, each wrong in at most "
        f"{test.error_rate:.0%})"
    )
    achieved = made = 0
    outcomes: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    for start, attempt_seed in _starts(problem, intent, when, seed):
        if not ExecutionBudget.current.spend():
            usual = max(test.expected_draws(test.high), test.expected_draws(test.low))
            return [
                f"{claim}: undecided {decides}",
                f"  the budget of executions is spent: {achieved} of {made} achieved it; this test "
                f"takes about {usual:.0f} executions if it is clear, at most {test.most_draws}",
            ]
        attempt, end = pursue(problem, intent, start, attempt_seed)
        held = intent.holds(end.state, problem.vocabulary)
        achieved, made = achieved + held, made + 1
        changes = Effect.between(start.state, end.state).literals(problem.vocabulary)
        said = ", ".join(map(str, changes)) or "nothing changed"
        outcomes[f"{'achieved' if held else 'not achieved'}: {said}"] += 1
        if not held:
            failures[f"{attempt.ending}{': ' + attempt.detail if attempt.detail else ''}"] += 1
        verdict = test.verdict(achieved, made)
        if verdict is not None:
            break
    if verdict:
        return []
    return [
        f"{claim}: not shown {decides}",
        f"  {achieved} of {counted(made, 'execution')} achieved it",
        *(f"    {n} × {text}" for text, n in outcomes.most_common(_MOST_SHOWN)),
        *(f"  failed by: {n} × {text}" for text, n in failures.most_common(_MOST_SHOWN)),
        f"  the last execution has seed {attempt_seed}",
    ]


def _starts(
    problem: Problem, intent: Intent, when: Sequence[Literal], seed: int
) -> Iterator[tuple[Position, int]]:
    """Yield the positions of resets in which the claim is open, and the seeds of attempts."""
    holds, useless = problem.vocabulary.test(when), 0
    for number in itertools.count():
        place = child_seed(seed, number)
        observation = problem.simulator.reset(child_seed(place, 0))
        state = problem.abstraction(observation)
        if holds(state) and not intent.holds(state, problem.vocabulary):
            useless = 0
            yield Position(observation, state), child_seed(place, 1)
            continue
        useless += 1
        if useless == _MOST_RESETS:
            raise CapscopeError(
                f"{_MOST_RESETS} resets of {problem.name} never led to a state in which "
                f"{' and '.join(map(str, when)) or 'nothing more'} holds and {intent} does not; "
                "change the start of the problem, or judge a finished run"
            )
