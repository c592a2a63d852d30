"""Workers that are threads: they help if an agent waits, for a model server for example."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from capscope.assessment.ask import Answer, DrawOrder, ask
from capscope.assessment.daemon_threads import LeftBehind, within
from capscope.assessment.workers.contract import Job, MakeProblem, WorkerStuck
from capscope.logic import Intent
from capscope.problem import Allowance, Problem


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
        try:
            return within(self._draw_timeout, lambda: ask(self._problem, order, intents, common))
        except LeftBehind:
            raise WorkerStuck(f"{order} took longer than {self._draw_timeout:g} s") from None

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
