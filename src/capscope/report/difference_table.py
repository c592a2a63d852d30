"""Several runs as a table: a row for each capability, a column for each run."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from string import ascii_uppercase

from capscope.insight.diff import Comparison, Difference, RunTable, TableRow
from capscope.insight.diff.comparison import GAINS, LOSSES, TEST, DiffKind
from capscope.report.difference import (
    NEW_SUSPECTED,
    heading,
    new_change_sentence,
    run_text,
    verdict,
)
from capscope.sanitize import sanitize
from capscope.wording import counted, wrapped

LOWER, HIGHER, PARTLY = "▼", "▲", "*"
RATES = (
    "success where the intent did not hold, mean over the states in which all runs of a row tried "
    "the capability, with 95 % intervals that are valid for any strategy"
)
MARKS = (
    f"{LOWER} {HIGHER}: achieved less or more often than in the run before, as far as the evidence "
    f"supports it; {PARTLY} under a condition only"
)
_UNKNOWN = "–"
_LOWER = LOSSES | {DiffKind.LESS_HAZARDOUS}
_HIGHER = GAINS | {DiffKind.MORE_HAZARDOUS}


def run_names(table: RunTable) -> list[str]:
    """Name the runs A, B, C, …; with more than 26 of them by number.

    The last is the newest.
    """
    number = len(table.runs)
    return [*ascii_uppercase[:number]] if number <= 26 else [f"run {i + 1}" for i in range(number)]


def table_lines(table: RunTable) -> Iterator[str]:
    """Describe several runs."""
    names = run_names(table)
    for name, run in zip(names, table.runs, strict=True):
        yield from wrapped(f"{name}: {run_text(run)}", "", "")
    yield ""
    yield from wrapped(RATES, "", "")
    yield ""
    yield from _aligned([headings(table), *(row_cells(row) for row in table.rows)])
    yield ""
    yield from wrapped(MARKS, "", "")
    yield ""
    for sentence in comparison_sentences(table):
        yield from wrapped(sentence, "", "  ")
    yield ""
    yield from wrapped(
        f"error rate {table.error_rate:g} for all of these comparisons. {TEST}", "", ""
    )


def headings(table: RunTable) -> list[str]:
    """Return the headings of the columns."""
    names = run_names(table)
    return ["capability", *names, f"{names[-1]} against {names[0]}"]


def row_cells(row: TableRow) -> list[str]:
    """Return a row of the table as text."""
    cells = [sanitize(str(row.capability))]
    for rate, changes in zip(row.rates, row.changes, strict=True):
        known = f"{rate.probability:.2f} [{rate.low:.2f}, {rate.high:.2f}]" if rate else _UNKNOWN
        cells.append(" ".join([known, *map(_mark, changes)]))
    return [*cells, "; ".join(_named(change) for change in row.overall)]


def _mark(change: Difference) -> str:
    mark = LOWER if change.change in _LOWER else HIGHER
    return mark + (PARTLY if change.where.elsewhere else "")


def _named(change: Difference) -> str:
    return f"{change.change}{PARTLY if change.where.elsewhere else ''}"


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip_longest(*rows, fillvalue="")]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def comparison_sentences(table: RunTable) -> Iterator[str]:
    """Summarize each comparison, the last one in detail."""
    names = run_names(table)
    for i, step in enumerate(table.steps, start=1):
        yield f"{names[i]} against {names[i - 1]}: {verdict(step)}"
    yield f"{names[-1]} against {names[0]}: {verdict(table.overall)}{_details(table.overall)}"
    for difference in table.overall.differences:
        yield f"  {difference.change}: {heading(difference)}"
    for new in table.overall.suspected_changes:
        yield f"  {NEW_SUSPECTED}: {new_change_sentence(new)}"


def _details(comparison: Comparison) -> str:
    unknown = len(comparison.unknown)
    if not unknown:
        return ""
    return f"; {counted(unknown, 'capability')} could not be compared"
