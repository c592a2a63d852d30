"""The run directory: what a run was started with, its journal, and who may go on with it.

`journal.sqlite` is the truth; `run.json` is a copy of its settings for people. A run is resumed
only with what it was started with: another problem, vocabulary or setting would mix two
experiments. Budgets are the exception, they may be raised.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from capscope.errors import JournalError, RunError
from capscope.record.journal import Journal
from capscope.record.settings import Settings
from capscope.record.usage import Budget

JOURNAL = "journal.sqlite"
SUMMARY = "run.json"
LOCK = ".lock"
_FILES = (JOURNAL, SUMMARY, LOCK)
"""What a run directory has from the beginning."""
TEXTS = "texts of the file"
"""What the journal calls the marks of the texts that a problem's Python file had."""
_META = frozenset({"identity", "name", "vocabulary", "budget", "versions"})


class RunDirectory:
    """An open run directory."""

    def __init__(self, path: Path, journal: Journal) -> None:
        self.path = path
        self.journal = journal
        self._lock: int | None = None
        self._made: tuple[Path, ...] = ()
        """What was not there before this call."""

    @classmethod
    def create(cls, path: Path, meta: Mapping[str, Any]) -> RunDirectory:
        """Start a run in a new or empty directory."""
        try:
            if (path / JOURNAL).exists():
                raise RunError(
                    f"{path} holds a run already; go on with `capscope resume {path}`, or begin "
                    "another in a directory of its own: --run DIR"
                )
            made = [at for name in _FILES if not (at := path / name).exists()]
            made += [] if path.exists() else [path]
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"cannot make the run directory {path}: {error.strerror}") from error
        with ExitStack() as undo:
            lock = _locked(path, undo)
            run = cls(path, Journal.create(path / JOURNAL, meta))
            undo.callback(run.journal.close)
            run._write_summary(meta)
            run._lock, run._made = lock, tuple(made)
            undo.pop_all()
            return run

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> RunDirectory:
        """Open an existing run."""
        try:
            if not path.is_dir():
                raise RunError(f"no run directory {path}; `capscope assess` makes one")
            holds_journal = (path / JOURNAL).exists()
        except OSError as error:
            raise RunError(f"cannot look into {path}: {error.strerror}") from error
        with ExitStack() as undo:
            # Nothing is left behind in a directory that is somebody else's.
            lock = None if read_only or not holds_journal else _locked(path, undo)
            run = cls(path, Journal.open(path / JOURNAL, read_only=read_only))
            undo.callback(run.journal.close)
            missing = _META.difference(run.journal.read_meta())
            if missing:
                raise JournalError(
                    f"{run.journal.path} does not say its {', '.join(sorted(missing))}; it was "
                    "changed by something else and was left untouched"
                )
            run._lock = lock
            undo.pop_all()
            return run

    def admit(self, identity: Mapping[str, Any], budget: Budget) -> None:
        """Refuse to go on with anything but what the run was started with; name the difference."""
        self.require_same(identity)
        recorded = self.journal.read_meta()
        meta = {"budget": budget.as_dict(), "versions": recorded["versions"]}
        self.journal.write_meta(meta)
        self._write_summary({"identity": recorded["identity"], **meta})

    def require_same(self, identity: Mapping[str, Any]) -> None:
        """Compare what the run was started with; name the difference. Nothing is written."""
        recorded = self.journal.read_meta()
        # A setting that there was not yet when the run was started has its default since.
        settings = Settings.from_dict(recorded["identity"]["settings"]).as_dict()
        own = {**recorded["identity"], "settings": settings}
        differences = list(_differences(own, identity))
        if differences:
            raise RunError(f"{self.path} was started differently: {'; '.join(differences)}")

    def _write_summary(self, meta: Mapping[str, Any]) -> None:
        text = json.dumps(
            {**meta["identity"], **{k: meta[k] for k in ("budget", "versions")}}, indent=2
        )
        write_atomically(self.path / SUMMARY, text + "\n")

    @property
    def asked(self) -> bool:
        """Whether anything was asked, or found not worth asking."""
        return self.journal.query(0) is not None or "stopped" in self.journal.read_meta()

    def close(self) -> None:
        """Close the journal and let others at the directory."""
        self._end(forget=False)

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        forget = False
        if error is not None and self._made:
            with suppress(JournalError):  # then what it holds is not known
                forget = not self.asked
        self._end(forget=forget)

    def _end(self, *, forget: bool) -> None:
        """Close; a run that was begun here and failed before it asked anything leaves no trace.

        It holds nothing, and would stand in the way of the same command with the mistake mended.
        """
        self.journal.close()
        if forget:
            for path in self._made:
                # Whatever somebody else put there meanwhile stays.
                with suppress(OSError):
                    path.rmdir() if path == self.path else path.unlink()
        if self._lock is not None:
            os.close(self._lock)


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file so that a reader, or a crash, sees the old one or the new, never a part."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)  # a pipe or device is written to, not replaced
            return
        target = path.resolve()  # a link stays one
        draft = target.with_name(f".{target.name}.draft")
        try:
            draft.write_bytes(data)
            draft.replace(target)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise
    except OSError as error:
        raise RunError(
            f"cannot write {path}: {error.strerror}; everything seen is kept: mend the path, its "
            "permissions or the space left, and do it again"
        ) from error


def versions() -> dict[str, str]:
    """Return the versions that may matter for repeating a run."""
    return {
        "python": platform.python_version(),
        "capscope": metadata.version("capscope"),
        "numpy": metadata.version("numpy"),
    }


def _differences(recorded: Mapping[str, Any], given: Mapping[str, Any], prefix: str = "") -> Any:
    for key in {**recorded, **given}:
        old, new = recorded.get(key), given.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _differences(old, new, f"{key} ")
        elif old != new:
            yield f"{prefix}{key} was {old!r}, now {new!r}"


def _locked(path: Path, undo: ExitStack) -> int | None:
    """Take the directory for this process; None where the platform cannot lock."""
    try:
        import fcntl
    except ImportError:
        return None
    try:
        handle = os.open(path / LOCK, os.O_CREAT | os.O_RDWR, 0o644)
    except OSError as error:
        raise RunError(f"cannot write to {path}: {error.strerror}") from error
    undo.callback(os.close, handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise RunError(f"another process is working on {path}; wait for it or end it") from None
    return handle
