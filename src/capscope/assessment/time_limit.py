"""The time that a whole assessment may take: asking, and then writing the model and the report.

A budget of seconds is meant for everything, or a run of ten minutes whose report takes two would
surprise the person who waits for it. So asking ends early enough to leave some time for the report.
How long that will take is not known: pictures are left out once most of the time is gone, and a
report that is not ready in time is given up, which is reported.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf

from capscope.record.journal import Journal
from capscope.record.stop_reason import StopReason
from capscope.record.usage import Budget

_SHARE_FOR_REPORT = 0.2
_SHORTEST_FOR_REPORT = 1.0
_LONGEST_FOR_REPORT = 120.0
_SHARE_FOR_PICTURES = 0.5
"""Of the time for the report: after that, no more pictures are drawn."""


class OutOfTime(BaseException):
    """Raised when the time is over; not an `Exception`, so that no handler takes it for another."""


@dataclass(frozen=True)
class TimeLimit:
    """When asking has to end, and when everything has to; both by `time.monotonic`."""

    asking_ends: float = inf
    ends: float = inf

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

    @contextmanager
    def enforced(self) -> Iterator[None]:
        """Raise `OutOfTime` in the block when the time is over.

        That takes a timer of the operating system. If there is none, or somebody else uses it, or
        this is not the main thread, the block is only refused if it is too late to begin.
        """
        left = self.ends - time.monotonic()
        if left <= 0:
            raise OutOfTime
        if left == inf or not _timer_is_free():
            yield
            return

        def end(*_: object) -> None:
            raise OutOfTime

        before = signal.signal(signal.SIGALRM, end)
        try:
            signal.setitimer(signal.ITIMER_REAL, left)
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)


def time_left(journal: Journal, budget: Budget, begun: float) -> TimeLimit:
    """Return the limit of a resumed run: what it took before counts."""
    if budget.seconds is None:
        return TimeLimit()
    before = sum(seconds for (seconds,) in journal.select("SELECT seconds FROM queries"))
    limit = TimeLimit.of(begun, max(budget.seconds - before, 0.0))
    if journal.read_meta().stop_reason == StopReason.budget("seconds"):
        # The time was spent: there is nothing to do but to write what is known.
        return TimeLimit(begun, inf)
    return limit


def _timer_is_free() -> bool:
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getitimer(signal.ITIMER_REAL)[0] == 0
    )


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
