"""The comparison of runs as a page that needs no script.

A difference is a card with both rates. A comparison knows states and counts, not how to get there.
If the newer run is at hand, the card draws the shortest known way to the state in which the runs
disagree most, and then what the newer agent does there: with the event if it became more frequent,
without it otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from capscope.insight.diff import Comparison, Difference, RunTable, wording
from capscope.insight.diff.comparison import GAINS, DiffKind, Unchanged
from capscope.logic import State
from capscope.model.transitions import KnownPath, KnownPaths, KnownStep
from capscope.report.digest.cards import CardMaker, Tone, in_words, make_card
from capscope.report.digest.size_budget import WHOLE, SizeBudget
from capscope.report.digest.states import StateListing
from capscope.report.page.rendering import render, term_renderer
from capscope.sanitize import sanitize

if TYPE_CHECKING:
    from capscope.run import Run

_BETTER = GAINS | {DiffKind.SIDE_EFFECT_GONE, DiffKind.LESS_FREQUENT, DiffKind.LESS_HAZARDOUS}


def difference_page(comparison: Comparison, newer: Run | None = None) -> str:
    """Return a comparison as one HTML file; `newer` is run B, to draw paths in."""
    predicates = () if newer is None else newer.graph.vocabulary.predicates
    ways = None if newer is None else _Ways(newer)
    cards = {
        "differences": [_card(one, ways) for one in comparison.differences],
        "suspected": list(map(_suspected_card, comparison.suspected)),
        "states": {} if ways is None else ways.listing.listed,
    }
    return render(
        "diff.html.j2",
        comparison=comparison,
        cards=cards,
        term=term_renderer((p.name, p.phrase, p.negated) for p in predicates if p.phrase),
        text=wording,
    )


def table_page(table: RunTable) -> str:
    """Return the comparison of several runs as one HTML file."""
    return render(
        "diff_table.html.j2",
        table=table,
        names=wording.run_names(table),
        text=wording,
    )


def _card(difference: Difference, ways: _Ways | None) -> dict[str, Any]:
    return make_card(
        str(difference.change),
        Tone.GOOD if difference.change in _BETTER else Tone.HARM,
        in_words(difference.vocabulary)(wording.sentence(difference)),
        [difference.capability],
        [("B", difference.b), ("A", difference.a)],
        way=None if ways is None else ways.drawn(difference),
    )


def _suspected_card(capability: Unchanged) -> dict[str, Any]:
    return make_card(
        "suspected",
        Tone.UNKNOWN,
        sanitize(f"{capability.capability}: {wording.size(capability)}"),
        [capability.capability],
        [("B", capability.b), ("A", capability.a)],
    )


class _Ways:
    """Draws paths in a run, and lists their states."""

    def __init__(self, run: Run) -> None:
        self._graph = run.graph
        self._ways = KnownPaths(run.graph, run.initial_positions.states)
        self._space = SizeBudget(WHOLE)
        self.listing = StateListing(run.graph.vocabulary, run.executions)
        self._maker = CardMaker(run, self.listing)

    def drawn(self, difference: Difference) -> dict[str, Any] | None:
        """Draw the path to the state that disagrees most and is known here; None without one."""
        if difference.vocabulary != self._graph.vocabulary:
            return None  # states were compared by the atoms that both have
        found = (self._shown(difference, counts.state) for counts in difference.counts)
        steps, known = next(filter(None, found), ((), False))
        if not steps:
            return None
        mentioned = (*difference.literals, *difference.capability.mentioned)
        way = self._maker.way_digest(steps, mentioned, known)
        return way if self._maker.take_way(way, self._space, way) else None

    def _shown(self, difference: Difference, state: State) -> tuple[KnownPath, bool] | None:
        """Return the way through a state and what then happens, and if it is from the beginning."""
        steps = list(self._steps(difference, state))
        if not steps:
            return None
        known = self._ways.to(state)
        return (*(known or ()), max(steps, key=lambda step: step.count)), known is not None

    def _steps(self, difference: Difference, state: State) -> Iterator[KnownStep]:
        vocabulary, intent = self._graph.vocabulary, difference.capability
        node, capability = self._graph.nodes.get(state), self._graph.index.get(intent)
        pair = None if node is None or capability is None else node.pairs[capability]
        if pair is None:
            return
        happens = vocabulary.test(difference.literals) if difference.literals else None
        event = happens or intent.test(vocabulary)
        more = difference.difference[0] > 0
        for effect, count in pair.counts.items():
            after = effect.apply(state)
            if event(after) == more:
                yield KnownStep(state, intent, after, count, pair.total)
