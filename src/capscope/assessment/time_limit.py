"""The time that a whole assessment may take: asking, and then writing the model and the report.

A budget of seconds is meant for everything, or a run of ten minutes whose report takes two would
surprise the person who waits for it. So asking ends early enough to leave some time for the report.
How long that will take is not known: pictures are left out once most of the time is gone, and a
report that is not ready in time is given up, which is reported.

An agent or a simulator may not return. In the main thread a signal interrupts it, again and again
if it goes on; another thread is left behind. Native code that does not return hears no signal: if
the program may be ended, another process ends it.
"""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from queue import SimpleQueue
from threading import Thread
from types import FrameType
from typing import Any, TypeVar

from capscope.errors import RunError
from capscope.journal.journal import Journal
from capscope.journal.run_meta import Budget, StopReason

T = TypeVar("T")


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

    def abandon(self) -> None:
        """Let the threads end as soon as they are in Python code; those that wait go on waiting."""
        for thread in self._threads:
            ended = ctypes.py_object(SystemExit)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ended)

    def _run(self) -> None:
        while (item := self._work.get()) is not None:
            future, work = item
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as error:
                    future.set_exception(error)


def within(seconds: float, work: Callable[[], T]) -> T:
    """Return the result of some work; raise `OutOfTime` if it takes longer.

    Its thread is then left behind.
    """
    thread = DaemonThreads(1)
    future = thread.begin(work)
    thread.close()
    try:
        return future.result(max(seconds, 0))
    except TimeoutError:
        if future.done():  # the work itself raised it
            raise
        thread.abandon()
        raise OutOfTime from None


_SHARE_FOR_REPORT = 0.2
_SHORTEST_FOR_REPORT = 1.0
_LONGEST_FOR_REPORT = 120.0
_SHARE_FOR_PICTURES = 0.5
"""Of the time for the report: after that, no more pictures are drawn."""
_SECONDS_BETWEEN_SIGNALS = 0.5
"""Time to clean up for code that caught the first interruption, before the next one."""
_SECONDS_LATE = 0.05
"""The deadlines of draws differ a little, and changing the alarm for each takes time."""
SHORTEST_WORK = 10.0
"""Time for what capscope itself has to do, even if a run is resumed with next to none left."""


class OutOfTime(BaseException):
    """Raised when the time is over; not an `Exception`, so that no handler takes it for another."""


@dataclass(frozen=True)
class TimeLimit:
    """When asking has to end, and when everything has to; both by `time.monotonic`."""

    asking_ends: float = inf
    ends: float = inf
    last_words: str | None = None
    """What to say when the program is ended because code does not return; None: it is not ended."""

    @classmethod
    def of(cls, begun: float, seconds: float | None) -> TimeLimit:
        """Return the limit of something that began then and may take this many seconds."""
        if seconds is None:
            return cls()
        wanted = max(_SHARE_FOR_REPORT * seconds, _SHORTEST_FOR_REPORT)
        reserved = min(wanted, _LONGEST_FOR_REPORT, seconds / 2)
        return cls(begun + seconds - reserved, begun + seconds)

    def to_ask(self) -> float:
        """Return how many seconds are left for asking; 0 if none are."""
        return max(self.asking_ends - time.monotonic(), 0.0)

    def prepared(self, what: str, work: Callable[[], T], at_least: float = 0.0) -> T:
        """Return the result of what has to be done before anything can be asked.

        Raise if it takes too long; it may always take `at_least` seconds.
        """
        try:
            return interrupted_at(max(self.ends, time.monotonic() + at_least), work)
        except OutOfTime:
            raise RunError(
                f"the time was over while {what}, before anything could be asked; fix what does "
                "not return, or raise --max-seconds"
            ) from None

    def enforced(self, work: Callable[[], T]) -> T:
        """Return the result of some work; raise `OutOfTime` when the time is over.

        In another thread than the main one, work that has begun is finished.
        """
        if self.ends <= time.monotonic():
            raise OutOfTime
        return interrupted_at(self.ends, work)

    @contextmanager
    def by_force(self, at_least: float = 0.0) -> Iterator[None]:
        """End the program, if that is allowed, when the block does not end in time.

        The block may always take `at_least` seconds.
        """
        left = self.ends - time.monotonic()
        if self.last_words is None or left == inf:
            yield
            return
        # Code that hears the interruption at the end of the time is not ended.
        wait = max(left + _SECONDS_BETWEEN_SIGNALS, at_least)
        command = [sys.executable, "-I", "-S", "-c", _END_PROGRAM, str(wait), self.last_words]
        # In a session of its own: Ctrl-C is for the program.
        with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True):
            yield


