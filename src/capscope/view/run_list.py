"""The runs below a folder, and how far each of them is.

A request names a run by an identifier that is looked up among the runs found. No part of a request
is ever used as a path.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from capscope.errors import CapscopeError
from capscope.journal.journal_file import JournalStamp
from capscope.journal.progress import RunProgress, journal_stamp, read_progress
from capscope.journal.run_directory import JOURNAL, is_being_written
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
            # The stamp is older than what is read: what is added meanwhile is read next time.
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
