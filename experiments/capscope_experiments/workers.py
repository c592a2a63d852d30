"""Whole jobs side by side, each in a process of its own, with word of how far they have come.

A pool that hands many jobs to few processes lets one job leave something behind for the next, and
cannot be ended while a job is under way. Here every job has a fresh interpreter, which ends with
it, and an interruption ends them all at once: what a run has seen is in its journal.
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

Hear = Callable[[str], None]
"""Is told now and then how far a job has come."""
_SECONDS_BETWEEN_WORDS = 0.5


class Job(Protocol):
    """Something to be done; with several workers it is sent to another process."""

    @property
    def name(self) -> str:
        """What it is called while it runs."""

    @property
    def kind(self) -> str:
        """What jobs that take about as long have in common."""

    def __call__(self, hear: Hear) -> Any:
        """Do it, and say now and then how far it has come."""


@dataclass(frozen=True)
class Standing:
    """How far a list of jobs has come."""

    done: int
    total: int
    running: Mapping[str, str]
    """What each job under way last said, by name."""
    seconds_left: float | None
    """Judged by the jobs that are over; None before the first."""


Tell = Callable[[Standing], None]


def say_nothing(standing: Standing) -> None:
    """Tell nobody."""


def carry_out(jobs: Sequence[Job], workers: int, tell: Tell) -> Iterator[Any]:
    """Do all jobs, so many at a time, and yield what each returned, as they end."""
    durations = Durations(jobs, workers)
    if workers == 1:
        yield from _one_by_one(jobs, durations, tell)
        return
    yield from _Team(durations, tell).work(deque(jobs), workers)


class Durations:
    """How long jobs took, and what that says of those to come."""

    def __init__(self, jobs: Sequence[Job], workers: int) -> None:
        self._waiting = [job.kind for job in jobs]
        self._workers = workers
        self._seconds: dict[str, list[float]] = {}
        self.total = len(jobs)
        self.done = 0

    def add(self, job: Job, seconds: float) -> None:
        """Take in a job that is over."""
        self._waiting.remove(job.kind)
        self._seconds.setdefault(job.kind, []).append(seconds)
        self.done += 1

    def left(self, gone: float) -> float | None:
        """Say how long the rest will take, of which `gone` seconds were spent already."""
        if not self.done:
            return None
        usual = statistics.fmean(s for kind in self._seconds.values() for s in kind)
        expected = sum(
            statistics.fmean(self._seconds[kind]) if kind in self._seconds else usual
            for kind in self._waiting
        )
        return max(0.0, expected - gone) / self._workers


def _one_by_one(jobs: Sequence[Job], durations: Durations, tell: Tell) -> Iterator[Any]:
    for job in jobs:
        begun = time.perf_counter()

        def hear(word: str, job: Job = job, begun: float = begun) -> None:
            left = durations.left(time.perf_counter() - begun)
            tell(Standing(durations.done, durations.total, {job.name: word}, left))

        hear("begun")
        try:
            result = job(hear)
        except CapscopeError as error:
            raise _failed(job, str(error)) from error
        durations.add(job, time.perf_counter() - begun)
        yield result


@dataclass
class _Worker:
    job: Job
    process: SpawnProcess
    words: str = "begun"
    begun: float = field(default_factory=time.perf_counter)


class _Team:
    """The processes under way."""

    def __init__(self, durations: Durations, tell: Tell) -> None:
        self._durations = durations
        self._tell = tell
        self._context = multiprocessing.get_context("spawn")
        self._workers: dict[Connection, _Worker] = {}

    def work(self, waiting: deque[Job], most: int) -> Iterator[Any]:
        try:
            while waiting or self._workers:
                while waiting and len(self._workers) < most:
                    self._begin(waiting.popleft())
                self._tell(self._standing())
                for ready in wait(list(self._workers), timeout=_SECONDS_BETWEEN_WORDS):
                    assert isinstance(ready, Connection)
                    over, result = self._listen(ready)
                    if over:
                        yield result
            self._tell(self._standing())
        finally:
            for worker in self._workers.values():
                worker.process.terminate()
            for connection, worker in self._workers.items():
                # A run directory is free again only once the process is gone.
                worker.process.join()
                connection.close()

    def _begin(self, job: Job) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(job, theirs), daemon=True)
        process.start()
        theirs.close()
        self._workers[ours] = _Worker(job, process)

    def _listen(self, connection: Connection) -> tuple[bool, Any]:
        """Hear what a worker has to say: a word on the way, its result, or that it failed."""
        worker = self._workers[connection]
        try:
            what, content = connection.recv()
        except (EOFError, OSError):  # it ended before, or while, it said something
            worker.process.join()
            code = worker.process.exitcode
            what, content = "failed", f"its process ended with exit code {code}"
        if what == "word":
            worker.words = content
            return False, None
        del self._workers[connection]
        connection.close()
        worker.process.join()
        if what == "failed":
            raise _failed(worker.job, content)
        self._durations.add(worker.job, time.perf_counter() - worker.begun)
        return True, content

    def _standing(self) -> Standing:
        now = time.perf_counter()
        gone = sum(now - worker.begun for worker in self._workers.values())
        running = {worker.job.name: worker.words for worker in self._workers.values()}
        durations = self._durations
        return Standing(durations.done, durations.total, running, durations.left(gone))


def _failed(job: Job, reason: str) -> CapscopeError:
    return CapscopeError(f"{job.name}: {reason}; what was seen is kept, the same command goes on")


def _serve(job: Job, connection: Connection) -> None:
    """Do a job in a process of its own."""
    # Ctrl-C reaches all processes of a terminal; the first one decides, and ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    last = 0.0

    def hear(word: str) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last >= _SECONDS_BETWEEN_WORDS:
            last = now
            connection.send(("word", word))

    try:
        message = "done", job(hear)
    except CapscopeError as error:
        message = "failed", str(error)
    except Exception:
        message = "failed", traceback.format_exc()
    with suppress(BrokenPipeError):
        connection.send(message)
