"""Workers that are threads: they help if an agent waits, for a model server for example."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

from capscope.assessment.ask import Answer, DrawOrder, ask
from capscope.assessment.workers.contract import Job, MakeProblem, WorkerStuck
from capscope.symbolic import Intent
from capscope.world import Allowance, Problem

T = TypeVar("T")


class ThreadWorker:
    """A copy of the problem in this process, used in whatever thread asks it to."""

    def __init__(self, problem: Problem, draw_timeout: float | None = None) -> None:
        self._problem = problem
        self._draw_timeout = draw_timeout

    def wait_until_ready(self) -> None:
        """Return at once: the problem is loaded."""

    def draw(self, order: DrawOrder, intents: Sequence[Intent], common: Allowance) -> Answer:
        """Make one draw, paid from `common`."""
        if self._draw_timeout is None:
            return ask(self._problem, order, intents, common)
        return _within(
            self._draw_timeout, lambda: ask(self._problem, order, intents, common), str(order)
        )

    def run(self, job: Job) -> object:
        """Do something else with the problem."""
        return job(self._problem)

    def stop(self) -> None:
        """Do nothing: a draw in this process sees by itself that its allowance is stopped."""

    def close(self) -> None:
        """Do nothing: a thread cannot be ended."""


class ThreadBackend:
    """Makes copies of the problem in this process; the first worker uses the one there is."""

    def __init__(
        self, problem: Problem, make: MakeProblem | None, draw_timeout: float | None = None
    ) -> None:
        self._first: Problem | None = problem
        self._make = make
        self._draw_timeout = draw_timeout
        self._lock = Lock()

    def start(self) -> ThreadWorker:
        """Load another copy."""
        with self._lock:
            problem, self._first = self._first, None
        if problem is None:
            assert self._make is not None, "without it, there is only one worker"
            problem = self._make()
        return ThreadWorker(problem, self._draw_timeout)

    def close(self) -> None:
        """Do nothing."""


class DaemonThreads:
    """Threads that do not keep the program from ending, unlike those of an executor.

    If one hangs in an agent's code, the program would otherwise wait for it at its end.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._threads: list[Thread] = []
        self._work: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()

    def begin(self, work: Callable[[], T]) -> Future[T]:
        """Begin something as soon as a thread is free, in the order of the calls."""
        future: Future[T] = Future()
        self._work.put((future, work))
        if len(self._threads) < self._number:
            self._threads.append(Thread(target=self._run, daemon=True))
            self._threads[-1].start()
        return future

    def close(self) -> None:
        """Let the threads end after what they are doing."""
        for _ in self._threads:
            self._work.put(None)

    def _run(self) -> None:
        while (item := self._work.get()) is not None:
            future, work = item
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as error:
                    future.set_exception(error)


def _within(seconds: float, work: Callable[[], T], what: str) -> T:
    thread = DaemonThreads(1)
    future = thread.begin(work)
    thread.close()
    try:
        return future.result(seconds)
    except TimeoutError:
        if future.done():  # the work itself raised it
            raise
        raise WorkerStuck(f"{what} took longer than {seconds:g} s") from None
