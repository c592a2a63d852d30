"""What a command prints: answers on standard output, progress and messages on standard error.

Agents, simulators and the libraries that they use print what they like, and a single line of that
would break `--json`. So while a command runs, everything that is printed goes to standard error,
also by libraries in C and by child processes, except for answers.

What is shown in a terminal is sanitized here, once: names and transcripts come from agents and from
run directories, and could otherwise move the cursor or change earlier lines.
"""

from __future__ import annotations

import functools
import io
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, ParamSpec, TextIO

import typer
from rich.console import Console
from rich.live import Live
from rich.progress import MofNCompleteColumn, Progress
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from capscope.assessment import Event, Listener
from capscope.errors import CapscopeError
from capscope.journal.run_meta import Budget
from capscope.phases import PHASES
from capscope.problem.attempt import only_by_itself
from capscope.sanitize import sanitize
from capscope.wording import counted

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
    """Write a line that is not an answer to standard error."""
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


_SECONDS_BETWEEN_LINES = 5.0
_SECONDS_BETWEEN_FRAMES = 0.1
P = ParamSpec("P")


def print_json(document: Mapping[str, Any]) -> None:
    """Print one JSON object on standard output."""
    write_answer(json.dumps(document))


def print_line(text: str = "") -> None:
    """Print text on standard output, without markup and without cutting it."""
    for line in text.split("\n"):
        write_answer(line)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines on standard output."""
    for line in lines:
        print_line(line)


@contextmanager
def interruptible(message: Callable[[], str]) -> Iterator[None]:
    """Turn Ctrl-C into exit code 130 and a message that says what was kept."""
    try:
        yield
    except KeyboardInterrupt:
        write_message(f"interrupted; {message()}")
        raise typer.Exit(130) from None


def _throttled(show: Callable[P, None], seconds: float) -> Callable[P, None]:
    """Return a function that does nothing if its last effect is too recent."""
    last = time.perf_counter()

    def called(*args: P.args, **kwargs: P.kwargs) -> None:
        nonlocal last
        if time.perf_counter() - last >= seconds:
            last = time.perf_counter()
            show(*args, **kwargs)

    return called


class _PhaseHandler(logging.Handler):
    """Shows the phases of a computation."""

    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__()
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        """Show the current phase."""
        self._show(sanitize(record.getMessage()))


@contextmanager
def _shown_phases(show: Callable[[str], None]) -> Iterator[None]:
    handler, level = _PhaseHandler(show), PHASES.level
    PHASES.addHandler(handler)
    PHASES.setLevel(logging.INFO)
    try:
        yield
    finally:
        PHASES.setLevel(level)
        PHASES.removeHandler(handler)


@contextmanager
def phases(title: str) -> Iterator[None]:
    """Show what a command is doing: live on a terminal, otherwise a line if it takes long.

    A quick command prints nothing. Messages have to wait for the end of the block.
    """
    console = Console(stderr=True)
    begun = time.perf_counter()
    if not console.is_terminal:
        plain = _throttled(
            lambda what: _print_phase(console, title, what, begun), _SECONDS_BETWEEN_LINES
        )
        with _shown_phases(plain):
            yield
        return
    spinner = Spinner("dots", Text(title))
    with Live(spinner, console=console, transient=True) as live:

        def lively(what: str) -> None:
            spinner.update(text=Text(f"{title}: {what}"))
            live.refresh()

        with _shown_phases(lively):
            yield


def _print_phase(console: Console, title: str, what: str, begun: float) -> None:
    text = f"{title}{': ' if title else ''}{what} ({time.perf_counter() - begun:.0f} s so far)"
    console.print(sanitize(text), soft_wrap=True, markup=False, highlight=False)


@contextmanager
def progress(title: str, budget: Budget | None) -> Iterator[Listener]:
    """Show the progress of a run: live on a terminal, otherwise a line every few seconds."""
    console, title = Console(stderr=True), sanitize(title)
    begun = time.perf_counter()

    def plain(event: Event) -> None:
        text = _summary(title, event, time.perf_counter() - begun)
        console.print(text, soft_wrap=True, markup=False, highlight=False)

    if not console.is_terminal:
        phase = _throttled(
            lambda what: _print_phase(console, title, what, begun), _SECONDS_BETWEEN_LINES
        )
        with _shown_phases(phase):
            yield _throttled(plain, _SECONDS_BETWEEN_LINES)
        return
    with (
        Live(Text(f"{title}: discovering intents"), console=console, transient=True) as live,
        _shown_phases(lambda what: live.update(Text(f"{title}: {what}"), refresh=True)),
    ):

        def lively(event: Event) -> None:
            live.update(_frame(title, event, budget, time.perf_counter() - begun))

        yield _throttled(lively, _SECONDS_BETWEEN_FRAMES)


@contextmanager
def amount_done(title: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """Show how much is done: a bar on a terminal, otherwise a line every few seconds.

    Nothing is shown before the first call.
    """
    console = Console(stderr=True)

    def plain(done: int, of: int) -> None:
        write_message(f"{title}: {done:,} of {of:,} {unit}")

    begun = time.perf_counter()
    if not console.is_terminal:
        phase = _throttled(
            lambda what: _print_phase(console, "", what, begun), _SECONDS_BETWEEN_LINES
        )
        with _shown_phases(phase):
            yield _throttled(plain, _SECONDS_BETWEEN_LINES)
        return
    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        bar = bars.add_task(title, visible=False, total=None)

        def lively(done: int, of: int) -> None:
            bars.update(bar, description=title, completed=done, total=of, visible=True)

        def phase(what: str) -> None:
            bars.update(bar, description=what, visible=True)

        with _shown_phases(phase):
            yield _throttled(lively, _SECONDS_BETWEEN_FRAMES)


def _summary(title: str, event: Event, seconds: float) -> str:
    usage = event.usage
    status = "".join(f"{name} {value}, " for name, value in event.status.items())
    return (
        f"{title}: query {usage.queries:,}, {counted(usage.executions, 'execution')}, "
        f"{counted(usage.simulator_steps, 'step')}, {counted(event.states, 'state')}, "
        f"{counted(event.capabilities, 'capability')}, "
        f"{counted(event.pairs_tried, 'pair')} tried, {status}{seconds:.0f} s"
    )


def _frame(title: str, event: Event, budget: Budget | None, seconds: float) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_row(Text(title, style="bold"), f"{seconds:.0f} s")
    table.add_row("queries", f"{event.usage.queries:,}")
    llm = ("llm_tokens", "llm_cost") if event.usage.llm_tokens else ()
    for name in ("executions", "simulator_steps", *llm):
        spent, allowed = round(getattr(event.usage, name), 6), getattr(budget, name, None)
        of = f" of {allowed:,}" if allowed is not None else ""
        table.add_row(name.replace("_", " "), f"{spent:,}{of}")
    table.add_row("states seen", f"{event.states:,}")
    table.add_row("capabilities", f"{event.capabilities}")
    table.add_row("pairs tried", f"{event.pairs_tried:,}")
    for name, text in event.status.items():
        table.add_row(name, text)
    return table
