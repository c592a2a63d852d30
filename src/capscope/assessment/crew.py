"""Draws of one query side by side, with the same journal as one after another.

Each worker is a thread with a problem of its own. That pays where an agent or a simulator waits for
something: a model server, a subprocess, a robot. Draws are handed back in order, whichever comes
back first, and everything random in a draw is seeded by its place, so the number of workers changes
nothing but the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from math import inf
from threading import Event

from capscope.assessment.ask import Answer, Query, ask
from capscope.assessment.usage import Budget
from capscope.symbolic import Intent
from capscope.world import Problem


class Crew:
    """Problems, all alike, on which draws are executed."""

    def __init__(self, problems: Sequence[Problem], longest: int) -> None:
        self._problems = problems
        self._stopped = Event()
        self._most_executions = longest
        self._most_steps = longest * problems[0].limits.horizon
        self._most_tokens = 0  # of the draws so far; there is no bound on those to come

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
                    width = 1
                else:
                    found = pool.map(
                        lambda problem, number, most=budget: ask(
                            problem, query, number, intents, most, self._stopped
                        ),
                        self._problems[:width],
                        range(index, index + width),
                    )
                for answer in found:
                    self._most_tokens = max(self._most_tokens, answer.draw.llm_tokens)
                    yield answer
                index += width

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
            "llm_tokens": 2 * self._most_tokens or inf,
            "seconds": 0,
            "queries": 0,
        }
        return any(draws * each[name] > left for name, left in budget.limits)
