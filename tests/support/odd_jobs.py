"""Jobs for worker processes, in a module of their own: each process imports it afresh."""

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
    """Says a word and returns what it was given, with the process that did it."""

    answer: object = None

    def __call__(self, hear):
        hear(f"thinking of {self.name}")
        return self.answer, os.getpid()


@dataclass(frozen=True)
class Raising(Named):
    error: Exception | None = None

    def __call__(self, hear):
        raise self.error


@dataclass(frozen=True)
class Exiting(Named):
    def __call__(self, hear):
        sys.exit(5)


@dataclass(frozen=True)
class Dying(Named):
    def __call__(self, hear):
        os._exit(7)


@dataclass(frozen=True)
class DyingWhileItSpeaks(Named):
    def __call__(self, hear):
        [pipe] = [thing for thing in gc.get_objects() if isinstance(thing, Connection)]
        os.write(pipe.fileno(), (256).to_bytes(4, "big") + b"some of it")
        os._exit(8)


@dataclass(frozen=True)
class Unmoved(Named):
    """Is sent a Ctrl-C and goes on."""

    def __call__(self, hear):
        os.kill(os.getpid(), signal.SIGINT)
        return "still here", os.getpid()


@dataclass(frozen=True)
class Waiting(Named):
    """Reports its process to the reader of the pipe and waits until it is ended."""

    fifo: Path | None = None

    def __call__(self, hear):
        signal.alarm(SECONDS)  # nobody ends it if the test itself was killed
        hear("waiting")
        if self.fifo:
            self.fifo.write_text(str(os.getpid()))
        signal.pause()


@dataclass(frozen=True)
class Listening(Named):
    """Waits until the other one is under way; then returns its process, or fails."""

    fifo: Path | None = None
    fails: bool = False

    def __call__(self, hear):
        signal.alarm(SECONDS)
        other = self.fifo.read_text()
        if self.fails:
            raise CapscopeError(f"saw {other}")
        return int(other)
