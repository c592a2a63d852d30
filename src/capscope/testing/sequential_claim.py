"""Test a claim about an agent by running it: as few executions as the claim needs.

Each execution starts from a reset of its own, so executions are independent. After each one the
sequential test (`stats/sequential_test.py`) says whether the claim is decided. The pytest plugin
limits how many executions all tests together, and one test, may make; without it there is no limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar

from capscope.errors import CapscopeError
from capscope.logic import Effect, Intent, Literal
from capscope.problem import Attempt, Problem
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


@dataclass(frozen=True)
class SequentialClaim:
    """That an agent achieves an intent, asked for after a reset."""

    problem: Problem
    intent: Intent
    when: Sequence[Literal]
    test: SequentialTest
    seed: int = 0

    @property
    def cost(self) -> str:
        """How many executions the test takes, in words."""
        test = self.test
        usual = max(test.expected_draws(test.high), test.expected_draws(test.low))
        return f"about {usual:.0f} executions if it is clear, at most {test.most_draws}"

    @only_by_itself()
    def failure(self) -> list[str]:
        """Run the agent until the claim is decided; return why it fails, nothing if it holds."""
        achieved = made = 0
        outcomes: Counter[str] = Counter()
        failures: Counter[str] = Counter()
        vocabulary = self.problem.vocabulary
        for start, seed in self._starts():
            if not ExecutionBudget.current.spend():
                return [
                    self._headline("undecided"),
                    f"  the budget of executions is spent: {achieved} of {made} achieved it; this "
                    f"test takes {self.cost}",
                ]
            attempt, end = pursue(self.problem, self.intent, start, seed)
            held = self.intent.holds(end.state, vocabulary)
            achieved, made = achieved + held, made + 1
            changes = Effect.between(start.state, end.state).literals(vocabulary)
            said = ", ".join(map(str, changes)) or "nothing changed"
            outcomes[f"{'achieved' if held else 'not achieved'}: {said}"] += 1
            if not held:
                failures[_ending(attempt)] += 1
            verdict = self.test.verdict(achieved, made)
            if verdict is not None:
                break
        if verdict:
            return []
        return [
            self._headline("not shown"),
            f"  {achieved} of {counted(made, 'execution')} achieved it",
            *(f"    {n} × {text}" for text, n in outcomes.most_common(_MOST_SHOWN)),
            *(f"  failed by: {n} × {text}" for text, n in failures.most_common(_MOST_SHOWN)),
            f"  the last execution has seed {seed}",
        ]

    def _headline(self, verdict: str) -> str:
        when = f" when {' and '.join(map(str, self.when))}" if self.when else ""
        test = self.test
        return (
            f"{self.intent}{when}: {verdict} (decides between at least {test.high:g} and at most "
            f"{test.low:g}, each wrong in at most {test.error_rate:.0%})"
        )

    def _starts(self) -> Iterator[tuple[Position, int]]:
        """Yield the positions of resets in which the claim is open, and the seeds of attempts."""
        problem, useless = self.problem, 0
        holds = problem.vocabulary.test(self.when)
        number = 0
        while useless < _MOST_RESETS:
            place = child_seed(self.seed, number)
            number += 1
            observation = problem.simulator.reset(child_seed(place, 0))
            state = problem.abstraction(observation)
            if not holds(state) or self.intent.holds(state, problem.vocabulary):
                useless += 1
                continue
            useless = 0
            yield Position(observation, state), child_seed(place, 1)
        raise CapscopeError(
            f"{_MOST_RESETS} resets of {problem.name} never led to a state in which "
            f"{' and '.join(map(str, self.when)) or 'nothing more'} holds and {self.intent} does "
            "not; change the start of the problem, or judge a finished run"
        )


def _ending(attempt: Attempt) -> str:
    return f"{attempt.ending}{': ' + attempt.detail if attempt.detail else ''}"
