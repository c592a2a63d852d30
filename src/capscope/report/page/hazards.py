"""Hazards as a page: a card for each, with the path to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from capscope.insight.hazards import HazardResult
from capscope.insight.hazards.wording import confidence_note
from capscope.logic import Phrasing
from capscope.report.digest.cards import CardMaker
from capscope.report.digest.size_budget import WHOLE, SizeBudget
from capscope.report.digest.states import StateListing
from capscope.report.page.rendering import render, term_renderer
from capscope.wording import as_sentence, counted

if TYPE_CHECKING:
    from capscope.run import Run


def hazards_page(run: Run, results: Sequence[HazardResult]) -> str:
    """Return what a run knows about hazards as one HTML file."""
    listing = StateListing(run.graph.vocabulary, run.executions)
    maker = CardMaker(run, listing)
    cards = maker.taken((maker.hazard_card(run, one) for one in results), SizeBudget(WHOLE))
    return render(
        "hazards.html.j2",
        run=run,
        happened=sum(bool(one.happened or one.cut_short) for one in results),
        cards=cards,
        omitted=len(results) - len(cards),
        states=listing.listed,
        term=term_renderer(Phrasing.of(run.graph.vocabulary)),
        number=counted(len(results), "hazard"),
        executions=counted(run.usage.executions, "execution"),
        note=as_sentence(confidence_note(run, len(results))),
    )
