"""Run jobs in parallel, each in a process of its own, and report progress.

A process pool would let one job leave state behind for the next, and a job under way could not be
stopped. Here every job has a fresh interpreter that ends with it, on this machine or in a Ray
cluster, and an interruption stops all jobs at once: what a run has observed is in its journal. For
the same reason a job whose process is lost is begun again, and goes on where it was.
"""

from __future__ import annotations

import multiprocessing
import signal
import statistics
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from capscope.errors import CapscopeError

Report = Callable[[str], None]
"""Called by a job from time to time with its status."""
_SECONDS_BETWEEN_REPORTS = 0.5
STARTED = "started"
"""The status of a job that has reported none."""
MOST_LOSSES = 3
"""So often the process of a job may be lost."""


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


class JobMessage(NamedTuple):
    """What a running job, or the place where it runs, says."""

    kind: Literal["status", "done", "failed", "lost"]
    content: Any
    """A status, the result, or a reason."""


class RunningJob(Protocol):
    """A job under way in a process of its own."""

    def close(self) -> None:
        """End its process, if it has not ended, and wait until it has."""


RunningT = TypeVar("RunningT", bound=RunningJob)


class JobPlace(Protocol[RunningT]):
    """Where jobs run."""

    def start(self, job: Job) -> RunningT:
        """Start a job in a fresh process."""

    def messages(
        self, running: Sequence[RunningT], seconds: float
    ) -> Sequence[tuple[RunningT, JobMessage]]:
        """Wait so long for messages, and return what has come."""


ShowProgress = Callable[[BenchProgress], None]


def show_nothing(progress: BenchProgress) -> None:
    """Ignore the progress."""


def run_jobs(jobs: Sequence[Job], workers: int, show: ShowProgress) -> Iterator[Any]:
    """Run all jobs, `workers` at a time, and yield their results as they finish."""
    if workers == 1:
        yield from _run_here(jobs, Durations(jobs, 1), show)
    else:
        yield from run_jobs_in(LocalProcesses(), jobs, workers, show)


def run_jobs_in(
    place: JobPlace[Any], jobs: Sequence[Job], workers: int, show: ShowProgress
) -> Iterator[Any]:
    """Run all jobs in processes of a place, and yield their results as they finish."""
    yield from _JobPool(place, Durations(jobs, workers), show).run(deque(jobs), workers)


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
        """Estimate the time for all other jobs, of which `elapsed` seconds have passed."""
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


@dataclass
class _Progressing:
    job: Job
    status: str = STARTED
    started: float = field(default_factory=time.perf_counter)


class _JobPool:
    """Jobs that run in a place; those that are lost run again."""

    def __init__(self, place: JobPlace[Any], durations: Durations, show: ShowProgress) -> None:
        self._place = place
        self._durations = durations
        self._show = show
        self._running: dict[RunningJob, _Progressing] = {}
        self._losses: Counter[str] = Counter()

    def run(self, waiting: deque[Job], workers: int) -> Iterator[Any]:
        try:
            while waiting or self._running:
                while waiting and len(self._running) < workers:
                    job = waiting.popleft()
                    self._running[self._place.start(job)] = _Progressing(job)
                self._show(self._progress())
                for running, message in self._place.messages(
                    list(self._running), _SECONDS_BETWEEN_REPORTS
                ):
                    if message.kind == "status":
                        self._running[running].status = message.content
                        continue
                    ended = self._running.pop(running)
                    running.close()
                    if message.kind == "lost" and self._may_run_again(ended.job):
                        waiting.appendleft(ended.job)
                        continue
                    if message.kind != "done":
                        raise _failure(ended.job, message.content)
                    self._durations.add(ended.job, time.perf_counter() - ended.started)
                    yield message.content
            self._show(self._progress())
        finally:
            for running in self._running:
                # A run directory stays locked until the process is gone.
                running.close()

    def _may_run_again(self, job: Job) -> bool:
        self._losses[job.name] += 1
        return self._losses[job.name] < MOST_LOSSES

    def _progress(self) -> BenchProgress:
        now = time.perf_counter()
        elapsed = sum(now - running.started for running in self._running.values())
        status = {running.job.name: running.status for running in self._running.values()}
        durations = self._durations
        left = durations.seconds_left(elapsed)
        return BenchProgress(durations.done, durations.total, status, left)


@dataclass(frozen=True, eq=False)
class LocalJob:
    """A job in a process of this machine, and the connection to it."""

    process: SpawnProcess
    connection: Connection

    def close(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.join()
        self.connection.close()


class LocalProcesses:
    """Starts jobs in fresh processes of this machine."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")

    def start(self, job: Job) -> LocalJob:
        """Start a job."""
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(job, theirs), daemon=True)
        process.start()
        theirs.close()
        return LocalJob(process, ours)

    def messages(
        self, running: Sequence[LocalJob], seconds: float
    ) -> list[tuple[LocalJob, JobMessage]]:
        """Wait so long for messages, and return what has come."""
        ready = wait([job.connection for job in running], timeout=seconds)
        return [(job, self._received(job)) for job in running if job.connection in ready]

    def _received(self, job: LocalJob) -> JobMessage:
        try:
            message: JobMessage = job.connection.recv()
        except (EOFError, OSError):  # the process ended before or while it sent something
            job.process.join()
            return JobMessage("lost", f"its process ended with exit code {job.process.exitcode}")
        if message.kind != "status":
            job.process.join()
        return message


def _failure(job: Job, reason: str) -> CapscopeError:
    return CapscopeError(
        f"{job.name}: {reason}; all runs are saved, repeat the command to continue"
    )


def outcome_of(job: Job, report: Report) -> JobMessage:
    """Do a job, and return its result or why it failed."""
    try:
        return JobMessage("done", job(report))
    except CapscopeError as error:
        return JobMessage("failed", str(error))
    except Exception:
        return JobMessage("failed", traceback.format_exc())


def _serve(job: Job, connection: Connection) -> None:
    """Do a job in its own process."""
    # Ctrl-C reaches all processes of a terminal; the parent decides and stops the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    last = 0.0

    def report(status: str) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last >= _SECONDS_BETWEEN_REPORTS:
            last = now
            connection.send(JobMessage("status", status))

    message = outcome_of(job, report)
    with suppress(BrokenPipeError):
        connection.send(message)
