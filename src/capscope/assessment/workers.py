"""The workers of a run: hand out what is to be done, and replace those that are lost.

A worker is a place where one draw after another is made, on its own copy of a problem: a thread,
which helps if an agent waits, for a model server for example; a process on this machine; or an
actor in a cluster. The loop, the journal and the models stay in one process. A worker is told what
to do and returns what happened; all randomness of a draw is seeded by its place in the run. So it
does not matter which worker makes it, nor how often it was begun before by workers that are lost.

What a lost worker was doing is done again by another one. A draw that takes its worker down every
time is the fault of the agent or the simulator, and an error; so is one that never ends.
"""

from __future__ import annotations

import itertools
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

from capscope.assessment.ask import Answer, DrawOrder, ask
from capscope.assessment.remote_workers import (
    DrawTimedOut,
    Job,
    MakeProblem,
    RemoteWorker,
    WorkerLost,
)
from capscope.assessment.time_limit import DaemonThreads, OutOfTime, within
from capscope.errors import CapscopeError, RunError
from capscope.logic import Intent
from capscope.problem import Allowance, Problem

T = TypeVar("T")
BACKENDS = ("threads", "processes", "ray")
MOST_LOSSES = 3
"""Maximum number of workers that one draw may crash before the run stops."""
MOST_TIMEOUTS = 2
SECONDS_TO_STOP = 10.0
"""How long the end of a run waits for attempts under way, whose answers may have been paid for."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How many workers make draws, and where; nothing of it changes what is observed."""

    number: int = 1
    backend: str = "threads"
    """`threads`, `processes` or `ray`."""
    address: str | None = None
    """The address of a Ray cluster; None starts one on this machine."""
    draw_timeout: float | None = None
    """Seconds after which a draw has failed to end; None waits for ever."""
    ends_program: bool = False
    """Whether this program is ended if code in it does not return when the time is over.

    A command line may do that; a library must not."""

    def __post_init__(self) -> None:
        if self.number < 1:
            raise CapscopeError(f"--workers must be at least 1, not {self.number}")
        if self.draw_timeout is not None and not self.draw_timeout > 0:
            raise CapscopeError(f"--draw-timeout must be above 0, not {self.draw_timeout:g}")
        if self.address is not None and self.backend != "ray":
            raise CapscopeError(f"--address is for --backend ray, not {self.backend}")


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
        except OutOfTime:
            raise RunError(
                f"{order} took longer than {self._draw_timeout:g} s, and a thread cannot be ended; "
                "fix what hangs, or let --backend processes end it, and resume"
            ) from None

    def run(self, job: Job) -> object:
        """Do something else with the problem."""
        return job(self._problem)

    def stop(self) -> None:
        """Do nothing: draws in this process check their own allowance."""

    def close(self) -> None:
        """Do nothing: a thread cannot be ended."""


Worker = ThreadWorker | RemoteWorker
"""A place where draws are made, one at a time, with its own copy of the problem."""


