"""The values that a report is made of: text, numbers, and indices into lists of the digest.

The digest decides what a report says, the page how it looks. Values can be embedded as JSON and
stay small: each state is written once, in `states`, and referred to by its index.
"""

from dataclasses import dataclass
from enum import StrEnum


class Standing(StrEnum):
    """How often an intent held after executions from states in which it did not hold."""

    UNTRIED = "untried"
    """There were no such executions."""
    RELIABLE = "reliable"
    SOMETIMES = "sometimes"
    NEVER = "never seen"


class Mark(StrEnum):
    """What an outcome means for the intent."""

    ACHIEVED = "achieved"
    OTHER = "something else"
    NOTHING = "nothing changed"


@dataclass(frozen=True, slots=True)
class SummarySection:
    """A section of the summary: a heading and complete sentences."""

    heading: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LiteralChange:
    """A literal that an outcome makes true."""

    literal: str
    side_effect: bool
    """The intent does not ask for it, and neither the intent nor another change implies it."""


@dataclass(frozen=True, slots=True)
class OutcomeDigest:
    """One outcome of a rule."""

    mark: Mark
    probability: float
    low: float
    high: float
    count: int
    changes: tuple[LiteralChange, ...]


@dataclass(frozen=True, slots=True)
class DrawDigest:
    """One execution that a rule was learned from."""

    query: int
    draw: int
    execution: int
    outcome: int
    """Index among the outcomes of its rule."""
    trajectory: tuple[int, ...]
    """Indices into `Digest.states`, from the state before to the state after."""
    ending: str
    simulator_steps: int
    llm_tokens: int
    detail: str
    transcript: str
    """Written by the agent: untrusted, possibly shortened, empty if there is none."""


@dataclass(frozen=True, slots=True)
class RuleDigest:
    """A rule: its condition, its outcomes and some of its draws."""

    when: tuple[tuple[str, ...], ...]
    """A disjunction of conjunctions; one empty conjunction means always."""
    states: tuple[int, ...]
    """Indices into `Digest.states` of states in which it was observed, possibly not all."""
    states_count: int
    draws_count: int
    achieving: float
    held_already: bool
    """The intent held before, and nothing changed."""
    outcomes: tuple[OutcomeDigest, ...]
    draws: tuple[DrawDigest, ...]
    """Some for each outcome, the earliest first."""
    conditions_omitted: int = 0


@dataclass(frozen=True, slots=True)
class SuccessDigest:
    """The success right after a reset."""

    rate: float | None
    low: float
    high: float
    evidence: str
    """The draws and resets behind it."""


@dataclass(frozen=True, slots=True)
class CapabilityDigest:
    """A row of the table, and what it expands to."""

    intent: str
    standing: Standing
    executions: int
    states_tried: int
    states_untried: int
    success: float | None
    """See `capscope.present.text.mean_success`."""
    success_low: float
    """The lowest success of a rule in which the intent did not hold already."""
    side_effects: int
    """The most side effects of an outcome."""
    rules: tuple[RuleDigest, ...]
    rules_omitted: int = 0
    after_reset: SuccessDigest | None = None
    """None if the intent holds after every reset, or where resets led was not recorded."""


@dataclass(frozen=True, slots=True)
class FindingDigest:
    """A finding; its example is a sentence, or empty."""

    kind: str
    sentence: str
    example: str
    intents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LearningPoint:
    """What was known after this many executions."""

    executions: int
    agreement: float
    """One minus the mean total variation distance between what had been seen of a pair then and at
    the end, over the pairs tried at the end; the distance of an untried pair is 1."""
    pairs: int
    transitions: int
    states: int


@dataclass(frozen=True, slots=True)
class SpendingPart:
    """The executions that were spent on one purpose."""

    name: str
    meaning: str
    executions: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many pairs were tried, and how often."""

    pairs_tried: int
    pairs_seen: int
    """States seen times capabilities."""
    draws_per_pair: tuple[tuple[str, int], ...]
    """A range of draws such as `2 to 5`, and the number of pairs in it; `0` is the first."""


@dataclass(frozen=True, slots=True)
class StateDigest:
    """A symbolic state."""

    name: str
    """Short: `s0` is the initial state of the run."""
    atoms: tuple[str, ...]
    """The atoms that hold, without those that always hold."""
    executions: int
    """Executions that started there."""
    picture: str
    """A `data:image/png` address, or empty."""


@dataclass(frozen=True, slots=True)
class MapEdge:
    """Executions that led from one state to another."""

    source: int
    target: int
    capability: int
    """Index into `Digest.capabilities`."""
    probability: float
    """The share of the capability's executions in the source that led to the target."""
    draws: int


@dataclass(frozen=True, slots=True)
class StateMap:
    """The states seen, or those nearest to the initial state, and the edges between them."""

    states: tuple[int, ...]
    """Indices into `Digest.states`."""
    edges: tuple[MapEdge, ...]
    omitted: int


@dataclass(frozen=True, slots=True)
class Digest:
    """Everything that a report says."""

    problem: str
    summary: tuple[SummarySection, ...]
    facts: tuple[tuple[str, str], ...]
    """Names and values: what is needed to repeat the run."""
    always: tuple[str, ...]
    """Atoms that held in every state seen."""
    findings: tuple[FindingDigest, ...]
    findings_note: str
    marks_note: str
    """See `capabilities.marks_note`."""
    capabilities: tuple[CapabilityDigest, ...]
    learning: tuple[LearningPoint, ...]
    spending: tuple[SpendingPart, ...]
    coverage: Coverage
    states: tuple[StateDigest, ...]
    """The states that are mentioned, in the order in which they were first seen."""
    map: StateMap
    notes: tuple[str, ...] = ()
    """What was omitted from the report."""
    hazards: tuple[FindingDigest, ...] = ()
    """What must not happen; the example has the details."""
