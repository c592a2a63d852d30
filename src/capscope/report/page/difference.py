"""The comparison of runs as a page that needs no script.

A difference is a card with both rates. A comparison knows states and counts, not how to get there.
If the newer run is at hand, the card draws the shortest known way to the state in which the runs
disagree most, and then what the newer agent does there: with the event if it became more frequent,
without it otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from capscope.insight.diff import Comparison, Difference, RunTable, wording
from capscope.insight.diff.comparison import GAINS, DiffKind, Unchanged
from capscope.logic import Phrasing
from capscope.model import StateGraph
from capscope.model.transitions import KnownPaths, KnownStep
from capscope.report.digest.cards import CardMaker, Tone, make_card
from capscope.report.digest.size_budget import WHOLE, SizeBudget
from capscope.report.digest.states import StateListing
from capscope.report.page.rendering import render, term_renderer
from capscope.report.text import in_words
from capscope.sanitize import sanitize

if TYPE_CHECKING:
    from capscope.run import Run

_BETTER = GAINS | {DiffKind.SIDE_EFFECT_GONE, DiffKind.LESS_FREQUENT, DiffKind.LESS_HAZARDOUS}


def difference_page(comparison: Comparison, newer: Run | None = None) -> str:
    """Return a comparison as one HTML file; `newer` is run B, to draw paths in."""
    found = comparison.differences
    ways: Sequence[dict[str, Any] | None] = [None] * len(found)
    states: Mapping[int, dict[str, Any]] = {}
    if newer is not None:
        ways, states = _drawn_paths(found, newer)
    cards = {
        "differences": list(map(_card, found, ways)),
        "suspected": list(map(_suspected_card, comparison.suspected)),
        "states": states,
    }
    phrasing = Phrasing({}) if newer is None else Phrasing.of(newer.graph.vocabulary)
    return render(
        "diff.html.j2",
        comparison=comparison,
        cards=cards,
        term=term_renderer(phrasing),
        text=wording,
    )


def table_page(table: RunTable) -> str:
    """Return the comparison of several runs as one HTML file."""
    names = wording.run_names(table)
    return render("diff_table.html.j2", table=table, names=names, text=wording)


def _card(difference: Difference, way: dict[str, Any] | None) -> dict[str, Any]:
    return make_card(
        str(difference.change),
        Tone.GOOD if difference.change in _BETTER else Tone.HARM,
        in_words(difference.vocabulary)(wording.sentence(difference)),
        [difference.capability],
        [("B", difference.b), ("A", difference.a)],
        way=way,
    )


def _suspected_card(capability: Unchanged) -> dict[str, Any]:
    return make_card(
        "suspected",
        Tone.UNKNOWN,
        sanitize(f"{capability.capability}: {wording.size(capability)}"),
        [capability.capability],
        [("B", capability.b), ("A", capability.a)],
    )


def _drawn_paths(
    differences: Sequence[Difference], run: Run
) -> tuple[list[dict[str, Any] | None], dict[int, dict[str, Any]]]:
    """Draw a path for each difference that can be seen in a run, and list the states on them."""
    listing, space = StateListing(run.graph.vocabulary, run.executions), SizeBudget(WHOLE)
    maker, paths = CardMaker(run, listing), KnownPaths(run.graph, run.initial_positions.states)
    ways: list[dict[str, Any] | None] = [None] * len(differences)
    for i, difference in enumerate(differences):
        step = _shown_step(difference, run.graph)
        if step is not None:
            known = paths.to(step.state)
            mentioned = (*difference.literals, *difference.capability.mentioned)
            way = maker.way_digest((*(known or ()), step), mentioned, known is not None)
            ways[i] = way if maker.take_way(way, space, way) else None
    return ways, listing.listed


def _shown_step(difference: Difference, graph: StateGraph) -> KnownStep | None:
    """Return what happens most often in the state that disagrees most and is known here."""
    vocabulary, intent = graph.vocabulary, difference.capability
    if difference.vocabulary != vocabulary or intent not in graph.index:
        return None  # states were compared by the atoms that both have
    event = vocabulary.test(difference.literals) if difference.literals else intent.test(vocabulary)
    more = difference.difference[0] > 0
    for state in (counts.state for counts in difference.counts):
        if pair := graph.pair(state, graph.index[intent]):
            ends = ((effect.apply(state), count) for effect, count in pair.counts.items())
            found = [
                KnownStep(state, intent, after, count, pair.total)
                for after, count in ends
                if event(after) == more
            ]
            if found:
                return max(found, key=lambda step: step.count)
    return None
