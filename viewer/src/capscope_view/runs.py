"""The runs below a folder, how far each of them is, and their reports.

A request names a run by an identifier that is looked up among the runs found. No part of a request
is ever used as a path.

Making a report takes up to a minute for a large run, and only what was recorded since makes a new
one worthwhile. So a report is made in memory in the background, when a page asks for it and the
journal has changed, with a pause of a few seconds that is at least as long as the last one took.
Pages get the latest report that is ready.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from capscope.errors import CapscopeError
from capscope.journal.journal_file import JournalStamp
from capscope.journal.run_directory import (
    JOURNAL,
    RunProgress,
    is_being_written,
    journal_stamp,
    read_progress,
)
from capscope.sanitize import sanitize

_DEEPEST = 6
_MOST_FOLDERS = 20_000
_SECONDS_BETWEEN_SEARCHES = 2.0


class RunActivity(StrEnum):
    """What is going on with a run."""

    RUNNING = "running"
    """A process is working on it."""
    ENDED = "ended"
    """It stopped by itself, or its budget was spent."""
    INCOMPLETE = "incomplete"
    """It was interrupted; it can be resumed."""
    UNREADABLE = "unreadable"
    """The folder or its journal cannot be read."""


@dataclass(frozen=True)
class RunStatus:
    """What the list says about a run."""

    id: str
    name: str
    activity: RunActivity
    note: str = ""
    """Why it stopped, or why it cannot be read."""
    problem: str = ""
    strategy: str = ""
    seed: int | None = None
    queries: int = 0
    executions: int = 0
    simulator_steps: int = 0
    written: float = 0.0
    """When something was last recorded, in seconds since 1970."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return asdict(self)


class RunFolder:
    """The runs below a folder; links are not followed."""

    def __init__(self, root: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.root = root
        self.complete = True
        """Whether the whole folder was searched."""
        self._clock = clock
        self._lock = threading.Lock()
        self._searched = -_SECONDS_BETWEEN_SEARCHES
        self._paths: dict[str, Path] = {}
        self._read: dict[str, tuple[JournalStamp, RunProgress]] = {}

    @property
    def is_run(self) -> bool:
        """Whether the folder is itself a run directory."""
        return (self.root / JOURNAL).is_file()

    def find(self, run_id: str) -> Path | None:
        """Return the directory of a run; None if there is no such run."""
        if run_id not in self._paths:
            self._search()
        return self._paths.get(run_id)

    def statuses(self) -> list[RunStatus]:
        """Return every run: those under way first, then the latest first."""
        self._search()
        found = [self.status(run_id) for run_id in list(self._paths)]
        running = RunActivity.RUNNING
        return sorted(found, key=lambda one: (one.activity != running, -one.written, one.name))

    def status(self, run_id: str) -> RunStatus:
        """Return how far a run is."""
        path = self._paths[run_id]
        name = sanitize(path.name if path == self.root else str(path.relative_to(self.root)))
        try:
            stamp, progress = self._progress(run_id, path)
        except (CapscopeError, OSError) as error:
            return RunStatus(run_id, name, RunActivity.UNREADABLE, sanitize(str(error)))
        reason = progress.meta.stop_reason
        return RunStatus(
            run_id,
            name,
            _activity(path, ended=reason is not None),
            sanitize(str(reason or "")),
            sanitize(progress.meta.name),
            sanitize(progress.meta.identity.strategy),
            progress.meta.identity.seed,
            progress.queries,
            progress.executions,
            progress.simulator_steps,
            max(time_ns for time_ns, _ in stamp) / 1e9,
        )

    def _progress(self, run_id: str, path: Path) -> tuple[JournalStamp, RunProgress]:
        stamp = journal_stamp(path)
        known = self._read.get(run_id)
        if known is None or known[0] != stamp:
            if not path.is_dir() or not os.access(path, os.R_OK | os.X_OK):
                raise CapscopeError(f"cannot look into {path}")
            # The stamp is taken before reading, so later additions are read next time.
            known = stamp, read_progress(path, known and known[1])
            self._read[run_id] = known
        return known

    def _search(self) -> None:
        with self._lock:
            if self._clock() - self._searched < _SECONDS_BETWEEN_SEARCHES:
                return
            found = {_identifier(path, self.root): path for path in self._directories()}
            self._read = {i: known for i, known in self._read.items() if i in found}
            self._paths = found
            self._searched = self._clock()

    def _directories(self) -> Iterator[Path]:
        """Find run directories, and folders that cannot be searched."""
        folders = [self.root]
        looked_at = 0
        self.complete = True
        while folders:
            folder = folders.pop()
            if (folder / JOURNAL).exists():
                yield folder
                continue
            looked_at += 1
            if looked_at > _MOST_FOLDERS:
                self.complete = False
                return
            try:
                inner = [entry for entry in os.scandir(folder) if not entry.name.startswith(".")]
            except FileNotFoundError:
                continue
            except OSError:
                yield folder
                continue
            if len(folder.relative_to(self.root).parts) < _DEEPEST:
                folders += [Path(e.path) for e in inner if e.is_dir(follow_symlinks=False)]


def _activity(path: Path, *, ended: bool) -> RunActivity:
    if ended:
        return RunActivity.ENDED
    return RunActivity.RUNNING if is_being_written(path) else RunActivity.INCOMPLETE


def _identifier(path: Path, root: Path) -> str:
    return hashlib.sha256(os.fsencode(path.relative_to(root))).hexdigest()[:16]


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
