"""The comparison of runs as a page that needs no script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from capscope.insight.diff import Comparison, RunTable
from capscope.insight.diff.comparison import TEST, change_between
from capscope.report import difference as text
from capscope.report import difference_table
from capscope.report.digest.difference_cards import DifferenceCards
from capscope.report.page.rendering import render
from capscope.report.page.terms import term_renderer

if TYPE_CHECKING:
    from capscope.run import Run


def difference_page(comparison: Comparison, newer: Run | None = None) -> str:
    """Return a comparison as one HTML file; `newer` is run B, to draw ways in."""
    predicates = () if newer is None else newer.graph.vocabulary.predicates
    return render(
        "diff.html.j2",
        comparison=comparison,
        cards=DifferenceCards(comparison, newer),
        term=term_renderer((p.name, p.phrase, p.negated) for p in predicates if p.phrase),
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
