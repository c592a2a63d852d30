"""Try a plan on the agent, and compare the result with the prediction.

Each attempt restores a start position and asks for what the plan says in the current state, until
the goal holds, the plan does not cover the state, or `longest` executions are made. Trials enter
neither the journal nor the model.

The prediction is uncertain itself. So each forecast of the plan (`markov_chain`) gives a binomial
distribution of the successes; their mean is the probability of a result at least this extreme.
Below 2.5 %, the plan did worse, or better, than predicted. Otherwise the result is as predicted
only if the interval of the attempts contains the prediction: if the plan rests on few executions,
the result may differ from it clearly and still be possible.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from statistics import fmean
from typing import Any, NamedTuple

from capscope.assessment.ask import Query, ask
from capscope.insight.planning import Plan, PlanStep
from capscope.journal.draws import Draw, Start
from capscope.journal.run_meta import Budget
from capscope.logic import Intent, State
from capscope.model import Provenance
from capscope.problem import Allowance, Ending, Problem
from capscope.problem.positions import SavedPosition
from capscope.seeds import child_seed
from capscope.stats.beta import beta_cdf, credible_interval
from capscope.strategy.base import Task, Walk

_ATTEMPTS = -6  # in place of a query number (those count from 0), for seeds
_POSITION = -7  # child of that seed, for the start positions
_TAIL = 0.025
_ROUNDING = 1e-9


class PlanAttemptEnd(StrEnum):
    """Why an attempt ended."""

    REACHED = "goal reached"
    LOST = "no path known"
    TOO_LONG = "too long"


class TrialVerdict(StrEnum):
    """How the result compares with the prediction."""

    AS_PREDICTED = "as predicted"
    POSSIBLE = "differs, within the uncertainty of the prediction"
    LOWER = "lower than predicted"
    HIGHER = "higher than predicted"


class PlanExecution(NamedTuple):
    """A capability that was asked for, and where that led."""

    before: State
    capability: Intent
    after: State
    ending: Ending


@dataclass(frozen=True)
class PlanAttempt:
    """One attempt to carry out a plan."""

    executions: tuple[PlanExecution, ...]
    end: PlanAttemptEnd


@dataclass(frozen=True)
class TrialSettings:
    """How often to try a plan, and the limits."""

    tries: int
    longest: int = 100
    """Maximum number of executions in one attempt."""
    seed: int = 0
    allowance: Allowance | None = None
    """Limits on the cost of a language model."""


@dataclass(frozen=True)
class Trial:
    """The attempts at a plan, compared with its prediction."""

    plan: Plan
    tries: tuple[PlanAttempt, ...]
    longest: int

    @property
    def successes(self) -> int:
        """The number of attempts that reached the goal."""
        return sum(one.end is PlanAttemptEnd.REACHED for one in self.tries)

    @property
    def executions(self) -> int:
        """The number of executions in all attempts."""
        return sum(len(one.executions) for one in self.tries)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % credible interval of the success, from these attempts alone."""
        return credible_interval(self.successes, len(self.tries))

    @property
    def predicted(self) -> float:
        """The predicted success within `longest` executions."""
        return self._forecasts[0]

    @cached_property
    def _forecasts(self) -> list[float]:
        return self.plan.forecasts(self.longest)

    @cached_property
    def tail(self) -> float:
        """The probability, over all forecasts, of a result at least this extreme on its side."""
        number, successes = len(self.tries), self.successes
        forecasts = self._forecasts[1:]
        if self._surplus < 0:
            return fmean(_at_most(successes, number, p) for p in forecasts)
        return fmean(1 - _at_most(successes - 1, number, p) for p in forecasts)

    @property
    def verdict(self) -> TrialVerdict:
        """Whether the plan did as predicted."""
        # A result equal to the frequencies is as predicted, even if the forecasts are cautious.
        if abs(self._surplus) >= _ROUNDING and self.tail < _TAIL:
            return TrialVerdict.LOWER if self._surplus < 0 else TrialVerdict.HIGHER
        low, high = self.interval
        contained = low - _ROUNDING <= self.predicted <= high + _ROUNDING
        return TrialVerdict.AS_PREDICTED if contained else TrialVerdict.POSSIBLE

    @property
    def _surplus(self) -> float:
        return self.successes - self.predicted * len(self.tries)

    @property
    def unforeseen(self) -> Counter[PlanExecution]:
        """Executions with an outcome that the model does not have, with counts."""
        return Counter(
            execution
            for execution in self._all_executions()
            if all(execution.after != after for _, after in self._step(execution).branches)
        )

    @property
    def inferred_executions(self) -> int:
        """The number of executions of inferred steps."""
        return sum(map(self._is_inferred, self._all_executions()))

    @property
    def as_inferred(self) -> int:
        """Those of them with an outcome that the model infers."""
        return self.inferred_executions - sum(
            count for execution, count in self.unforeseen.items() if self._is_inferred(execution)
        )

    @property
    def refuted(self) -> bool:
        """Whether an inference was wrong, and fewer attempts succeeded than predicted."""
        return self._surplus < 0 and self.as_inferred < self.inferred_executions

    def _step(self, execution: PlanExecution) -> PlanStep:
        return self.plan.steps[execution.before]

    def _is_inferred(self, execution: PlanExecution) -> bool:
        return self._step(execution).provenance is Provenance.INFERRED

    def _all_executions(self) -> Iterator[PlanExecution]:
        return (execution for one in self.tries for execution in one.executions)

    @property
    def lost_in(self) -> Counter[State]:
        """The states in which attempts ended because the plan does not cover them."""
        lost = (one for one in self.tries if one.end is PlanAttemptEnd.LOST)
        return Counter(one.executions[-1].after for one in lost)


