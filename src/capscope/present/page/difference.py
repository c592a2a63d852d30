"""The comparison of runs as a page that needs no script."""

from itertools import groupby

from capscope.analysis.diff import Comparison, DiffKind, RunTable
from capscope.analysis.diff.comparison import (
    GAINS,
    HAZARDS,
    LOSSES,
    NEW_SIDE_EFFECTS,
    TEST,
    change_between,
)
from capscope.present import difference as text
from capscope.present import difference_table
from capscope.present.page.rendering import render

_ODD = LOSSES | NEW_SIDE_EFFECTS | HAZARDS


def difference_page(comparison: Comparison) -> str:
    """Return a comparison as one HTML file."""
    groups = groupby(comparison.differences, key=lambda difference: difference.change)
    return render(
        "diff.html.j2",
        comparison=comparison,
        groups=[(change, list(differences)) for change, differences in groups],
        tone=_tone,
        text=text,
        change_between=change_between,
        test=TEST,
    )


def table_page(table: RunTable) -> str:
    """Return the comparison of several runs as one HTML file."""
    return render(
        "diff_table.html.j2",
        table=table,
        names=difference_table.run_names(table),
        text=text,
        cells=difference_table,
        test=TEST,
    )


def _tone(change: DiffKind) -> str:
    """Return the color class: odd for changes that need attention, good for improvements."""
    if change in _ODD:
        return "odd"
    return "good" if change in GAINS else ""
