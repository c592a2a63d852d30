"""What a command prints: answers on standard output, progress and messages on standard error.

Agents, simulators and the libraries that they use print what they like, and a single line of that
would break `--json`. So while a command runs, everything that is printed goes to standard error,
also by libraries in C and by child processes, except for answers.

What is shown in a terminal is sanitized here, once: names and transcripts come from agents and from
run directories, and could otherwise move the cursor or change earlier lines.
"""

from __future__ import annotations

import functools
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, redirect_stdout, suppress
from typing import Any, TextIO

import typer
from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from capscope.assessment import Event, Listener
from capscope.errors import CapscopeError
from capscope.journal.run_meta import Budget
from capscope.phases import PHASES
from capscope.problem.attempt import only_by_itself
from capscope.sanitize import sanitize

_STDOUT, _STDERR = 1, 2
_answers: TextIO | None = None
"""Where answers go while everything else that is printed goes to standard error."""


def _use_answers(use: Callable[[TextIO], object]) -> None:
    """Use the stream of answers, unless the calling program has closed it."""
    stream = _answers or sys.stdout
    if stream is None:
        return
    try:
        use(stream)
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CapscopeError(f"cannot write to standard output: {reason}") from error


def flush_answers() -> None:
    """Show the answer so far."""
    _use_answers(lambda stream: stream.flush())


def write_message(line: str) -> None:
    """Write a line that is not an answer to standard error."""
    if sys.stderr is not None:
        sys.stderr.write(sanitize(line) + "\n")


@contextmanager
def _answer_stream() -> Iterator[TextIO | None]:
    """Yield a stream for answers while everything else that is printed goes to standard error."""
    given, kept = sys.stdout, _duplicate(sys.stdout)
    if kept is None:  # not the standard output of the process
        with redirect_stdout(sys.stderr):
            yield given
        return
    os.dup2(_STDERR, _STDOUT)
    answers = os.fdopen(kept, "w", encoding=given.encoding, errors=given.errors, closefd=False)
    try:
        # A duplicate: an agent that closes its standard output does not close standard error.
        other = os.fdopen(os.dup(_STDERR), "w", 1, errors="backslashreplace")
        with other, redirect_stdout(other):
            yield answers
    finally:
        with suppress(OSError, ValueError):
            given.flush()  # whatever was written to `sys.__stdout__`
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
        global _answers
        try:
            with _answer_stream() as _answers, only_by_itself():
                try:
                    command(*args, **kwargs)
                    flush_answers()
                except typer.Exit:
                    flush_answers()
                    raise
        finally:
            _answers = None

    return called


_SECONDS_BETWEEN_LINES = 5.0
_SECONDS_BETWEEN_FRAMES = 0.1


def print_json(document: Mapping[str, Any]) -> None:
    """Print one JSON object on standard output."""
    print_line(json.dumps(document))


def print_line(text: str = "") -> None:
    """Print text on standard output, without markup and without cutting it."""
    lines = (sanitize(line) + "\n" for line in text.split("\n"))
    _use_answers(lambda stream: stream.writelines(lines))


def print_lines(lines: Iterable[str]) -> None:
    """Print lines on standard output."""
    for line in lines:
        print_line(line)


def print_answer(
    json: bool, document: Callable[[], Mapping[str, Any]], lines: Callable[[], Iterable[str]]
) -> None:
    """Print an answer as one JSON object or as lines; only the form that is wanted is made."""
    if json:
        print_json(document())
    else:
        print_lines(lines())


def print_with_page(
    json: bool, document: Mapping[str, Any], lines: Iterable[str], html: str | None
) -> None:
    """Print an answer that was also written as a page, if `html` names a file."""
    written = [] if html is None else [f"written: {html}"]
    print_answer(json, lambda: {**document, "html": html}, lambda: [*lines, *written])


@contextmanager
def interruptible(message: Callable[[], str]) -> Iterator[None]:
    """Turn Ctrl-C into exit code 130 and a message that says what was kept."""
    try:
        yield
    except KeyboardInterrupt:
        write_message(f"interrupted; {message()}")
        raise typer.Exit(130) from None


def _throttled(show: Callable[..., None], seconds: float) -> Callable[..., None]:
    """Return a function that does nothing if its last effect is too recent."""
    last = time.perf_counter()

    def called(*news: Any) -> None:
        nonlocal last
        if time.perf_counter() - last >= seconds:
            last = time.perf_counter()
            show(*news)

    return called