_END_PROGRAM = """
import os, select, signal, sys
program = os.getppid()
ended, _, _ = select.select([0], [], [], float(sys.argv[1]))
if not ended and os.getppid() == program:
    os.kill(program, signal.SIGKILL)
    # A progress display hides the cursor.
    sys.stderr.write(("\\r\\x1b[?25h" if sys.stderr.isatty() else "") + sys.argv[2] + "\\n")
"""
"""Standard input ends with the block, or with the program."""


def time_left(journal: Journal, budget: Budget, begun: float) -> TimeLimit:
    """Return the limit of a resumed run: what it took before counts."""
    if budget.seconds is None:
        return TimeLimit()
    before = journal.seconds()
    spent = journal.read_meta().stop_reason == StopReason.budget("seconds")
    if spent or before >= budget.seconds:
        # There is nothing to do but to write what is known.
        return TimeLimit(begun, inf)
    return TimeLimit.of(begun, budget.seconds - before)


def until(deadline: float, work: Callable[[], T]) -> T:
    """Return the result of some work; raise `OutOfTime` at the deadline (`time.monotonic`).

    In the main thread the work is interrupted. Elsewhere it has a thread of its own, which is left
    behind: it ends as soon as it is in Python code.
    """
    if deadline == inf or _can_interrupt():
        return interrupted_at(deadline, work)
    return within(deadline - time.monotonic(), work)


def interrupted_at(deadline: float, work: Callable[[], T]) -> T:
    """Return the result of some work; in the main thread, raise `OutOfTime` at the deadline."""
    if deadline == inf or not _can_interrupt():
        return work()
    before, outer = signal.signal(_SIGNAL, _interrupt), _alarm.deadline
    _alarm.set(min(deadline, outer))
    try:
        with _lost_interruptions_ignored():
            return _interruptible(work)
    except Exception as error:
        if time.monotonic() < deadline:
            raise
        raise OutOfTime from error  # most likely another exception made of the interruption
    finally:
        _alarm.set(outer)
        signal.signal(_SIGNAL, before or signal.SIG_DFL)


@contextmanager
def _lost_interruptions_ignored() -> Iterator[None]:
    """Report no interruption that a finalizer swallowed: the next signal repeats it."""
    report = sys.unraisablehook

    def report_others(lost: sys.UnraisableHookArgs) -> None:
        if not isinstance(lost.exc_value, OutOfTime):
            report(lost)

    sys.unraisablehook = report_others
    try:
        yield
    finally:
        sys.unraisablehook = report


# By default it is ignored, so one that comes late does no harm. Unlike an alarm, it is used neither
# by agents, for time limits of their own, nor by test runners.
_SIGNAL: int = getattr(signal, "SIGURG", 0)


def _can_interrupt() -> bool:
    return threading.current_thread() is threading.main_thread() and _SIGNAL != 0


def _interruptible(work: Callable[[], T]) -> T:
    return work()


def _interrupt(_: int, frame: FrameType | None) -> None:
    """Raise in the work only: not before or after it, where it would not be caught."""
    while frame is not None:
        if frame.f_code is _interruptible.__code__:
            raise OutOfTime
        frame = frame.f_back


class _Alarm:
    """Sends the main thread signals from a deadline on, from a thread that never ends.

    A timer of the operating system would do, but there is only one, and others use it.
    """

    def __init__(self) -> None:
        self.deadline = inf
        self._changed = threading.Condition()
        self._wakes = inf
        self._thread: threading.Thread | None = None

    def set(self, deadline: float) -> None:
        """Signal from that moment on; never if it is infinite."""
        with self._changed:
            self.deadline = deadline
            if deadline == inf:
                return
            if self._thread is None or not self._thread.is_alive():  # it does not survive a fork
                self._thread = threading.Thread(target=self._run, name="alarm", daemon=True)
                self._thread.start()
            elif deadline < self._wakes - _SECONDS_LATE:
                self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                wait = self.deadline - now
                if wait <= 0:
                    signal.pthread_kill(threading.main_thread().ident or 0, _SIGNAL)
                    wait = _SECONDS_BETWEEN_SIGNALS
                self._wakes = now + wait
                self._changed.wait(None if wait == inf else wait)


_alarm = _Alarm()


class TimedPictures:
    """Draws pictures until most of the time for the report is over."""

    def __init__(self, draw: Callable[[bytes], bytes], limit: TimeLimit) -> None:
        self.omitted = 0
        self._draw = draw
        now = time.monotonic()
        self._until = inf if limit.ends == inf else now + _SHARE_FOR_PICTURES * (limit.ends - now)

    def __call__(self, snapshot: bytes) -> bytes:
        """Return a picture of a position, or nothing if it is too late."""
        if time.monotonic() >= self._until:
            self.omitted += 1
            return b""
        return self._draw(snapshot)
