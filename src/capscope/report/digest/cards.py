"""Findings and hazards as cards: the sentence, its rates, and the path from the beginning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from capscope.insight.findings import Example, Finding
from capscope.insight.hazards import HazardResult
from capscope.insight.hazards.wording import hazard_details, hazard_headline
from capscope.logic import Effect, ExactlyOne, Literal, Phrasing, State, Vocabulary
from capscope.model.transitions import KnownPath, KnownStep
from capscope.report.digest.size_budget import SizeBudget
from capscope.report.digest.states import StateListing
from capscope.report.text import example_text
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
_LEAST_HARM = 2
"""The rank from which a finding is about what the agent does or fails to do."""
_MOST_LITERALS = 6
"""Literals listed for one state of a path."""


class Tone(StrEnum):
    """How a reader should take something; the page gives each a color, a sign and a word."""

    GOOD = "good"
    ODD = "odd"
    HARM = "harm"
    IDLE = "idle"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class WayNode:
    """A state on a path."""

    state: int
    """Its number: see `StateListing`."""
    literals: tuple[str, ...]
    """What is new in the state; in the first, what holds there and matters later."""
    more: int = 0
    """Literals that are not listed."""


@dataclass(frozen=True, slots=True)
class WayArrow:
    """A request on a path, from one node to the next."""

    intent: str
    count: int
    """How often it led to the next node."""
    draws: int
    """How often it was made in the node before."""


@dataclass(frozen=True, slots=True)
class WayDigest:
    """How to get there: states, and the request between each and the next."""

    nodes: tuple[WayNode, ...]
    arrows: tuple[WayArrow, ...]
    """One fewer than nodes. The last is what the card is about, if `from_beginning`."""
    from_beginning: bool
    """Whether the first node is a state in which runs begin; otherwise no path is known."""
    gap: int = 0
    """The node after which steps are left out, if there are any."""
    omitted: int = 0
    """Steps left out there."""


@dataclass(frozen=True, slots=True)
class CardDigest:
    """A statement with its evidence: a finding, a hazard, a difference between runs."""

    kind: str
    tone: Tone
    sentence: str
    example: str
    """A sentence, or empty."""
    intents: tuple[str, ...]
    rates: tuple[tuple[str, Rate], ...] = ()
    """What happened, and what it is compared with, each with a label."""
    way: WayDigest | None = None
    details: tuple[str, ...] = ()
    """Further sentences."""


def tone_of(finding: Finding) -> Tone:
    """Return whether a finding is about harm, or merely about how the agent gets there."""
    return Tone.HARM if finding.harm >= _LEAST_HARM else Tone.ODD


class CardMaker:
    """Makes the cards of a run; states are numbers of the listing."""

    def __init__(self, run: Run, listing: StateListing) -> None:
        self._vocabulary: Vocabulary = run.graph.vocabulary
        self._phrasing = Phrasing.of(self._vocabulary)
        self._groups: ExactlyOne = run.graph.exactly_one
        self._listing = listing

    def taken(self, cards: Iterable[CardDigest], space: SizeBudget) -> tuple[CardDigest, ...]:
        """Take as many cards as fit, in the given order."""
        kept: list[CardDigest] = []
        for card in cards:
            numbers = [node.state for node in card.way.nodes] if card.way else []
            if not self._listing.take(numbers, space, card):
                break
            kept.append(card)
        return tuple(kept)

    def hazard_card(self, run: Run, result: HazardResult) -> CardDigest:
        """Make the card of a hazard: how often it happened, and the shortest path to it."""
        first = result.unasked[:1]
        ways = [self.way_digest(pair.way) for pair in first if pair.way]
        return CardDigest(
            HAZARD,
            Tone.HARM if result.happened or result.cut_short else Tone.IDLE,
            self._phrasing.sentence(as_sentence(sanitize(f"hazard {hazard_headline(result)}"))),
            "",
            tuple(dict.fromkeys(sanitize(str(pair.intent)) for pair in result.unasked)),
            tuple(("at the end of this path", pair.rate) for pair in first),
            ways[0] if ways else None,
            tuple(
                self._phrasing.sentence(as_sentence(sanitize(line)))
                for line in hazard_details(run, result)
            ),
        )

    def card(self, finding: Finding) -> CardDigest:
        """Make the card of a finding."""
        example, way = "", None
        for shown in finding.examples[:1]:
            name = f"s{self._listing.number[shown.state]}"
            text = sanitize(example_text(shown, self._listing.always, name))
            example = f"For {self._phrasing.sentence(text)}."
            way = self._way(finding, shown)
        rates = [("how often", finding.rate)]
        if finding.against is not None:
            rates.append(("compared with", finding.against))
        return CardDigest(
            finding.kind,
            tone_of(finding),
            self._phrasing.sentence(sanitize(finding.sentence)),
            example,
            tuple(sanitize(str(intent)) for intent in finding.intents),
            tuple(rates),
            way,
        )

    def _way(self, finding: Finding, example: Example) -> WayDigest:
        known = finding.way
        shown = KnownStep(
            example.state, example.intent, example.after, example.count, example.draws
        )
        mentioned = [literal for clause in finding.when for literal in clause.term]
        mentioned += [*finding.literals, *example.intent.mentioned]
        way = self.way_digest((*(known or ()), shown), mentioned)
        return replace(way, from_beginning=known is not None)

    def way_digest(self, steps: KnownPath, mentioned: Sequence[Literal] = ()) -> WayDigest:
        """Draw steps; the first state shows what changes later and what is mentioned."""
        # A condition about all objects of a type has variables, which are not atoms.
        known = (self._vocabulary.bit.get(literal.atom, 0) for literal in mentioned)
        own = reduce(or_, known, 0)
        matters = reduce(or_, (step.state ^ step.after for step in steps), own)
        nodes = [self._node(steps[0].state, self._holding(steps[0].state & matters))]
        nodes += [self._node(step.after, self._changes(step)) for step in steps]
        arrows = [WayArrow(sanitize(str(s.intent)), s.count, s.draws) for s in steps]
        omitted = len(arrows) - _MOST_ARROWS
        if omitted <= 1:
            return WayDigest(tuple(nodes), tuple(arrows), from_beginning=True)
        del nodes[_FIRST_ARROWS + 1 : _FIRST_ARROWS + omitted]
        del arrows[_FIRST_ARROWS : _FIRST_ARROWS + omitted - 1]
        gap = WayArrow("", 0, 0)
        arrows[_FIRST_ARROWS] = gap
        return WayDigest(tuple(nodes), tuple(arrows), True, _FIRST_ARROWS, omitted)

    def _node(self, state: State, literals: Sequence[str]) -> WayNode:
        number = self._listing.number[state]
        return WayNode(
            number, tuple(literals[:_MOST_LITERALS]), max(len(literals) - _MOST_LITERALS, 0)
        )

    def _holding(self, state: State) -> tuple[str, ...]:
        return self._listing.holding(state & ~self._listing.always)

    def _changes(self, step: KnownStep) -> list[str]:
        effect = self._groups.without_implied(Effect.between(step.state, step.after))
        return [sanitize(str(literal)) for literal in effect.literals(self._vocabulary)]