@contextmanager
def _shown_phases(show: Callable[[str], None]) -> Iterator[None]:
    def shown(record: logging.LogRecord) -> bool:
        show(sanitize(record.getMessage()))
        return True

    level = PHASES.level
    PHASES.addFilter(shown)
    PHASES.setLevel(logging.INFO)
    try:
        yield
    finally:
        PHASES.setLevel(level)
        PHASES.removeFilter(shown)


@contextmanager
def _display(
    title: str, line: Callable[..., str], frame: Callable[..., RenderableType]
) -> Iterator[Callable[..., None]]:
    """Show phases and news: live on a terminal, otherwise a line every few seconds.

    Args:
        title: What goes before a phase.
        line: Makes a line of news and the seconds so far.
        frame: Makes what a terminal shows of them.

    Yields:
        A function that takes news.
    """
    console, begun = Console(stderr=True), time.perf_counter()

    def seconds() -> float:
        return time.perf_counter() - begun

    def say(text: str) -> None:
        console.print(sanitize(text), soft_wrap=True, markup=False, highlight=False)

    def phase_line(what: str) -> None:
        say(f"{title}{what} ({seconds():.0f} s so far)")

    if not console.is_terminal:
        with _shown_phases(_throttled(phase_line, _SECONDS_BETWEEN_LINES)):
            yield _throttled(lambda *news: say(line(*news, seconds())), _SECONDS_BETWEEN_LINES)
        return
    spinner = Spinner("dots", Text(sanitize(title)))
    with Live(spinner, console=console, transient=True) as live:

        def show(shown: RenderableType) -> None:
            spinner.update(text=shown)
            live.refresh()

        with _shown_phases(lambda what: show(Text(f"{sanitize(title)}{what}"))):
            yield _throttled(lambda *news: show(frame(*news, seconds())), _SECONDS_BETWEEN_FRAMES)


@contextmanager
def phases(title: str) -> Iterator[None]:
    """Show what a command is doing; a quick command prints nothing.

    Messages have to wait for the end of the block.
    """
    with _display(f"{title}: ", str, str):
        yield


def progress(title: str, budget: Budget | None) -> AbstractContextManager[Listener]:
    """Show the progress of a run."""

    def line(event: Event, seconds: float) -> str:
        facts = ", ".join(f"{name} {value}" for name, value in _facts(event, budget))
        return f"{title}: {facts}, {seconds:.0f} s"

    def table(event: Event, seconds: float) -> Table:
        rows = Table.grid(padding=(0, 2))
        rows.add_row(Text(sanitize(title), style="bold"), f"{seconds:.0f} s")
        for name, value in _facts(event, budget):
            rows.add_row(name, Text(sanitize(value)))
        return rows

    return _display(f"{title}: ", line, table)


def amount_done(title: str, unit: str) -> AbstractContextManager[Callable[[int, int], None]]:
    """Show how much is done, as a bar on a terminal; the yielded function takes done and of."""

    def line(done: int, of: int, seconds: float) -> str:
        return f"{title}: {done:,} of {of:,} {unit}"

    def bar(done: int, of: int, seconds: float) -> Table:
        left = f"about {seconds * (of - done) / done:.0f} s left" if done else ""
        table = Table.grid(padding=(0, 1))
        table.add_row(title, ProgressBar(of, done, width=40), f"{done:,}/{of:,} {unit}", left)
        return table

    return _display("", line, bar)


def _facts(event: Event, budget: Budget | None) -> Iterator[tuple[str, str]]:
    """Yield how far a run is: names and values."""
    yield "queries", f"{event.usage.queries:,}"
    llm = ("llm_tokens", "llm_cost") if event.usage.llm_tokens else ()
    for name in ("executions", "simulator_steps", *llm):
        spent, allowed = round(getattr(event.usage, name), 6), getattr(budget, name, None)
        of = f" of {allowed:,}" if allowed is not None else ""
        yield name.replace("_", " "), f"{spent:,}{of}"
    yield "states", f"{event.states:,}"
    yield "capabilities", f"{event.capabilities}"
    yield "pairs tried", f"{event.pairs_tried:,}"
    yield from event.status.items()
