"""The first screen as lines of a terminal: at most forty, whatever the number of capabilities."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from capscope.insight.first_screen.families import Declined, FamilyRow
from capscope.insight.first_screen.screen import FirstScreen
from capscope.insight.first_screen.watch_out import Warned
from capscope.sanitize import sanitize
from capscope.wording import WIDTH, counted, cropped, unbroken, wrapped

if TYPE_CHECKING:
    from capscope.insight.run_facts import RunFacts

MOST_LINES = 40
MOST_WARNINGS = 6
MOST_DECLINED = 3
MOST_ROWS = 40
"""On a page, where the other rows are in the table of capabilities."""
_LEAST_ROWS = 4
_LEAST_WARNINGS = 3
_MOST_LINES = 3
"""Lines of what a warning says; its evidence and its path have two more each."""
_INDENT = "      "


def screen_lines(screen: FirstScreen, run: Path, most: int = MOST_LINES) -> Iterator[str]:
    """Render a first screen.

    Args:
        screen: What it says.
        run: The run directory, for the commands.
        most: The largest number of lines.

    Yields:
        The lines.
    """
    show = f"capscope show {shlex.quote(str(run))}"
    after = [*_declined_lines(screen, show), *_closing_lines(screen)]
    heading = list(_heading(screen))
    room = most - len(heading) - len(after) - _LEAST_ROWS - 2
    before = [*heading, *_warning_lines(screen, show, room)]
    yield from before
    yield from _row_lines(screen, show, max(most - len(before) - len(after), _LEAST_ROWS))
    yield from after


def _heading(screen: FirstScreen) -> Iterator[str]:
    yield from wrapped(f"{screen.problem}   {screen.extent}", rest="    ")


def _warning_lines(screen: FirstScreen, show: str, room: int) -> Iterator[str]:
    """List the warnings that there is room for; at least the first few."""
    yield "WATCH OUT" if screen.warnings else "NOTHING TO WATCH OUT FOR WAS SEEN"
    shown = list(map(_warning, screen.warnings[:MOST_WARNINGS]))
    while len(shown) > _LEAST_WARNINGS and sum(map(len, shown)) > room:
        del shown[-1]
    for lines in shown:
        yield from lines
    if more := len(screen.warnings) - len(shown):
        yield f"    {more:,} more: {show} --findings"
    for sentence in screen.nothing:
        yield from wrapped(sentence, "    ", "    ")


def _warning(warning: Warned) -> list[str]:
    mark = f" {'!!' if warning.serious else '! '} "
    path = f"path: {warning.path}" if warning.path else ""
    said = [(warning.what, mark, _MOST_LINES), (warning.evidence, _INDENT, 2), (path, _INDENT, 2)]
    if len(warning.evidence) + len(path) + len(_INDENT) + 3 <= WIDTH:
        said[1:] = [("   ".join(filter(None, (warning.evidence, path))), _INDENT, 1)]
    lines = []
    for text, first, most in said:
        own = list(wrapped(text, first, "      ")) if text else []
        if len(own) > most:
            own[most - 1 :] = [cropped(f"{own[most - 1]} {own[most].strip()}", WIDTH)]
        lines += own
    return lines


def _row_lines(screen: FirstScreen, show: str, room: int) -> Iterator[str]:
    """List what can be done; what comes with it has lines of its own while there is room."""
    if not screen.rows:
        yield "CAN DO    nothing was achieved yet"
        return
    # A line for the heads and, if rows are hidden, one for their number.
    shown = len(screen.rows) if len(screen.rows) < room else room - 2
    rows = list(map(_cells, screen.rows[:shown]))
    heads = [
        "CAN DO   (≥: lowest 95 % bound)",
        "% from the start",
        "% anywhere",
        "% if asked again",
    ]
    columns = [i for i in range(1, len(heads)) if any(row[i] for row in rows)]
    widths = {i: max(len(row[i]) for row in [heads, *rows]) for i in columns}
    longest = max(len(row[0]) for row in [heads, *rows])
    widths[0] = min(longest, WIDTH - sum(2 + width for width in widths.values()))
    left = room - 1 - len(screen.rows)
    for number, row in enumerate([heads, *rows]):
        words, gap, of = row[0].strip().rpartition("  (")
        told = f"{words}{gap[:-1]}{unbroken(gap[-1:] + of)}" if gap else of
        title = list(wrapped(told, "  " if number else "", "    ", widths[0]))
        besides = list(wrapped(screen.rows[number - 1].besides, _INDENT)) if number else []
        further = [*title[1:], *besides]
        whole = len(further) <= left
        cells = [title[0] if whole else _fitted(row[0], widths[0]), *(row[i] for i in columns)]
        padded = (f"{cell:{widths[i]}}" for i, cell in zip((0, *columns), cells, strict=True))
        yield "  ".join(padded).rstrip()
        if whole:
            left -= len(further)
            yield from further
    if hidden := len(screen.rows) - shown:
        yield f"  {counted(hidden, 'more row')}: {show} '*'"


def _fitted(title: str, width: int) -> str:
    """Crop the words of a title rather than the number behind them."""
    words, gap, number = title.rpartition("  (")
    room = width - len(gap + number)
    return cropped(f"{cropped(words, room)}{gap}{number}" if room > 0 else title, width)


def _cells(row: FamilyRow) -> list[str]:
    spans = (row.from_start, row.anywhere, row.in_the_end)
    return [f"  {sanitize(row.title)}", *("" if span is None else span.text for span in spans)]


def _declined_lines(screen: FirstScreen, show: str) -> Iterator[str]:
    shown: Sequence[Declined] = screen.declined[:MOST_DECLINED]
    for number, one in enumerate(shown):
        head = "        " if number else "DECLINES"
        yield cropped(f"{head}  {sanitize(f'{one.words}: {one.how}')}", WIDTH)
    hidden = sum(len(one.intents) for one in screen.declined[MOST_DECLINED:])
    if hidden:
        yield f"          {counted(hidden, 'more request')}: {show} '*'"
    if screen.begun:
        started = f"NOT YET   never held; a step was seen: {sanitize(screen.begun)}"
        yield cropped(started, WIDTH)
    if screen.unknown:
        yield cropped(f"UNKNOWN   never asked where not true: {sanitize(screen.unknown)}", WIDTH)


def _closing_lines(screen: FirstScreen) -> Iterator[str]:
    for number, line in enumerate(screen.sure):
        yield from wrapped(line, "HOW SURE  " if not number else "          ", "          ")
    yield from wrapped(screen.cost, "COST      ", "          ")
    for number, step in enumerate(screen.next_steps):
        # A command is never broken or cropped: it is copied.
        head = "          " if number else "NEXT      "
        yield f"{head}{f'{step.purpose}:':12}{sanitize(step.command)}"


def run_screen_lines(run: RunFacts) -> Iterator[str]:
    """Render the first screen of a run."""
    return screen_lines(run.first_screen, run.path)
