"""The run directory: the journal, a summary for people, and a lock.

`journal.sqlite` is the truth; `run.json` is a copy of its settings for people. A run is resumed
only with what it was started with (`RunIdentity`).

A run directory may come from someone else, so its files must be plain ones: a link would have
capscope write to where it leads, and a pipe would make it wait forever.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import stat
import tempfile
import time
import weakref
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from capscope.errors import JournalError, RunError
from capscope.journal.journal import Journal, read_meta
from capscope.journal.journal_file import (
    JournalStamp,
    connect_for_reading,
    file_stamp,
    recognize,
    understood,
)
from capscope.journal.run_meta import Budget, RunIdentity, RunMeta
from capscope.logic import to_json
from capscope.version import __version__

JOURNAL = "journal.sqlite"
SUMMARY = "run.json"
LOCK = ".lock"
MODEL = "model.json"
REPORT = "report.html"
_BESIDE_JOURNAL = (f"{JOURNAL}-wal", f"{JOURNAL}-shm")
_FILES = (JOURNAL, *_BESIDE_JOURNAL, SUMMARY)
"""What a run directory has from the beginning, beside its lock."""
_ROLLBACK = f"{JOURNAL}-journal"
"""SQLite would undo changes by this file, and delete another that it names; no run has it."""
_LOCK_ATTEMPTS = 5
_SECONDS_BETWEEN_ATTEMPTS = 0.02
_SECONDS_TO_WAIT = 0.5
"""For another process that has locked the file."""
_ADDED = (
    "SELECT count(*), coalesce(sum(json_array_length(attempts)), 0), "
    "coalesce(sum(simulator_steps), 0) FROM draws WHERE (query, draw) > (?, ?)"
)
_LAST = "SELECT query, draw FROM draws ORDER BY query DESC, draw DESC LIMIT 1"


class RunDirectory:
    """An open run directory."""

    def __init__(self, path: Path, journal: Journal) -> None:
        self.path = path
        self.journal = journal
        self._lock: int | None = None
        self._made: tuple[Path, ...] = ()
        """What did not exist before this call."""

    @classmethod
    def create(cls, path: Path, meta: RunMeta) -> RunDirectory:
        """Start a run in a new or empty directory."""
        try:
            _refuse_run(path)
            new = not path.exists()
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"cannot make the run directory {path}: {error.strerror}") from error
        with ExitStack() as undo:
            lock = _locked(path, undo, make=True)
            # Only now: what another process made before has to stay.
            _refuse_run(path)
            made = [at for name in _FILES if not (at := path / name).exists()]
            made += [path / LOCK, *([path] if new else [])]
            undo.callback(_remove, made)
            run = cls(path, Journal.create(path / JOURNAL, meta))
            undo.callback(run.journal.close)
            run._write_summary(meta)
            run._lock, run._made = lock, tuple(made)
            undo.pop_all()
            return run

    @classmethod
    def open(
        cls, path: Path, *, read_only: bool = False, verified: JournalStamp | None = None
    ) -> RunDirectory:
        """Open an existing run; see `Journal.open`."""
        try:
            if not path.is_dir():
                raise RunError(f"no run directory {path}; `capscope assess` makes one")
            refuse_odd_files(path)
            holds_journal = (path / JOURNAL).exists()
        except OSError as error:
            raise RunError(f"cannot look into {path}: {error.strerror}") from error
        with ExitStack() as undo:
            # Leave nothing behind in a directory that is not a run.
            lock = None if read_only or not holds_journal else _locked(path, undo)
            run = cls(path, Journal.open(path / JOURNAL, read_only=read_only, verified=verified))
            undo.callback(run.journal.close)
            run.journal.read_meta()
            run._lock = lock
            undo.pop_all()
            return run

    def admit(self, identity: RunIdentity, budget: Budget) -> None:
        """Continue with another budget; refuse anything else but what the run was started with."""
        self.require_same(identity)
        self.journal.set_meta(budget=budget)
        self._write_summary(self.journal.read_meta())

    def require_same(self, identity: RunIdentity) -> None:
        """Raise if the run was started with something else, and say what. Nothing is written."""
        differences = list(self.journal.read_meta().identity.differences(identity))
        if differences:
            raise RunError(f"{self.path} was started differently: {'; '.join(differences)}")

    def _write_summary(self, meta: RunMeta) -> None:
        about = {"budget": meta.budget, "versions": meta.versions}
        summary = {**to_json(meta.identity), **to_json(about)}
        write_atomically(self.path / SUMMARY, json.dumps(summary, indent=2) + "\n")

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        forget = False
        if error is not None and self._made:
            with suppress(JournalError):  # then it is not known what it holds
                forget = not self.journal.asked
        self.close(forget=forget)

    def close(self, *, forget: bool = False) -> None:
        """Close the journal and release the lock.

        `forget` a run that was started here and failed before its first query: it holds nothing,
        and would be in the way of the same command with the mistake fixed.
        """
        self.journal.close()
        if forget:
            _remove(self._made)
        if self._lock is not None:
            os.close(self._lock)


def _remove(made: Sequence[Path]) -> None:
    """Remove files, then the lock and the directory; other files that appeared meanwhile stay.

    Once the lock is removed, another process may start a run in the directory.
    """
    for path in made:
        with suppress(OSError):
            path.rmdir() if path.is_dir() else path.unlink()


def _refuse_run(path: Path) -> None:
    """Raise if a directory holds a run, or something in the place of its files."""
    if (path / JOURNAL).exists():
        raise RunError(
            f"{path} already holds a run; continue it with `capscope resume {path}`, or "
            "start another in a directory of its own: --run DIR"
        )
    refuse_odd_files(path)


def refuse_odd_files(path: Path) -> None:
    """Raise if a file of a run directory is not a plain one."""
    for name in (*_FILES, LOCK, MODEL, REPORT):
        _refuse_odd_file(path / name)
    if os.path.lexists(path / _ROLLBACK):
        raise RunError(
            f"{path / _ROLLBACK} is not part of a run, and would change its journal; remove it"
        )


def refuse_links(path: Path) -> None:
    """Raise if a path below a run directory leads through a link or to a special file.

    What is written into a run directory has to stay there. Anywhere else, links are the user's own.
    """
    places = [path.absolute(), *path.absolute().parents]
    below = max((n for n, folder in enumerate(places) if (folder / JOURNAL).exists()), default=0)
    for place in places[:below]:
        _refuse_odd_file(place, or_folder=True)


def _refuse_odd_file(path: Path, *, or_folder: bool = False) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not (stat.S_ISREG(mode) or (or_folder and stat.S_ISDIR(mode))):
        kind = "a symbolic link" if stat.S_ISLNK(mode) else "not a regular file"
        raise RunError(f"{path} is {kind}; the files of a run must be regular: remove it")


class TemporaryRun:
    """A run directory that is removed with the last object that refers to it."""

    def __init__(self) -> None:
        try:
            self.path = Path(tempfile.mkdtemp(prefix="capscope-"))
        except OSError as error:
            raise RunError(
                f"cannot make a temporary directory: {error}; name a run directory"
            ) from error
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file so that a reader, or a crash, sees the old one or the new one, never a part.

    Below a run directory, a link or a special file on the way is refused.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        refuse_links(path)
        if path.exists() and not path.is_file():
            path.write_bytes(data)  # a pipe or device is written to, not replaced
            return
        target = path.resolve()  # a link stays a link
        # Two processes may write the same file, so each has its own draft.
        draft = target.with_name(f".{target.name}.{os.getpid()}.draft")
        try:
            # Removed first, since a link in its place would be followed.
            draft.unlink(missing_ok=True)
            draft.write_bytes(data)
            draft.replace(target)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise
    except OSError as error:
        raise RunError(
            f"cannot write {path}: {error.strerror}; everything observed is kept: fix the path, "
            "its permissions or the free space, and try again"
        ) from error


def versions() -> dict[str, str]:
    """Return the versions that may matter for repeating a run."""
    return {
        "python": platform.python_version(),
        "capscope": __version__,
        "numpy": metadata.version("numpy"),
    }


def is_being_written(path: Path) -> bool:
    """Return whether a process seems to be working on a run directory.

    Nothing is written. The lock is taken for a moment only, which `_locked` waits for.
    """
    try:
        import fcntl

        handle = os.open(path / LOCK, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except (ImportError, OSError):
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def _locked(path: Path, undo: ExitStack, *, make: bool = False) -> int | None:
    """Lock the directory for this process; None if the platform cannot lock.

    A run that could not begin removes its lock, and its directory; `make` that again.
    """
    try:
        import fcntl
    except ImportError:
        return None
    for attempt in range(_LOCK_ATTEMPTS):
        # A process that checks whether the run is in progress holds the lock for a moment.
        time.sleep(_SECONDS_BETWEEN_ATTEMPTS if attempt else 0)
        try:
            if make:
                path.mkdir(parents=True, exist_ok=True)
            handle = os.open(path / LOCK, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o644)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise RunError(f"cannot write to {path}: {error.strerror}") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), (path / LOCK).stat()):
                undo.callback(os.close, handle)
                return handle
        except OSError:  # locked by another process, or removed by it
            pass
        os.close(handle)
    raise RunError(f"another process is working on {path}; wait for it or stop it")


@dataclass(frozen=True)
class RunProgress:
    """How far a run was at one moment."""

    meta: RunMeta
    queries: int = 0
    """Queries begun."""
    draws: int = 0
    executions: int = 0
    simulator_steps: int = 0
    """Those of the draws; discovery is not included."""
    last_draw: tuple[int, int] = (-1, -1)
    """Query and number of the latest draw."""


def journal_stamp(run: Path) -> JournalStamp:
    """Return a value that changes whenever the journal of a run directory does."""
    return file_stamp(run / JOURNAL)


def read_progress(run: Path, earlier: RunProgress | None = None) -> RunProgress:
    """Return the progress of a run, cheaply enough for every second.

    Loading a run checks its whole file and decodes every draw, which may take seconds. This reads
    what was added since `earlier`. The file is opened by SQLite only: closing a file that was
    opened otherwise would release the locks that SQLite holds on it in the same process.
    """
    path = run / JOURNAL
    if not path.is_file():
        raise JournalError(f"no journal at {path}; is {run} a run directory?")
    refuse_odd_files(run)
    with understood(path), closing(connect_for_reading(path, _SECONDS_TO_WAIT)) as db:
        recognize(path, db)
        db.execute("BEGIN")  # all numbers are from one moment
        before = earlier or RunProgress(read_meta(path, db))
        queries = db.execute("SELECT coalesce(max(id), -1) + 1 FROM queries").fetchone()[0]
        last = db.execute(_LAST).fetchone()
        if last is not None and last < before.last_draw:  # another run in the same place
            before = RunProgress(before.meta)
        draws, executions, steps = db.execute(_ADDED, before.last_draw).fetchone()
        return RunProgress(
            read_meta(path, db),
            queries,
            before.draws + draws,
            before.executions + executions,
            before.simulator_steps + steps,
            before.last_draw if last is None else last,
        )
