"""The values that a report is made of: text, numbers, and indices into lists of the digest.

The digest decides what a report says, the page how it looks. Values can be embedded as JSON and
stay small: each state is written once, in `states`, and referred to by its index.
"""

from dataclasses import dataclass
from enum import StrEnum

from capscope.report.digest.card import CardDigest, Tone


class Standing(StrEnum):
    """How often an intent held after executions from states in which it did not hold.

    If executions end with changes: how probable it is when it is requested until it holds.
    """

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
    """See `capscope.insight.rates.success_at_once`."""
    success_low: float
    """The lowest success of a rule in which the intent did not hold already."""
    side_effects: int
    """The most side effects of an outcome."""
    rules: tuple[RuleDigest, ...]
    gets_there: float | None = None
    """The mean probability that the intent holds in the end if it is requested until it does, over
    the same states as `success`; None if an execution does not end with a change."""
    standing_inferred: bool = False
    """Whether the standing would be lower without what the model infers about untried pairs."""
    inferred: int = 0
    """Of the states untried, those in which the model predicts what happens."""
    harm: int | None = None
    """The first card that says that it does harm."""
    rules_omitted: int = 0
    after_reset: SuccessDigest | None = None
    """None if the intent holds after every reset, or where resets led was not recorded."""


@dataclass(frozen=True, slots=True)
class TileDigest:
    """How many capabilities, or findings, are of a kind."""

    name: str
    tone: Tone
    number: int
    meaning: str
    examples: tuple[str, ...]
    """Some of the intents."""
    standing: str
    """The capabilities to show when the tile is chosen; empty for the cards."""


@dataclass(frozen=True, slots=True)
class ChangeDigest:
    """A kind of change beyond a form of request."""

    request: str
    change: str
    count: str
    """How often it was seen, and what became of it."""
    intents: tuple[str, ...]
    tone: Tone


@dataclass(frozen=True, slots=True)
class HeadlineDigest:
    """The first screen: what matters most, what was assessed, its cost, and what is claimed."""

    sentence: str
    tone: Tone
    card: int | None
    """The card that the sentence is from."""
    assessed: str
    cost: str
    claim: str
    claimed: bool
    """Whether the claim is a statement with a confidence, and not that there is none."""
    tiles: tuple[TileDigest, ...]
    detail: str = ""
    """The numbers behind the sentence."""


@dataclass(frozen=True, slots=True)
class HeatCell:
    """How often a capability was achieved under a condition."""

    rate: float | None
    """The mean over the states tried in which the intent did not hold; None if there are none."""
    states: int
    """The states tried."""
    seen: int
    """The states seen under the condition in which the intent did not hold."""
    rules: tuple[int, ...]
    """The rules that apply to some of these states, by index."""


@dataclass(frozen=True, slots=True)
class HeatRow:
    """The cells of one capability: one for each column, after one for all states."""

    capability: int
    """Index into `Digest.capabilities`."""
    cells: tuple[HeatCell, ...]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Success by capability and condition."""

    columns: tuple[str, ...]
    """Literals, each followed by its opposite."""
    rows: tuple[HeatRow, ...]
    rows_omitted: int
    repeated: bool
    """Whether rates are of asking until the intent holds, or else of asking once."""


@dataclass(frozen=True, slots=True)
class AuditDigest:
    """The audit within the learning curve."""

    first: int
    """The executions before it."""
    last: int
    passed: bool
    scored: int
    surprises: int


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
    pairs_inferred: int
    """Of the untried pairs, those that the model predicts; the others are unknown."""
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
class StateGroup:
    """States that agree in the atoms of the overview."""

    literals: tuple[str, ...]
    """Atoms that hold in all of them and tell them from the other groups."""
    states: int
    executions: int
    """Executions that started in one of them."""
    members: tuple[int, ...]
    """Indices into `Digest.states`, possibly not all."""
    initial: bool
    """Whether the run began in one of them."""


@dataclass(frozen=True, slots=True)
class GroupOverview:
    """A map of groups of states: readable if there are thousands of them."""

    atoms: tuple[str, ...]
    """What groups differ in."""
    groups: tuple[StateGroup, ...]
    edges: tuple[MapEdge, ...]
    """Between groups, by index; shares are of the capability's executions in the source group."""


@dataclass(frozen=True, slots=True)
class Digest:
    """Everything that a report says."""

    problem: str
    phrases: tuple[tuple[str, str, str], ...]
    """A predicate, what an atom of it says in words, and the opposite: see `Phrasing`."""
    headline: HeadlineDigest
    summary: tuple[SummarySection, ...]
    facts: tuple[tuple[str, str], ...]
    """Names and values: what is needed to repeat the run."""
    always: tuple[str, ...]
    """Atoms that held in every state seen."""
    changes: tuple[ChangeDigest, ...]
    """What changed beyond the requests, the most serious first."""
    cards: tuple[CardDigest, ...]
    """The findings, the most harmful first."""
    findings_note: str
    marks_note: str
    """See `capabilities.marks_note`."""
    single_steps: bool
    """Whether executions end with a change, so that standings are about repeated requests."""
    capabilities: tuple[CapabilityDigest, ...]
    heat: HeatMap
    learning: tuple[LearningPoint, ...]
    audit: AuditDigest | None
    spending: tuple[SpendingPart, ...]
    coverage: Coverage
    states: tuple[StateDigest, ...]
    """The states that are mentioned, in the order in which they were first seen."""
    map: StateMap
    overview: GroupOverview
    notes: tuple[str, ...] = ()
    """What was omitted from the report."""
