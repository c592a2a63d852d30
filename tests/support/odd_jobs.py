"""Jobs for other processes, in their own module: each process imports it."""

import gc
import os
import signal
import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from capscope.errors import CapscopeError
from support.processes import SECONDS


@dataclass(frozen=True)
class Named:
    name: str
    kind: str = "odd"


@dataclass(frozen=True)
class Answering(Named):
    """Reports its status and returns its answer, with the id of its process."""

    answer: object = None

    def __call__(self, report):
        report(f"thinking of {self.name}")
        return self.answer, os.getpid()


@dataclass(frozen=True)
class Raising(Named):
    error: Exception | None = None

    def __call__(self, report):
        raise self.error


@dataclass(frozen=True)
class Exiting(Named):
    def __call__(self, report):
        sys.exit(5)


@dataclass(frozen=True)
class Dying(Named):
    def __call__(self, report):
        os._exit(7)


@dataclass(frozen=True)
class DyingOnce(Named):
    """Ends its process the first time, and returns how often it was begun after that."""

    file: Path | None = None

    def __call__(self, report):
        begun = self.file.read_text() if self.file.exists() else ""
        self.file.write_text(begun + "x")
        if not begun:
            os._exit(7)
        return len(begun)


@dataclass(frozen=True)
class DyingWhileSending(Named):
    def __call__(self, report):
        [pipe] = [thing for thing in gc.get_objects() if isinstance(thing, Connection)]
        os.write(pipe.fileno(), (256).to_bytes(4, "big") + b"some of it")
        os._exit(8)


@dataclass(frozen=True)
class Waiting(Named):
    """Writes the id of its process into the pipe, and waits until it is ended."""

    fifo: Path | None = None

    def __call__(self, report):
        signal.alarm(SECONDS)  # ends it even if the test itself was killed
        report("waiting")
        if self.fifo:
            self.fifo.write_text(str(os.getpid()))
        signal.pause()


@dataclass(frozen=True)
class Listening(Named):
    """Waits until the other job runs; then returns the id of its process, or fails."""

    fifo: Path | None = None
    fails: bool = False

    def __call__(self, report):
        signal.alarm(SECONDS)
        other = self.fifo.read_text()
        if self.fails:
            raise CapscopeError(f"saw {other}")
        return int(other)
