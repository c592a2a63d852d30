"""Run jobs in parallel, each in a process of its own, and report progress.

If jobs shared a process, one could leave state behind for the next, and a job under way could not
be stopped. Here every job has a worker of its own that ends with it, on this machine or in a Ray
cluster, and an interruption stops all jobs at once: what a run has observed is in its journal. For
the same reason a job whose worker is lost is begun again, and goes on where it was.
"""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Literal, NamedTuple, Protocol

from capscope.assessment.remote_workers import FarSide, WorkerLost, conclude
from capscope.assessment.worker_links import Link, ProcessLink
from capscope.assessment.workers import MOST_LOSSES
from capscope.errors import CapscopeError

Report = Callable[[str], None]
"""Called by a job from time to time with its status."""
_SECONDS_BETWEEN_REPORTS = 0.5
STARTED = "started"
"""The status of a job that has reported none."""


class Job(Protocol):
    """Something to do; with several workers it is sent to another process."""

    @property
    def name(self) -> str:
        """The name shown while it runs."""

    @property
    def kind(self) -> str:
        """Jobs of the same kind take about the same time."""

    def __call__(self, report: Report) -> Any:
        """Do it, and report the status from time to time."""


@dataclass(frozen=True)
class BenchProgress:
    """The progress of a list of jobs."""

    done: int
    total: int
    running: Mapping[str, str]
    """The last status of each running job, by name."""
    seconds_left: float | None
    """Estimated from finished jobs; None before the first."""


ShowProgress = Callable[[BenchProgress], None]


def show_nothing(progress: BenchProgress) -> None:
    """Ignore the progress."""


def run_jobs(
    jobs: Sequence[Job],
    workers: int,
    show: ShowProgress,
    connect: Callable[[], Link] | None = None,
) -> Iterator[Any]:
    """Run all jobs and yield their results as they finish.

    Args:
        jobs: What is to be done.
        workers: The number of jobs at a time.
        show: Called with the progress.
        connect: Starts a worker for a job; None: a process of this machine, or this process if
            there is one job at a time.

    Returns:
        The results, in the order in which jobs finish.
    """
    if connect is None and workers == 1:
        return _run_here(jobs, Durations(jobs, 1), show)
    return _JobPool(connect or ProcessLink, Durations(jobs, workers), show).run(jobs, workers)


class Durations:
    """How long finished jobs took, and an estimate for the others."""

    def __init__(self, jobs: Sequence[Job], workers: int) -> None:
        self._waiting = [job.kind for job in jobs]
        self._workers = workers
        self._seconds: dict[str, list[float]] = {}
        self.total = len(jobs)
        self.done = 0

    def add(self, job: Job, seconds: float) -> None:
        """Record a finished job."""
        self._waiting.remove(job.kind)
        self._seconds.setdefault(job.kind, []).append(seconds)
        self.done += 1

    def seconds_left(self, elapsed: float) -> float | None:
        """Estimate the time for all other jobs; `elapsed` seconds of it have passed."""
        if not self.done:
            return None
        overall = statistics.fmean(s for kind in self._seconds.values() for s in kind)
        expected = sum(
            statistics.fmean(self._seconds[kind]) if kind in self._seconds else overall
            for kind in self._waiting
        )
        return max(0.0, expected - elapsed) / self._workers


def _run_here(jobs: Sequence[Job], durations: Durations, show: ShowProgress) -> Iterator[Any]:
    for job in jobs:
        started = time.perf_counter()

        def report(status: str, job: Job = job, started: float = started) -> None:
            left = durations.seconds_left(time.perf_counter() - started)
            show(BenchProgress(durations.done, durations.total, {job.name: status}, left))

        report(STARTED)
        try:
            result = job(report)
        except CapscopeError as error:
            raise _failure(job, str(error)) from error
        durations.add(job, time.perf_counter() - started)
        yield result


class _JobEvent(NamedTuple):
    """Something that happened to a running job."""

    running: _RunningJob
    kind: Literal["status", "done", "failed", "lost"]
    content: Any
    """A status, the result, or a reason."""


@dataclass(eq=False)
class _RunningJob:
    job: Job
    link: Link
    events: SimpleQueue[_JobEvent]
    status: str = STARTED
    started: float = field(default_factory=time.perf_counter)

    def run(self) -> None:
        """Have the job done, and say what happens to it."""

        def say(kind: Literal["status", "done", "failed", "lost"], content: Any) -> None:
            self.events.put(_JobEvent(self, kind, content))

        try:
            self.link.send(partial(_reporting, self.job))
            say("done", conclude(self.link, {"report": partial(say, "status")}))
        except WorkerLost as error:
            say("lost", str(error))
        except Exception as error:  # whatever it is, the job has failed
            say("failed", str(error))


def _reporting(job: Job, far: FarSide) -> Any:
    """Do a job in a worker; of what it reports, send one status every half a second."""
    reported = -math.inf

    def report(status: str) -> None:
        nonlocal reported
        now = time.monotonic()
        if now - reported >= _SECONDS_BETWEEN_REPORTS:
            reported = now
            far.ask("report", status)

    return job(report)


class _JobPool:
    """Jobs that run in workers of their own; those that are lost run again."""

    def __init__(
        self, connect: Callable[[], Link], durations: Durations, show: ShowProgress
    ) -> None:
        self._connect = connect
        self._durations = durations
        self._show = show
        self._running: set[_RunningJob] = set()
        self._events: SimpleQueue[_JobEvent] = SimpleQueue()
        self._losses: Counter[str] = Counter()

    def run(self, jobs: Sequence[Job], workers: int) -> Iterator[Any]:
        waiting = deque(jobs)
        try:
            while waiting or self._running:
                while waiting and len(self._running) < workers:
                    self._start(waiting.popleft())
                self._show(self._progress())
                try:
                    running, kind, content = self._events.get(timeout=_SECONDS_BETWEEN_REPORTS)
                except Empty:
                    continue
                if kind == "status":
                    running.status = content
                    continue
                self._running.remove(running)
                running.link.close()
                if kind == "lost" and self._may_run_again(running.job):
                    waiting.appendleft(running.job)
                    continue
                if kind != "done":
                    raise _failure(running.job, content)
                self._durations.add(running.job, time.perf_counter() - running.started)
                yield content
            self._show(self._progress())
        finally:
            for running in self._running:
                # A run directory stays locked until the process is gone.
                running.link.close()

    def _start(self, job: Job) -> None:
        running = _RunningJob(job, self._connect(), self._events)
        self._running.add(running)
        Thread(target=running.run, daemon=True).start()

    def _may_run_again(self, job: Job) -> bool:
        self._losses[job.name] += 1
        return self._losses[job.name] < MOST_LOSSES

    def _progress(self) -> BenchProgress:
        now = time.perf_counter()
        elapsed = sum(now - running.started for running in self._running)
        status = {running.job.name: running.status for running in self._running}
        durations = self._durations
        left = durations.seconds_left(elapsed)
        return BenchProgress(durations.done, durations.total, status, left)


def _failure(job: Job, reason: str) -> CapscopeError:
    return CapscopeError(
        f"{job.name}: {reason}; all runs are saved, repeat the command to continue"
    )
