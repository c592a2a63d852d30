"""Findings and hazards as cards: the sentence, its rates, and the path from the beginning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import reduce
from itertools import takewhile
from operator import or_
from typing import TYPE_CHECKING, Any

from capscope.insight.findings import Example, Finding
from capscope.insight.first_screen.watch_out import sentence_in_words
from capscope.insight.hazards import HazardResult
from capscope.insight.hazards.wording import hazard_details, hazard_headline
from capscope.logic import Effect, ExactlyOne, Intent, Literal, State, Vocabulary
from capscope.model.transitions import KnownPath, KnownStep
from capscope.report.digest.size_budget import SizeBudget
from capscope.report.digest.states import StateListing
from capscope.report.text import example_step, example_text, in_words
from capscope.sanitize import sanitize
from capscope.stats.rate import Rate
from capscope.wording import as_sentence

if TYPE_CHECKING:
    from capscope.run import Run

HAZARD = "hazard"
"""The kind of the cards of hazards."""
_MOST_ARROWS = 6
"""Requests drawn of one path; of a longer one the first and the last."""
_FIRST_ARROWS = 2
_MOST_LITERALS = 6
"""Literals listed for one state of a path."""


class Tone(StrEnum):
    """How a reader should take something; the page gives each a color, a sign and a word."""

    GOOD = "good"
    ODD = "odd"
    HARM = "harm"
    IDLE = "idle"
    UNKNOWN = "unknown"


def make_card(
    kind: str,
    tone: Tone,
    sentence: str,
    intents: Iterable[Intent],
    rates: Sequence[tuple[str, Rate]],
    *,
    way: dict[str, Any] | None = None,
    example: str = "",
    details: Sequence[str] = (),
) -> dict[str, Any]:
    """Make a card: a statement with its evidence.

    Args:
        kind: Of the finding, the difference between runs, or `HAZARD`.
        tone: How to take it.
        sentence: What it says.
        intents: The requests that it is about.
        rates: What happened, and what it is compared with, each with a label.
        way: The path there, see `CardMaker.way_digest`.
        example: A sentence, or empty.
        details: Further sentences.

    Returns:
        These values by name, the intents as text.
    """
    return {
        "kind": kind,
        "tone": tone,
        "sentence": sentence,
        "example": example,
        "intents": [sanitize(str(intent)) for intent in dict.fromkeys(intents)],
        "rates": rates,
        "way": way,
        "details": details,
    }


class CardMaker:
    """Makes the cards of a run; states are numbers of the listing."""

    def __init__(self, run: Run, listing: StateListing) -> None:
        self._graph = run.graph
        self._vocabulary: Vocabulary = run.graph.vocabulary
        self._said = in_words(self._vocabulary)
        self._groups: ExactlyOne = run.graph.exactly_one
        self._listing = listing

    def taken(self, cards: Iterable[dict[str, Any]], space: SizeBudget) -> list[dict[str, Any]]:
        """Take as many cards as fit, in the given order."""
        return list(takewhile(lambda card: self.take_way(card["way"], space, card), cards))

    def take_way(self, way: dict[str, Any] | None, space: SizeBudget, *values: object) -> bool:
        """List the states on a path and reserve the size of values, all or none."""
        numbers = [node["state"] for node in way["nodes"]] if way else []
        return self._listing.take(numbers, space, *values)

    def hazard_card(self, run: Run, result: HazardResult) -> dict[str, Any]:
        """Make the card of a hazard: how often it happened, and the shortest path to it."""
        first = result.unasked[:1]
        return make_card(
            HAZARD,
            Tone.HARM if result.happened or result.cut_short else Tone.IDLE,
            self._said(as_sentence(f"hazard {hazard_headline(result)}")),
            (pair.intent for pair in result.unasked),
            [("at the end of this path", pair.rate) for pair in first],
            way=next((self.way_digest(pair.way) for pair in first if pair.way), None),
            details=[self._said(as_sentence(line)) for line in hazard_details(run, result)],
        )

    def card(self, finding: Finding) -> dict[str, Any]:
        """Make the card of a finding: harm, or merely how the agent gets there."""
        example, way = "", None
        if finding.example is not None:
            name = f"s{self._listing.number[finding.example.before]}"
            example = f"For {self._said(example_text(self._graph, finding.example, name))}."
            way = self._way(finding, finding.example)
        compared = [("how often", finding.rate), ("compared with", finding.against)]
        rates = [(label, rate) for label, rate in compared if rate is not None]
        return make_card(
            finding.kind,
            Tone.HARM if finding.watch else Tone.ODD,
            sanitize(sentence_in_words(finding, self._vocabulary)),
            finding.intents,
            rates,
            way=way,
            example=example,
        )

    def _way(self, finding: Finding, example: Example) -> dict[str, Any]:
        known, shown = finding.path, example_step(self._graph, example)
        steps = (*(known or ()), shown)
        return self.way_digest(steps, example.intent.mentioned, known is not None)

    def way_digest(
        self, steps: KnownPath, mentioned: Sequence[Literal] = (), from_beginning: bool = True
    ) -> dict[str, Any]:
        """Draw steps: states as nodes, and the request between each and the next as an arrow.

        The first node shows what changes later and what is mentioned, the others what is new. If
        steps are left out, `gap` is the node after which they are, and `omitted` their number.
        """
        known = (self._vocabulary.bit.get(literal.atom, 0) for literal in mentioned)
        own = reduce(or_, known, 0)
        matters = reduce(or_, (step.state ^ step.after for step in steps), own)
        first = steps[0].state
        held = self._listing.holding(first & matters & ~self._listing.always)
        nodes = [self._node(first, held)]
        nodes += [self._node(step.after, self._changes(step)) for step in steps]
        arrows = [
            {"intent": sanitize(str(step.intent)), "count": step.count, "draws": step.draws}
            for step in steps
        ]
        way = {"nodes": nodes, "arrows": arrows, "from_beginning": from_beginning}
        omitted = len(arrows) - _MOST_ARROWS
        if omitted <= 1:
            return {**way, "gap": 0, "omitted": 0}
        del nodes[_FIRST_ARROWS + 1 : _FIRST_ARROWS + omitted]
        del arrows[_FIRST_ARROWS : _FIRST_ARROWS + omitted - 1]
        arrows[_FIRST_ARROWS] = {"intent": "", "count": 0, "draws": 0}
        return {**way, "gap": _FIRST_ARROWS, "omitted": omitted}

    def _node(self, state: State, literals: Sequence[str]) -> dict[str, Any]:
        return {
            "state": self._listing.number[state],
            "literals": literals[:_MOST_LITERALS],
            "more": max(len(literals) - _MOST_LITERALS, 0),
        }

    def _changes(self, step: KnownStep) -> list[str]:
        effect = self._groups.without_implied(Effect.between(step.state, step.after))
        return [sanitize(str(literal)) for literal in effect.literals(self._vocabulary)]
