"""Reports of runs, made in memory while the runs go on.

Making a report takes up to a minute for a large run, and only what was recorded since makes a new
one worthwhile. So a report is made in the background, when a page asks for it and the journal has
changed, with a pause of a few seconds that is at least as long as the last one took. Pages get the
latest report that is ready.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from capscope.errors import CapscopeError
from capscope.journal.journal_file import JournalStamp
from capscope.journal.progress import journal_stamp
from capscope.sanitize import sanitize

_SHORTEST_PAUSE = 3.0
_PAUSE_AFTER_FAILURE = 15.0
_MOST_KEPT = 8
"""Reports in memory; each has a few megabytes."""
_MOST_AT_A_TIME = 2


@dataclass(frozen=True)
class RenderedReport:
    """A report as a page, and the number of executions that it is about."""

    html: str
    executions: int


@dataclass(frozen=True)
class ReportState:
    """What is known about the report of a run."""

    version: int = 0
    """Differs for each report; 0 before the first."""
    report: RenderedReport | None = None
    stamp: JournalStamp = ()
    """The journal that the latest attempt read."""
    ended: float = 0.0
    seconds: float = 0.0
    """When the latest attempt ended, and how long it took."""
    error: str = ""
    """Why the latest attempt failed."""
    rendering: bool = False
    fetched: int = 0
    """The latest version that a page has."""

    def due(self, stamp: JournalStamp, now: float) -> bool:
        """Return whether a report is to be made now."""
        if self.rendering:
            return False
        if self.error:
            return now - self.ended >= max(_PAUSE_AFTER_FAILURE, self.seconds)
        if self.stamp == stamp:
            return False
        return not self.version or now - self.ended >= max(_SHORTEST_PAUSE, self.seconds)


class LiveReports:
    """The latest reports of runs, by run directory."""

    def __init__(
        self, render: Callable[[Path], RenderedReport], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._render = render
        self._clock = clock
        self._lock = threading.Lock()
        self._states: OrderedDict[Path, ReportState] = OrderedDict()
        self._versions = itertools.count(1)

    def request(self, run: Path) -> ReportState:
        """Return what is known about a report, and have it made if that is due."""
        stamp = journal_stamp(run)
        with self._lock:
            state = self._states.setdefault(run, ReportState())
            self._states.move_to_end(run)
            if state.due(stamp, self._clock()) and self._rendering() < _MOST_AT_A_TIME:
                state = self._states[run] = replace(state, rendering=True)
                # A daemon: the program may end while a report is being made.
                threading.Thread(target=self._make, args=(run,), daemon=True).start()
            self._forget_old()
            return state

    def page(self, run: Path) -> RenderedReport | None:
        """Return the latest report; None before the first is ready."""
        with self._lock:
            state = self._states.get(run)
            if state is None or state.report is None:
                return None
            self._states[run] = replace(state, fetched=state.version)
            return state.report

    def delivered(self) -> bool:
        """Return whether pages have the latest report of every run that was asked for."""
        with self._lock:
            return all(_is_delivered(run, state) for run, state in self._states.items())

    def _make(self, run: Path) -> None:
        stamp, begun = journal_stamp(run), self._clock()
        report, error = None, ""
        try:
            report = self._render(run)
        except (CapscopeError, OSError) as failure:
            error = sanitize(str(failure))
        except Exception as failure:  # a bug must not stop the other pages
            error = sanitize(f"the report cannot be made ({type(failure).__name__}: {failure})")
        now = self._clock()
        with self._lock:
            state = self._states.get(run, ReportState())
            if report is not None:
                state = replace(state, version=next(self._versions), report=report)
            self._states[run] = replace(
                state, stamp=stamp, ended=now, seconds=now - begun, error=error, rendering=False
            )

    def _rendering(self) -> int:
        return sum(state.rendering for state in self._states.values())

    def _forget_old(self) -> None:
        for run in list(self._states)[: max(len(self._states) - _MOST_KEPT, 0)]:
            if not self._states[run].rendering:
                del self._states[run]


def _is_delivered(run: Path, state: ReportState) -> bool:
    if state.rendering or state.error:
        return not state.rendering
    return state.stamp == journal_stamp(run) and state.fetched == state.version