def attempt_plan(
    problem: Problem, plan: Plan, positions: Sequence[SavedPosition], settings: TrialSettings
) -> Iterator[PlanAttempt]:
    """Try a plan from random positions of its start; stop early if the allowance is spent."""
    rng = random.Random(child_seed(settings.seed, _ATTEMPTS, _POSITION))
    asked = list(dict.fromkeys(step.capability for step in plan.steps.values()))
    policy = _PlanAsPolicy(plan, {intent: i for i, intent in enumerate(asked)})
    starts = [Start(plan.start, rng.choice(positions)) for _ in range(settings.tries)]
    query = Query(_ATTEMPTS, [Task(start, policy) for start in starts], settings.seed)
    budget = Budget(executions=settings.longest)
    for index in range(settings.tries):
        draw = ask(problem, query.order(index, budget), asked, settings.allowance).draw
        if any(attempt.ending is Ending.CUT for _, attempt in draw.executions):
            return
        yield _attempt(plan, draw, asked)


def _attempt(plan: Plan, draw: Draw, asked: Sequence[Intent]) -> PlanAttempt:
    executions = tuple(
        PlanExecution(made.trajectory[0], asked[c], made.trajectory[-1], made.ending)
        for c, made in draw.executions
    )
    if executions and plan.reached(executions[-1].after):
        return PlanAttempt(executions, PlanAttemptEnd.REACHED)
    return PlanAttempt(executions, PlanAttemptEnd.TOO_LONG if draw.cut else PlanAttemptEnd.LOST)


def _at_most(successes: int, number: int, p: float) -> float:
    if successes < 0:
        return 0.0
    return 1.0 if successes >= number else beta_cdf(1 - p, number - successes, successes + 1)


@dataclass(frozen=True)
class _PlanAsPolicy:
    plan: Plan
    number: dict[Intent, int]

    def walk(self) -> Walk:
        # What is asked next depends only on the current state.
        return self._next

    def _next(self, state: State) -> int | None:
        step = None if self.plan.reached(state) else self.plan.steps.get(state)
        return None if step is None else self.number[step.capability]

    def describe(self) -> dict[str, Any]:
        return {"kind": "plan", "goal": str(self.plan.goal)}
