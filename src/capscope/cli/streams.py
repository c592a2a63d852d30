"""The two streams of a command: standard output for answers, standard error for everything else.

Agents, simulators and the libraries that they use print what they like, and a single line of that
would break `--json`. So while a command runs, everything that is printed goes to standard error,
also by libraries in C and by child processes, except for answers.

What is shown in a terminal is sanitized here, once: names and transcripts come from agents and from
run directories, and could otherwise move the cursor or change earlier lines.
"""

from __future__ import annotations

import functools
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

import typer

from capscope.errors import CapscopeError
from capscope.problem.program_end import only_by_itself
from capscope.sanitize import sanitize

_STDOUT, _STDERR = 1, 2
_answers: TextIO | None = None
"""Where answers go while everything else that is printed goes to standard error."""


def write_answer(line: str) -> None:
    """Write a line of an answer to standard output."""
    stream = _answers or sys.stdout
    if stream is not None:  # it may have been closed by the calling program
        with _reported():
            stream.write(sanitize(line) + "\n")


def flush_answers() -> None:
    """Show the answer so far."""
    stream = _answers or sys.stdout
    if stream is not None:
        with _reported():
            stream.flush()


def write_message(line: str) -> None:
    """Write a line that is no answer to standard error."""
    if sys.stderr is not None:
        sys.stderr.write(sanitize(line) + "\n")


@contextmanager
def _reported() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CapscopeError(f"cannot write to standard output: {reason}") from error


class _Diverted(io.TextIOBase):
    """Standard output as others see it; what is written to it goes to standard error.

    Closing it does not close standard error.
    """

    def write(self, text: str) -> int:
        """Write to standard error."""
        if self.closed:
            raise ValueError("I/O operation on closed file")
        return len(text) if sys.stderr is None else sys.stderr.write(text)

    def flush(self) -> None:
        """Do nothing: standard error is not buffered for long."""

    def writable(self) -> bool:
        """Return that it can be written to."""
        return True

    def fileno(self) -> int:
        """Return the file descriptor of standard error."""
        return sys.stderr.fileno()

    @property
    def buffer(self) -> Any:
        """The binary stream of standard error."""
        return sys.stderr.buffer


@contextmanager
def answers_only() -> Iterator[None]:
    """Keep standard output for answers while the block runs."""
    global _answers
    given, before = sys.stdout, _answers
    with _own_descriptor(given) as answers:
        _answers = answers
        sys.stdout = _Diverted()
        try:
            yield
            flush_answers()
        except typer.Exit:
            flush_answers()
            raise
        finally:
            sys.stdout = given
            _answers = before


@contextmanager
def _own_descriptor(stream: TextIO | None) -> Iterator[TextIO | None]:
    """Give answers a descriptor of their own, so that the usual one can lead to standard error.

    Nothing is done for a stream that is not the standard output of the process.
    """
    kept = _duplicate(stream)
    if stream is None or kept is None:
        yield stream
        return
    os.dup2(_STDERR, _STDOUT)
    answers = open(kept, "w", encoding=stream.encoding, errors=stream.errors, closefd=False)  # noqa: SIM115
    try:
        yield answers
    finally:
        os.dup2(kept, _STDOUT)
        with suppress(OSError):  # what could be written was flushed before
            answers.close()
        os.close(kept)


def _duplicate(stream: TextIO | None) -> int | None:
    usual: object = sys.__stdout__
    if stream is None or stream is not usual:
        return None
    try:
        if stream.fileno() != _STDOUT:
            return None
        stream.flush()
        os.fstat(_STDERR)
        return os.dup(_STDOUT)
    except (OSError, ValueError):
        return None


def answering(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that prints nothing but its answer on standard output."""

    @functools.wraps(command)
    def called(*args: Any, **kwargs: Any) -> None:
        with answers_only(), only_by_itself():
            command(*args, **kwargs)

    return called
