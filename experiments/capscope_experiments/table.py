"""Tables in Markdown and CSV."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from capscope.journal.run_directory import write_atomically


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table.

    >>> print(markdown_table(["a", "b"], [[1, "x|y"]]))
    | a | b |
    |---|---|
    | 1 | x\\|y |
    """
    lines = [_line(heads), "|" + "---|" * len(heads), *map(_line, rows)]
    return "\n".join(lines)


def _line(cells: Iterable[object]) -> str:
    return f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def write_csv(path: Path, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(rows)
    write_atomically(path, text.getvalue())


def spread(values: Sequence[float], form: str = "{:,.0f}") -> str:
    """Format a mean and, for several values, one standard deviation.

    >>> spread([1000, 3000])
    '2,000 ± 1,414'
    """
    middle = form.format(statistics.fmean(values))
    return middle if len(values) < 2 else f"{middle} ± {form.format(statistics.stdev(values))}"


def spread_of_cells(cells: Sequence[str], form: str = "{:,.0f}", scale: float = 1.0) -> str:
    """Format the mean and the deviation of numbers in CSV cells.

    Of runs that are known only together, each cell has the mean and the deviation of all.

    >>> spread_of_cells(["1000", "3000"]), spread_of_cells(["2000 ± 1414", "2000 ± 1414"])
    ('2,000 ± 1,414', '2,000 ± 1,414')
    """
    if "±" in cells[0]:
        return " ± ".join(form.format(scale * float(part)) for part in cells[0].split("±"))
    return spread([scale * float(cell) for cell in cells], form)


def spread_of_reached(values: Sequence[float | None]) -> str:
    """Format a mean if every run has a value, else how many have one.

    >>> spread_of_reached([7, None])
    '1 of 2 runs'
    """
    reached = [value for value in values if value is not None]
    if len(reached) == len(values):
        return spread(reached)
    return f"{len(reached)} of {len(values)} runs"
