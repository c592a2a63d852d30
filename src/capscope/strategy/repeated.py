"""The paper's queries: one policy from one start, executed again and again.

A search chooses a policy for a given start; starts are tried one after another until one promises
to be informative. The run ends when a number of queries in a row taught nothing new.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from capscope.model import ExtremeModels, Learned
from capscope.record.journal import QueryRecord, Start
from capscope.record.settings import Settings
from capscope.record.stop_reason import StopKind, StopReason
from capscope.seeds import child_seed
from capscope.strategy.base import (
    BegunQuery,
    DrawEnd,
    QueryChoice,
    QueryResult,
    StrategyContext,
    Task,
)
from capscope.strategy.policy import PolicySearch, QueryPlan
from capscope.strategy.starts import WalkEnd, end_to_continue, state_to_start_from

_START = -3  # the place, below a query, that seeds the choice of its start
_POLICY = -4  # the place, below a query, that seeds its search


class _Candidate(NamedTuple):
    start: Start
    distance: int = 0


class RepeatedStrategy:
    """Algorithm 1 of the paper, for any search."""

    def __init__(self, context: StrategyContext, search: PolicySearch, longest_draw: int) -> None:
        self.longest_draw = longest_draw
        self._context = context
        self._search = search
        self._models = ExtremeModels(context.graph)
        self._quiet_queries = 0
        self._last_informative = False
        self._ends: list[WalkEnd] = []

    def next(self, number: int, begun: BegunQuery | None = None) -> QueryChoice:
        """Search for an informative policy from one start after another."""
        settings, seed = self._context.settings, self._context.seed
        xi = revisitation_bonus(self._quiet_queries, settings)

        def plan_from(start: Start) -> QueryPlan:
            rng = random.Random(child_seed(seed, number, _POLICY))
            return self._search.choose(self._models, start.state, xi, rng)

        if begun is None:
            (start, distance), plan = self._promising_start(number, plan_from)
            record = QueryRecord(start, distance, xi, plan.predicted, plan.informative)
        else:
            record = begun.record
            plan = plan_from(record.start)
        return QueryChoice(record, [Task(record.start, plan.policy)] * settings.draws)

    def _promising_start(
        self, number: int, plan_from: Callable[[Start], QueryPlan]
    ) -> tuple[_Candidate, QueryPlan]:
        """Search from one start after another until a query promises to be informative.

        Searching costs the agent nothing. If no start promises anything, the first one is taken.
        """
        first: tuple[_Candidate, QueryPlan] | None = None
        for candidate in self._starts(number):
            plan = plan_from(candidate.start)
            first = first or (candidate, plan)
            if plan.informative:
                return candidate, plan
        assert first is not None, "there is always a start"
        return first

    def _starts(self, number: int) -> Iterator[_Candidate]:
        """Yield where a query may start, the preferred one first; at least one.

        The first queries of a run start at the initial positions, one at each.
        """
        initial = self._context.positions.initial
        if number < len(initial):
            starts = iter([_Candidate(initial[number])])
        else:
            starts = self._later_starts(number)
        return itertools.islice(starts, self._context.settings.starts)

    def _later_starts(self, number: int) -> Iterator[_Candidate]:
        context = self._context
        rng = random.Random(child_seed(context.seed, number, _START))
        most = context.reset_every or context.settings.reuse_changes
        if context.reset_every or self._last_informative:
            end = end_to_continue(self._ends, context.graph, most, rng)
            if end is not None:
                yield _Candidate(Start(end.state, end.position), end.distance)
        while not context.reset_every:
            state = state_to_start_from(context.graph, rng)
            if state is None:
                break
            yield _Candidate(context.positions.choose(state, rng))
        yield _Candidate(rng.choice(context.positions.initial))

    def observe(self, result: QueryResult) -> None:
        """Count queries without news, and note where the draws ended."""
        news = is_news(result.learned, self._context.settings)
        self._quiet_queries = 0 if news else self._quiet_queries + 1
        self._last_informative = result.informative
        self._ends = [
            WalkEnd(
                end.state,
                end.position,
                result.distance + self._distance(end, result.informative),
            )
            for end in result.ends
        ]

    def _distance(self, end: DrawEnd, informative: bool) -> int:
        """Return how far a draw went: symbolic changes, or executions if the problem is reset.

        There a query that promised nothing counts as one of full length, however short it was: the
        sooner a world with nothing new is reset, the better.
        """
        if not self._context.reset_every:
            return end.changes
        return max(end.executions, 0 if informative else self._context.settings.depth)

    def finished(self) -> StopReason | None:
        """Stop after a number of queries in a row without news."""
        quiet = self._quiet_queries >= self._context.settings.patience
        return StopReason(StopKind.NO_NEWS) if quiet else None

    def describe(self, choice: QueryChoice) -> dict[str, Any]:
        """Describe the one policy of the query."""
        return dict(choice.tasks[0].policy.describe())

    def status(self, record: QueryRecord) -> Mapping[str, str]:
        """Say how near the stop is."""
        patience = self._context.settings.patience
        return {
            "queries without news": f"{self._quiet_queries} of {patience}",
            "predicted disagreement": f"{record.predicted:.3g}",
        }


def is_news(learned: Learned, settings: Settings) -> bool:
    """Return whether a query taught something: a new transition, or a probability that moved."""
    return learned.new_transitions > 0 or learned.largest_shift > settings.shift


def revisitation_bonus(quiet_queries: int, settings: Settings) -> float:
    """Return ξ: the longer nothing was learned, the more it pays to come back."""
    return settings.xi * min(quiet_queries, settings.patience) / settings.patience
