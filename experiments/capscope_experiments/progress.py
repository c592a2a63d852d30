"""Show on standard error how far the experiments have come."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from capscope_experiments.workers import Standing, Tell

_SECONDS_BETWEEN_LINES = 5.0


@contextmanager
def bench_progress() -> Iterator[Tell]:
    """Show how far a list of jobs has come, with the time left; Ctrl-C keeps what was done."""
    console = Console(stderr=True)
    last = [time.perf_counter()]
    try:
        if not console.is_terminal:

            def plain(standing: Standing) -> None:
                if time.perf_counter() - last[0] >= _SECONDS_BETWEEN_LINES:
                    last[0] = time.perf_counter()
                    text = "; ".join(_standing_lines(standing))
                    console.print(text, soft_wrap=True, markup=False, highlight=False)

            yield plain
            return
        with Live(Text(""), console=console, transient=True) as live:
            yield lambda standing: live.update(Text("\n".join(_standing_lines(standing))))
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; every run is kept, the same command goes on\n")
        raise typer.Exit(130) from None


def _standing_lines(standing: Standing) -> Iterator[str]:
    left = standing.seconds_left
    time_left = "" if left is None else f", about {_duration(left)} left"
    yield f"{standing.done} of {standing.total} done{time_left}"
    for name, words in standing.running.items():
        yield f"{name}: {words}"


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 1:
        return f"{seconds:.0f} s"
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
