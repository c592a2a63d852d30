"""The values that a report is made of.

A report has two halves that know nothing of each other: this one decides what is said, the page
decides how it looks. Everything here is text, numbers and positions in the lists of the digest, so
that it goes into a page as JSON and is small: a state is written once, in `states`, and is spoken
of by its position.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Standing(StrEnum):
    """What can be said of a capability in a word; the first that fits.

    Only states in which the intent did not hold already count.
    """

    UNTRIED = "untried"
    """It was never executed where the intent did not hold."""
    RELIABLE = "reliable"
    """Wherever it was tried the intent held afterwards, in every draw."""
    SOMETIMES = "sometimes"
    """It was achieved in some states or draws, and not in others."""
    NEVER = "never seen"
    """It was tried, and the intent never held afterwards."""


class Mark(StrEnum):
    """What an outcome came to."""

    ACHIEVED = "achieved"
    OTHER = "something else"
    NOTHING = "nothing changed"


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of the summary: a heading and sentences, each complete in itself."""

    heading: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A literal that an outcome makes true."""

    literal: str
    side_effect: bool
    """It is no part of the intent, and neither the intent nor another change implies it."""


@dataclass(frozen=True, slots=True)
class OutcomeDigest:
    """One outcome of a rule."""

    mark: Mark
    probability: float
    low: float
    high: float
    count: int
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class DrawDigest:
    """One execution behind a rule."""

    query: int
    draw: int
    execution: int
    outcome: int
    """Position among the outcomes of its rule."""
    trajectory: tuple[int, ...]
    """Positions in `Digest.states`, from the state before to the state after."""
    ending: str
    simulator_steps: int
    llm_tokens: int
    detail: str
    transcript: str
    """What the agent wrote down; untrusted, maybe shortened, empty if it wrote nothing."""


@dataclass(frozen=True, slots=True)
class RuleDigest:
    """A rule: when, what happened how often, and some of the draws behind it."""

    when: tuple[tuple[str, ...], ...]
    """A disjunction of conjunctions; one empty conjunction means always."""
    states: tuple[int, ...]
    """Positions in `Digest.states` of states in which it was seen; maybe not all of them."""
    states_count: int
    draws_count: int
    achieving: float
    """The probability that the intent holds afterwards."""
    held_already: bool
    """The intent held before, and nothing changed."""
    outcomes: tuple[OutcomeDigest, ...]
    draws: tuple[DrawDigest, ...]
    """Some for each outcome, the earliest first."""
    conditions_left_out: int = 0
    """Further conjunctions of the condition that were too many to be told."""


@dataclass(frozen=True, slots=True)
class CapabilityDigest:
    """A row of the table, and what it opens into."""

    intent: str
    standing: Standing
    executions: int
    states_tried: int
    states_untried: int
    """States seen in which it was never tried."""
    success: float | None
    """The mean, over the states tried in which it did not hold, of its success by their rules; None
    if there are none. States in which every capability was tried and none ever changed anything are
    left out, unless it was tried in no others."""
    success_low: float
    """The success of the rule in which it is lowest, where the intent did not hold."""
    side_effects: int
    """The most side effects of one outcome."""
    rules: tuple[RuleDigest, ...]
    """The most interesting first."""
    rules_left_out: int = 0
    """Further rules that were too many to be told."""


@dataclass(frozen=True, slots=True)
class FindingDigest:
    """A surprise: its kind, the sentence, and an example in a sentence (or empty)."""

    kind: str
    sentence: str
    example: str
    intents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LearningPoint:
    """Where the run stood after so many executions."""

    executions: int
    simulator_steps: int
    agreement: float
    """One minus the mean distance between what had been seen of a pair then and at the end: total
    variation, 1 for a pair that was untried; over the pairs tried at the end."""
    pairs: int
    transitions: int
    states: int


@dataclass(frozen=True, slots=True)
class Spending:
    """A part of what was spent."""

    name: str
    meaning: str
    executions: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of what could be tried was tried, and how often."""

    pairs_tried: int
    pairs_seen: int
    """States seen times capabilities."""
    draws_per_pair: tuple[tuple[str, int], ...]
    """A range of draws such as `2 to 5`, and the pairs with so many; `0` is the first."""


@dataclass(frozen=True, slots=True)
class StateDigest:
    """A symbolic state: what holds in it, how often executions began there, how it looks."""

    name: str
    """Short: `s0` is where the run began."""
    atoms: tuple[str, ...]
    """What holds and does not always hold."""
    executions: int
    picture: str
    """A `data:image/png` address; empty if there is none."""


@dataclass(frozen=True, slots=True)
class Edge:
    """Executions that led from one state to another."""

    source: int
    target: int
    capability: int
    """Position in `Digest.capabilities`."""
    probability: float
    """The share of the executions of the capability in the source that led to the target."""
    draws: int
    """How many did."""


@dataclass(frozen=True, slots=True)
class StateMap:
    """The states visited, or those nearest to the beginning, and what leads from one to another."""

    states: tuple[int, ...]
    """Positions in `Digest.states`."""
    edges: tuple[Edge, ...]
    left_out: int
    """States that are not on the map."""


@dataclass(frozen=True, slots=True)
class Digest:
    """Everything that a report says."""

    problem: str
    summary: tuple[Passage, ...]
    facts: tuple[tuple[str, str], ...]
    """What the run was made with: names and values."""
    always: tuple[str, ...]
    """Atoms that held in every state seen."""
    findings: tuple[FindingDigest, ...]
    findings_note: str
    """How sure the findings are, in a sentence."""
    marks_note: str
    """What is not marked as a side effect because the words imply it, in a sentence if anything."""
    capabilities: tuple[CapabilityDigest, ...]
    learning: tuple[LearningPoint, ...]
    spending: tuple[Spending, ...]
    coverage: Coverage
    states: tuple[StateDigest, ...]
    """Those that are spoken of, in the order of first sight."""
    map: StateMap
    notes: tuple[str, ...] = ()
    """What did not fit into the report, in sentences."""

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return asdict(self)
