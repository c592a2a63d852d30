"""Draws of one query in parallel, with the same journal as one after another.

Draws are returned in order, and all randomness in a draw is seeded by its place, so the
number and place of the workers (`workers`) change only the time.

What a language model will use is not known in advance. Parallel draws therefore spend from a common
allowance and stop when it is spent, at most one call each beyond it. Which draws are cut is
random, so the first draw that exceeds the allowance is made again, alone, from the cache.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from threading import Event

from capscope.assessment.ask import Answer, Query
from capscope.assessment.workers import Workers
from capscope.journal.run_meta import Budget, Usage
from capscope.logic import Intent
from capscope.problem import Allowance, Limits

Begin = Callable[[int, Budget, Allowance], Future[Answer]]
"""Begins a draw, by its number, with what is left and what it shares with others."""


class WorkerPool:
    """Workers, and what the draws that they make may spend."""

    def __init__(self, workers: Workers, longest: int, limits: Limits) -> None:
        self._workers = workers
        self._under_way: list[Future[Answer]] = []
        self._stopped = Event()
        self._paid = Allowance(stopped=self._stopped)  # everything that is paid
        self._recorded_cost = 0.0
        self._most_executions = longest
        self._most_steps = longest * limits.horizon
        # Of the draws so far; there is no bound on those to come.
        self._most_tokens: float | None = None
        self._most_cost: float | None = None

    @property
    def unrecorded_cost(self) -> float:
        """What was paid for draws that were not returned, or not recorded."""
        return max(0.0, self._paid.cost - self._recorded_cost)

    def answers(
        self, query: Query, first: int, intents: list[Intent], left: Callable[[], Budget | None]
    ) -> Generator[Answer, None, None]:
        """Yield the answers to the draws of a query from `first` on, in order.

        `left` returns what is left of the budget after the answers so far, None if nothing is.
        Near its end draws are made one at a time, so that it is not exceeded.
        """
        index = first
        self._under_way = []
        with self._ended_early():

            def begin(number: int, budget: Budget, common: Allowance) -> Future[Answer]:
                order = query.order(number, budget)
                self._under_way.append(self._workers.begin_draw(order, intents, common))
                return self._under_way[-1]

            while index < len(query.tasks) and (budget := left()) is not None:
                numbers = range(index, len(query.tasks))
                alone = query.in_order or min(self._workers.number, len(numbers)) == 1
                if alone or self._tight(budget, 2):
                    order = query.order(index, budget)
                    found = iter([self._workers.draw(order, intents, self._paid)])
                else:
                    found = self._in_parallel(numbers, left, begin)
                for answer in found:
                    self._most_tokens = max(self._most_tokens or 0, answer.draw.llm_tokens)
                    self._most_cost = max(self._most_cost or 0, answer.draw.llm_cost)
                    index += 1
                    yield answer
                    # Only now: the caller may fail to record it.
                    self._recorded_cost += answer.draw.llm_cost

    def _in_parallel(
        self, numbers: range, left: Callable[[], Budget | None], begin: Begin
    ) -> Iterator[Answer]:
        """Yield the answers to draws made at once, up to the one that spends what is left.

        A worker that is done takes the next draw at once; it does not wait for the others.
        """
        common = (left() or Budget()).allowance(within=self._paid)
        ahead = deque(numbers)
        under_way: deque[Future[Answer]] = deque()
        for number in numbers:
            rest = left()
            while ahead and rest is not None and self._may_begin(rest, len(under_way), common):
                under_way.append(begin(ahead.popleft(), rest, common))
            if not under_way:
                return
            answer = under_way.popleft().result()
            if rest is not None and common.spent and not _fits(answer, rest):
                wait(under_way)
                # What was paid for the others is paid; they are made later, for nothing.
                alone = rest.left_after(Usage(llm_cost=self.unrecorded_cost))
                answer = begin(number, alone, self._paid).result()
                yield replace(answer, draw=replace(answer.draw, llm_cost=self.unrecorded_cost))
                return
            yield answer

    def _may_begin(self, left: Budget, under_way: int, common: Allowance) -> bool:
        """Return whether one more draw may begin besides those under way."""
        # A draw that waits for a worker would count its seconds from too late a start.
        waits = under_way >= self._workers.number and left.seconds is not None
        return not (waits or common.spent or self._tight(left, under_way + 1))

    @contextmanager
    def _ended_early(self) -> Iterator[None]:
        """Let draws under way end after their current attempt when something ends the run."""
        try:
            yield
        except BaseException:
            self._stopped.set()
            self._workers.stop(self._under_way)
            raise

    def _tight(self, budget: Budget, draws: int) -> bool:
        """Return whether parallel draws might spend more than is left."""
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
    """Return whether a draw would have been the same with what is left, and leaves some of it."""
    draw = answer.draw
    most = left.allowance()
    return not draw.cut and draw.llm_tokens < most.most_tokens and draw.llm_cost < most.most_cost
