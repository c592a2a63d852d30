"""Threads that can be left behind, and what runs in one of them for a limited time."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

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


class LeftBehind(Exception):  # noqa: N818 - what happened to a thread, not a mistake of somebody
    """Raised when work takes too long; its thread is left behind."""


def within(seconds: float, work: Callable[[], T]) -> T:
    """Return the result of some work; raise `LeftBehind` if it takes longer."""
    thread = DaemonThreads(1)
    future = thread.begin(work)
    thread.close()
    try:
        return future.result(max(seconds, 0))
    except TimeoutError:
        if future.done():  # the work itself raised it
            raise
        thread.abandon()
        raise LeftBehind from None