class Workers:
    """Started workers; a context manager that ends them."""

    def __init__(
        self,
        begin: Callable[[], Worker],
        number: int = 1,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        """Start workers.

        Args:
            begin: Begins to start a worker, without waiting until it is ready.
            number: The number of workers.
            close: Releases what they have in common.
        """
        self.number = number
        self.lost = 0
        """Workers that were lost so far."""
        self._begin = begin
        self._release = close
        self._lock = Lock()
        self._free: SimpleQueue[Worker | CapscopeError] = SimpleQueue()
        self._started: set[Worker] = set()
        self._alive = number
        self._closed = False
        self._threads = DaemonThreads(number)
        try:
            # All of them start at the same time.
            for worker in [self._start() for _ in range(number)]:
                worker.wait_until_ready()
                self._free.put(worker)
        except WorkerLost as error:
            self.close()
            raise RunError(f"{error} while it loaded the problem") from error
        except BaseException:
            self.close()
            raise

    def draw(self, order: DrawOrder, intents: Sequence[Intent], common: Allowance) -> Answer:
        """Make a draw in the current thread's time, with the next worker that is free."""
        return self._use(lambda worker: worker.draw(order, intents, common), str(order))

    def begin_draw(
        self, order: DrawOrder, intents: Sequence[Intent], common: Allowance
    ) -> Future[Answer]:
        """Begin a draw; it waits for a worker if none is free."""
        return self._threads.begin(lambda: self.draw(order, intents, common))

    def map(self, jobs: Iterable[Job]) -> Iterator[Any]:
        """Do something else with the copies of the problem; yield the results in order."""

        def begin(job: Job) -> Future[Any]:
            work = "a piece of work"
            return self._threads.begin(lambda: self._use(lambda worker: worker.run(job), work))

        rest = iter(jobs)
        under_way: deque[Future[Any]] = deque()
        while True:
            # One more than can be done at once, so that no worker waits for the reader.
            under_way += map(begin, itertools.islice(rest, self.number + 1 - len(under_way)))
            if not under_way:
                return
            yield under_way.popleft().result()

    def stop(self, draws: Iterable[Future[Any]]) -> None:
        """Let draws under way end after their current attempt, and those that do not by force."""
        with self._lock:
            self._closed = True
            started = list(self._started)
        for worker in started:
            worker.stop()
        under_way = [draw for draw in draws if not draw.cancel()]
        wait(under_way, SECONDS_TO_STOP)
        self.close()

    def close(self) -> None:
        """End all workers."""
        with self._lock:
            self._closed = True
            started, self._started = self._started, set()
        for worker in started:
            worker.close()
        self._threads.close()
        self._free.put(RunError("the workers were ended"))
        self._release()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _use(self, use: Callable[[Worker], T], what: str) -> T:
        losses = timeouts = 0
        while True:
            worker = self._take()
            try:
                result = use(worker)
            except WorkerLost as error:
                self._replace(worker)
                timeouts += isinstance(error, DrawTimedOut)
                losses += 1
                if timeouts == MOST_TIMEOUTS:
                    raise RunError(
                        f"{error}, {timeouts} times; fix what hangs, or raise --draw-timeout, and "
                        "resume"
                    ) from error
                if losses == MOST_LOSSES:
                    raise RunError(
                        f"{what} was lost {losses} times with its worker: {error}; the agent or "
                        "the simulator seems to end its process. Fix it, and resume"
                    ) from error
            except BaseException:
                self._free.put(worker)
                raise
            else:
                self._free.put(worker)
                return result

    def _take(self) -> Worker:
        worker = self._free.get()
        if isinstance(worker, CapscopeError):
            self._free.put(worker)  # for another draw
            raise worker
        return worker

    def _start(self) -> Worker:
        worker = self._begin()
        with self._lock:
            closed = self._closed
            if not closed:
                self._started.add(worker)
        if closed:
            worker.close()
            raise RunError("the workers were ended")
        return worker

    def _replace(self, lost: Worker) -> None:
        """Start another worker; the others go on meanwhile, and without it if it does not start."""
        lost.close()
        with self._lock:
            self._started.discard(lost)
            if self._closed:
                return
            self.lost += 1

        def start() -> None:
            try:
                worker = self._start()
                worker.wait_until_ready()
                self._free.put(worker)
            except Exception as error:  # whatever it is, there is one worker less
                with self._lock:
                    self._alive -= 1
                    none_left = not self._alive
                if none_left:
                    self._free.put(RunError(f"no worker is left: {error}"))

        Thread(target=start, daemon=True).start()


def start_workers(
    settings: WorkerSettings, problem: Problem, make: MakeProblem | None = None
) -> Workers:
    """Start the workers of a run.

    Args:
        settings: How many, and where.
        problem: The problem; the first worker in this process uses it.
        make: Makes a copy of the problem, if there is a way to.

    Returns:
        Started workers, which are ready.
    """
    number, timeout = settings.number, settings.draw_timeout
    if settings.backend not in BACKENDS:
        raise RunError(f"no backend {settings.backend!r}; there are {', '.join(BACKENDS)}")
    if make is None and (number > 1 or settings.backend != "threads"):
        raise RunError(
            "a Problem object serves one worker, in this process; name it as file.py:factory, or "
            "give a function that makes it, so that each worker makes its own"
        )
    if settings.backend == "threads" or make is None:
        copies = itertools.chain([problem], iter(make, None) if make else ())
        return Workers(lambda: ThreadWorker(next(copies), timeout), number)
    _require_portable(make, settings.backend)
    # Imported here: most runs have their workers in this process.
    from capscope.assessment.worker_links import ProcessLink, RayCluster

    if settings.backend == "processes":
        return Workers(lambda: RemoteWorker(ProcessLink(), problem, make, timeout), number)
    cluster = RayCluster(settings.address, number)
    return Workers(
        lambda: RemoteWorker(cluster.link(), problem, make, timeout), number, cluster.close
    )


def _require_portable(make: MakeProblem, backend: str) -> None:
    try:
        pickle.dumps(make)
        travels = getattr(make, "__module__", "") != "__main__"
    except (pickle.PicklingError, AttributeError, TypeError):
        travels = False
    if not travels:
        name = getattr(make, "__qualname__", repr(make))
        raise RunError(
            f"{name} cannot travel to the workers of --backend {backend}; name the problem as "
            "file.py:factory, or give a function of an installed module"
        )
