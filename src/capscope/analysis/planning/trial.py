"""A plan tried out on the agent, and what happened beside what was predicted.

Each try puts the world into the start and asks for what the plan says of the state that is seen
then, again and again, until the goal holds, no way on is known, or `longest` executions are made.
What is tried is not evidence of the assessment: it enters neither the journal nor the model.

**As predicted?** The prediction is uncertain itself, so comparing the share of successes with one
figure would call any failure of a plan with success 1 a refutation. Each forecast of the plan (see
`planning.chain`) gives a binomial distribution of the successes; averaged over forecasts they say
how probable so few, or so many, were by all that is known. Below 2.5 % the plan did worse,
or better, than predicted. Forecasts are of success within `longest` executions, as the tries are.
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

from capscope.analysis.planning.plan import Plan
from capscope.assessment.ask import Query, ask
from capscope.record.journal import Draw, Start
from capscope.record.usage import Budget
from capscope.seeds import child_seed
from capscope.statistics.beta import beta_cdf
from capscope.statistics.intervals import credible_interval
from capscope.strategy.base import Task
from capscope.symbolic import Intent, State
from capscope.world import Allowance, Ending, Problem
from capscope.world.positions import SavedPosition

_TRIES = -6  # the place of tries among the queries, which count from 0
_POSITION = -7  # the place, below the tries, that seeds the positions they start from
_TAIL = 0.025
_ROUNDING = 1e-9


class TryEnd(StrEnum):
    """Why a try ended."""

    REACHED = "goal reached"
    LOST = "no way known"
    TOO_LONG = "too long"


class Verdict(StrEnum):
    """What the tries say of the prediction."""

    AS_PREDICTED = "as predicted"
    LOWER = "lower than predicted"
    HIGHER = "higher than predicted"


class Move(NamedTuple):
    """A capability that was asked for in a try, and where that led."""

    before: State
    capability: Intent
    after: State
    ending: Ending


@dataclass(frozen=True)
class Try:
    """One execution of a plan."""

    moves: tuple[Move, ...]
    end: TryEnd


@dataclass(frozen=True)
class Effort:
    """How often a plan is tried, how long at most each time, by which seed, at what cost."""

    tries: int
    longest: int = 100
    """Executions in one try."""
    seed: int = 0
    allowance: Allowance | None = None
    """What may be spent on a language model."""


@dataclass(frozen=True)
class Trial:
    """What came of trying a plan, and what it says of the prediction."""

    plan: Plan
    tries: tuple[Try, ...]
    longest: int

    @property
    def successes(self) -> int:
        """The tries in which the goal was reached."""
        return sum(one.end is TryEnd.REACHED for one in self.tries)

    @property
    def executions(self) -> int:
        """The executions of all tries."""
        return sum(len(one.moves) for one in self.tries)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % credible interval of the success, by these tries alone."""
        return credible_interval(self.successes, len(self.tries))

    @property
    def predicted(self) -> float:
        """The success predicted of tries of at most this length."""
        return self._forecasts[0]

    @cached_property
    def _forecasts(self) -> list[float]:
        return self.plan.forecasts(self.longest)

    @cached_property
    def tail(self) -> float:
        """The probability, by all forecasts, of a result at least as far off on its side."""
        number, successes = len(self.tries), self.successes
        forecasts = self._forecasts[1:]
        if self._surplus < 0:
            return fmean(_at_most(successes, number, p) for p in forecasts)
        return fmean(1 - _at_most(successes - 1, number, p) for p in forecasts)

    @property
    def verdict(self) -> Verdict:
        """Whether the plan did as predicted."""
        # What agrees with the frequencies is as predicted, however cautious the forecasts are.
        if abs(self._surplus) < _ROUNDING or self.tail >= _TAIL:
            return Verdict.AS_PREDICTED
        return Verdict.LOWER if self._surplus < 0 else Verdict.HIGHER

    @property
    def _surplus(self) -> float:
        return self.successes - self.predicted * len(self.tries)

    @property
    def unforeseen(self) -> Counter[Move]:
        """What happened that the model gives no probability, and how often."""
        return Counter(
            move
            for one in self.tries
            for move in one.moves
            if all(move.after != b.after for b in self.plan.steps[move.before].branches)
        )

    @property
    def lost_in(self) -> Counter[State]:
        """The states in which tries ended because no way on was known."""
        lost = (one for one in self.tries if one.end is TryEnd.LOST)
        return Counter(one.moves[-1].after for one in lost)


def try_out(
    problem: Problem, plan: Plan, positions: Sequence[SavedPosition], effort: Effort
) -> Iterator[Try]:
    """Try a plan from positions of its start, drawn evenly; fewer times if the allowance ends."""
    rng = random.Random(child_seed(effort.seed, _TRIES, _POSITION))
    asked = list(dict.fromkeys(step.capability for step in plan.steps.values()))
    following = _Following(plan, {intent: i for i, intent in enumerate(asked)})
    starts = [Start(plan.start, rng.choice(positions)) for _ in range(effort.tries)]
    query = Query(_TRIES, [Task(start, following) for start in starts], effort.seed)
    budget = Budget(executions=effort.longest)
    for index in range(effort.tries):
        draw = ask(problem, query, index, asked, budget, effort.allowance).draw
        if any(attempt.ending is Ending.CUT for _, attempt in draw.executions):
            return
        yield _try(plan, draw, asked)


def _try(plan: Plan, draw: Draw, asked: Sequence[Intent]) -> Try:
    moves = tuple(
        Move(attempt.trajectory[0], asked[capability], attempt.trajectory[-1], attempt.ending)
        for capability, attempt in draw.executions
    )
    if moves and plan.goal.holds(moves[-1].after):
        return Try(moves, TryEnd.REACHED)
    return Try(moves, TryEnd.TOO_LONG if draw.cut else TryEnd.LOST)


def _at_most(successes: int, number: int, p: float) -> float:
    """Return the probability of at most so many successes."""
    if successes < 0:
        return 0.0
    return 1.0 if successes >= number else beta_cdf(1 - p, number - successes, successes + 1)


@dataclass(frozen=True)
class _Following:
    """A plan as a policy that can be put to the agent."""

    plan: Plan
    number: dict[Intent, int]

    def walk(self) -> _Following:
        # What is asked next depends on the state at hand alone.
        return self

    def next(self, state: State) -> int | None:
        step = None if self.plan.goal.holds(state) else self.plan.steps.get(state)
        return None if step is None else self.number[step.capability]

    def describe(self) -> dict[str, Any]:
        return {"kind": "plan", "goal": str(self.plan.goal)}
