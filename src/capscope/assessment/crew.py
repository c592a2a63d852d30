"""Draws of one query side by side, with the same journal as one after another.

Each worker is a thread with a problem of its own. That pays where an agent or a simulator waits for
something: a model server, a subprocess, a robot. Draws are handed back in order, whichever comes
back first, and everything random in a draw is seeded by its place, so the number of workers changes
nothing but the time.

What a language model will use is not known before. Draws side by side therefore spend from a common
allowance and stop when it is spent, at most one call each beyond it. Which of them that hits is a
matter of luck, so the first draw that does not fit into what those before it left is made again,
by itself: its answers come out of the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from threading import Event

from capscope.assessment.ask import Answer, Query, ask
from capscope.assessment.usage import Budget, Usage
from capscope.symbolic import Intent
from capscope.world import Problem


class Crew:
    """Problems, all alike, on which draws are executed."""

    def __init__(self, problems: Sequence[Problem], longest: int) -> None:
        self._problems = problems
        self._stopped = Event()
        self._most_executions = longest
        self._most_steps = longest * problems[0].limits.horizon
        # Of the draws so far; there is no bound on those to come.
        self._most_tokens: float | None = None
        self._most_cost: float | None = None

    def answers(
        self, query: Query, first: int, intents: list[Intent], left: Callable[[], Budget | None]
    ) -> Iterator[Answer]:
        """Yield the answers to the draws of a query from `first` on, in order.

        `left` tells what is left of the budget once the answers so far are accounted for, None if
        nothing is. Towards its end draws are made one by one, so that it is not exceeded.
        """
        index = first
        with ThreadPoolExecutor(len(self._problems)) as pool, self._ended_early(pool):
            while index < len(query.tasks) and (budget := left()) is not None:
                width = min(len(self._problems), len(query.tasks) - index)
                if width == 1 or self._tight(budget, width):
                    found = iter([ask(self._problems[0], query, index, intents, budget)])
                else:
                    numbers = range(index, index + width)
                    found = self._side_by_side(pool, query, numbers, intents, left)
                for answer in found:
                    self._most_tokens = max(self._most_tokens or 0, answer.draw.llm_tokens)
                    self._most_cost = max(self._most_cost or 0, answer.draw.llm_cost)
                    index += 1
                    yield answer

    def _side_by_side(
        self,
        pool: ThreadPoolExecutor,
        query: Query,
        numbers: range,
        intents: list[Intent],
        left: Callable[[], Budget | None],
    ) -> Iterator[Answer]:
        """Yield the answers to draws made at once, up to the one that spends what is left."""
        budget = left() or Budget()
        common = budget.allowance(stopped=self._stopped)
        found = pool.map(
            lambda problem, number: ask(problem, query, number, intents, budget, common),
            self._problems,
            numbers,
        )
        for number, answer in zip(numbers, found, strict=False):
            rest = left()
            if rest is not None and common.spent and not _fits(answer, rest):
                # What the others were paid for is paid for; they are made later, for nothing.
                wasted = answer.draw.llm_cost + sum(other.draw.llm_cost for other in found)
                alone = rest.left_after(Usage(llm_cost=wasted))
                again = ask(self._problems[0], query, number, intents, alone)
                yield replace(
                    again, draw=replace(again.draw, llm_cost=again.draw.llm_cost + wasted)
                )
                return
            yield answer

    @contextmanager
    def _ended_early(self, pool: ThreadPoolExecutor) -> Iterator[None]:
        """Let draws under way end after the attempt at hand when something ends the run."""
        try:
            yield
        except BaseException:
            self._stopped.set()
            pool.shutdown(cancel_futures=True)
            raise

    def _tight(self, budget: Budget, draws: int) -> bool:
        """Say whether draws side by side might spend more than is left."""
        each = {
            "executions": self._most_executions,
            "simulator_steps": self._most_steps,
            "llm_tokens": inf if self._most_tokens is None else 2 * self._most_tokens,
            "llm_cost": inf if self._most_cost is None else 2 * self._most_cost,
            "seconds": 0,
            "queries": 0,
        }
        return any(draws * each[name] > left for name, left in budget.limits)


def _fits(answer: Answer, left: Budget) -> bool:
    """Say whether a draw would have been the same with what is left, and leaves something of it."""
    draw = answer.draw
    most = left.allowance()
    return not draw.cut and draw.llm_tokens < most.most_tokens and draw.llm_cost < most.most_cost
