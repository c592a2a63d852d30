"""Run jobs in parallel, each in its own process, and report progress.

A process pool would let one job leave state behind for the next, and a job under way could not be
stopped. Here every job has a fresh interpreter that ends with it, and an interruption stops all
jobs at once: what a run has observed is in its journal.
"""

from __future__ import annotations

import multiprocessing
import signal
import statistics
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, Protocol

from capscope.errors import CapscopeError

Report = Callable[[str], None]
"""Called by a job from time to time with its status."""
_SECONDS_BETWEEN_REPORTS = 0.5
_STARTED = "started"


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


def run_jobs(jobs: Sequence[Job], workers: int, show: ShowProgress) -> Iterator[Any]:
    """Run all jobs, `workers` at a time, and yield their results as they finish."""
    durations = Durations(jobs, workers)
    if workers == 1:
        yield from _run_here(jobs, durations, show)
    else:
        yield from _Processes(durations, show).run(deque(jobs), workers)


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

        report(_STARTED)
        try:
            result = job(report)
        except CapscopeError as error:
            raise _failure(job, str(error)) from error
        durations.add(job, time.perf_counter() - started)
        yield result


@dataclass
class _RunningJob:
    job: Job
    process: SpawnProcess
    status: str = _STARTED
    started: float = field(default_factory=time.perf_counter)


class _Processes:
    """The running jobs, by the connection to the process of each."""

    def __init__(self, durations: Durations, show: ShowProgress) -> None:
        self._durations = durations
        self._show = show
        self._context = multiprocessing.get_context("spawn")
        self._running: dict[Connection, _RunningJob] = {}

    def run(self, waiting: deque[Job], workers: int) -> Iterator[Any]:
        try:
            while waiting or self._running:
                while waiting and len(self._running) < workers:
                    self._start(waiting.popleft())
                self._show(self._progress())
                for ready in wait(list(self._running), timeout=_SECONDS_BETWEEN_REPORTS):
                    assert isinstance(ready, Connection)
                    finished, result = self._receive(ready)
                    if finished:
                        yield result
            self._show(self._progress())
        finally:
            for running in self._running.values():
                running.process.terminate()
            for connection, running in self._running.items():
                # A run directory stays locked until the process is gone.
                running.process.join()
                connection.close()

    def _start(self, job: Job) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(job, theirs), daemon=True)
        process.start()
        theirs.close()
        self._running[ours] = _RunningJob(job, process)

    def _receive(self, connection: Connection) -> tuple[bool, Any]:
        """Receive a status, a result or a failure; return whether the job is finished."""
        running = self._running[connection]
        try:
            kind, content = connection.recv()
        except (EOFError, OSError):  # the process ended before or while it sent something
            running.process.join()
            code = running.process.exitcode
            kind, content = "failed", f"its process ended with exit code {code}"
        if kind == "status":
            running.status = content
            return False, None
        del self._running[connection]
        connection.close()
        running.process.join()
        if kind == "failed":
            raise _failure(running.job, content)
        self._durations.add(running.job, time.perf_counter() - running.started)
        return True, content

    def _progress(self) -> BenchProgress:
        now = time.perf_counter()
        elapsed = sum(now - running.started for running in self._running.values())
        status = {running.job.name: running.status for running in self._running.values()}
        durations = self._durations
        left = durations.seconds_left(elapsed)
        return BenchProgress(durations.done, durations.total, status, left)


def _failure(job: Job, reason: str) -> CapscopeError:
    return CapscopeError(
        f"{job.name}: {reason}; all runs are saved, repeat the command to continue"
    )


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
            connection.send(("status", status))

    try:
        message = "done", job(report)
    except CapscopeError as error:
        message = "failed", str(error)
    except Exception:
        message = "failed", traceback.format_exc()
    with suppress(BrokenPipeError):
        connection.send(message)
