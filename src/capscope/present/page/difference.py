"""The comparison of two runs as a page that needs no script."""

from itertools import groupby

from capscope.analysis.diff import Comparison, DiffKind
from capscope.analysis.diff.comparison import LOSSES, NEW_SIDE_EFFECTS, TEST, change_between
from capscope.present import difference as text
from capscope.present.page.rendering import render

_GOOD = frozenset({DiffKind.GAINED, DiffKind.MORE_RELIABLE})


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


def _tone(change: DiffKind) -> str:
    """Return the color class: odd for changes that need attention, good for improvements."""
    if change in LOSSES or change in NEW_SIDE_EFFECTS:
        return "odd"
    return "good" if change in _GOOD else ""
