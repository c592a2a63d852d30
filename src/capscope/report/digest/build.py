"""Everything that a report says, as plain values, in the order of importance while it fits.

The digest decides what a report says, the page how it looks. Values can be embedded as JSON and
stay small: each state is written once, in `Digest.states`, and referred to by its number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from capscope.insight.findings import Finding, approximate_labels
from capscope.insight.findings.finding import LEAST_DIFFERENCE, LEAST_RATE
from capscope.journal.journal import Journal
from capscope.logic import Phrasing, Vocabulary
from capscope.model import StateGraph
from capscope.report.digest.capabilities import (
    CapabilityDigest,
    Standings,
    capability_digests,
    marks_note,
    with_harm,
    with_inferred,
)
from capscope.report.digest.cards import CardDigest, CardMaker, Tone
from capscope.report.digest.draw_samples import OMITTED, sample_draws, with_draws
from capscope.report.digest.headline import HeadlineDigest, headline_of
from capscope.report.digest.heat_map import HeatMap, heat_map
from capscope.report.digest.learning import (
    AuditDigest,
    Coverage,
    LearningPoint,
    SpendingPart,
    audit_digest,
    coverage_of,
    learning_curve,
    spending_parts,
)
from capscope.report.digest.size_budget import WHOLE, SizeBudget
from capscope.report.digest.states import (
    GroupOverview,
    Pictures,
    StateDigest,
    StateListing,
    StateMap,
    group_overview,
    splitting_atoms,
    state_map,
    with_pictures,
)
from capscope.report.digest.summary import SummarySection, facts_of, summary_of
from capscope.report.text import capability_views
from capscope.sanitize import sanitize
from capscope.stats.error_budget import ERROR_RATE
from capscope.wording import counted, joined

if TYPE_CHECKING:
    from capscope.run import Run

_RULES = 1_000_000
_FINDINGS = 150_000
_CHANGES = 50_000
_HEAT = 250_000
_MAP = 400_000
_DRAWS = 450_000
_MOST_INTENTS = 4
"""Capabilities named for one kind of change."""


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
    states: Mapping[int, StateDigest]
    """The states that are mentioned, by number; `s0` is the first state of the run."""
    map: StateMap
    overview: GroupOverview
    notes: tuple[str, ...] = ()
    """What was omitted from the report."""


def digest_run(run: Run, pictures: Pictures | None = None) -> Digest:
    """Make the digest of a run, whether or not it has finished.

    Args:
        run: The run.
        pictures: Draws the position of a snapshot as a PNG; if it raises, there is no picture.

    Returns:
        Everything that the report says.
    """
    with run.open_journal() as journal:
        return digest_of(run, journal, pictures, SizeBudget(WHOLE))


def digest_of(run: Run, journal: Journal, pictures: Pictures | None, space: SizeBudget) -> Digest:
    """Make the digest of a run; all parts but the smallest count against the size budget."""
    graph, table = run.graph, run.executions
    standings = Standings.of_run(run, capability_views(graph))
    listing = StateListing(graph.vocabulary, table)
    listing.take(range(len(table.states[:1])), space)
    found = run.findings()
    maker, room = CardMaker(run, listing), space.part(_FINDINGS)
    hazards = maker.taken((maker.hazard_card(run, result) for result in run.hazards), room)
    cards = (*hazards, *maker.taken(map(maker.card, found), room))
    changes = _changes(run, space.part(_CHANGES))
    capabilities = capability_digests(standings, graph, space.part(_RULES), run.success)
    drawn = _drawn(standings, capabilities, graph, listing, space)
    samples = sample_draws(run, journal, standings.views, capabilities, listing, space, _DRAWS)
    capabilities = with_draws(with_inferred(run, with_harm(capabilities, cards)), samples.shown)
    return Digest(
        problem=sanitize(run.problem),
        phrases=_phrases(graph.vocabulary),
        headline=headline_of(run, standings, cards),
        summary=summary_of(run, standings, found),
        facts=facts_of(run),
        always=listing.holding(listing.always),
        changes=changes,
        cards=cards,
        findings_note=_findings_note(found, len(cards) - len(hazards), len(table)),
        marks_note=marks_note(graph.exactly_one, graph.vocabulary),
        single_steps=standings.repeated,
        capabilities=tuple(capabilities),
        heat=drawn.heat,
        learning=learning_curve(table),
        audit=audit_digest(table, run.audit),
        spending=spending_parts(table, run.identity.strategy),
        coverage=coverage_of(graph, run.coverage.inferred if run.infers else 0),
        states=with_pictures(listing, journal, pictures, space),
        map=drawn.map,
        overview=drawn.overview,
        notes=(
            *_omissions(capabilities, samples.omitted),
            *_omitted_changes(len(run.unrequested_changes) - len(changes)),
        ),
    )


class _Drawn(NamedTuple):
    heat: HeatMap
    map: StateMap
    overview: GroupOverview


def _drawn(
    standings: Standings,
    capabilities: Sequence[CapabilityDigest],
    graph: StateGraph,
    listing: StateListing,
    space: SizeBudget,
) -> _Drawn:
    """Make what is drawn."""
    views, intents = standings.views, [view.intent for view in standings.views]
    rules = [len(one.rules) for one in capabilities]
    atoms = splitting_atoms(views, graph.vocabulary)
    room = min(_HEAT, space.left)
    heat = heat_map(graph, views, standings.eventual, atoms, rules, SizeBudget(room))
    if not heat.columns and standings.repeated:
        # It always gets there, or never: single requests show what conditions matter.
        heat = heat_map(graph, views, None, atoms, rules, SizeBudget(room))
    space.take(heat)
    return _Drawn(
        heat,
        state_map(graph, intents, listing, space.part(_MAP)),
        group_overview(graph, intents, atoms, listing, space.part(_MAP)),
    )


def _phrases(vocabulary: Vocabulary) -> tuple[tuple[str, str, str], ...]:
    phrases = Phrasing.of(vocabulary).phrases.items()
    return tuple((sanitize(name), sanitize(yes), sanitize(no)) for name, (yes, no) in phrases)


def _changes(run: Run, space: SizeBudget) -> tuple[ChangeDigest, ...]:
    """List what changed beyond the requests, as far as it fits."""
    kept: list[ChangeDigest] = []
    for change in run.unrequested_changes:
        shown = ChangeDigest(
            sanitize(change.request),
            sanitize(change.change),
            change.count_text,
            tuple(sanitize(str(intent)) for intent in change.intents[:_MOST_INTENTS]),
            Tone.ODD if change.undone else Tone.HARM,
        )
        if not space.take(shown):
            break
        kept.append(shown)
    return tuple(kept)


def _omitted_changes(number: int) -> Iterator[str]:
    if number:
        kinds = counted(number, "kind")
        yield f"{kinds} of changes omitted (size limit); `capscope show --findings` prints all."


def _findings_note(findings: Sequence[Finding], kept: int, executions: int) -> str:
    if not executions:
        return "There are no executions yet."
    if not findings:
        return (
            f"After {counted(executions, 'execution')}, no sentence about a condition or a rate is "
            "supported yet. The rules below show what was seen in which states."
        )
    note = (
        f"All comparisons share an error rate of {ERROR_RATE:.0%}: with probability at least "
        f"{1 - ERROR_RATE:.0%}, none of these sentences is a false positive, whatever the strategy "
        f"tried and whenever it stopped. Differences below {LEAST_DIFFERENCE:g} and events rarer "
        f"than {LEAST_RATE:g} are not reported."
    )
    kinds = {finding.kind for finding in findings}
    if approximate := [label for label in approximate_labels() if label in kinds]:
        note += f" For findings of kind {joined(approximate)}, the error rate is approximate."
    hidden = len(findings) - kept
    return note + (f" {counted(hidden, 'more finding')} omitted (size limit)." if hidden else "")


def _omissions(capabilities: Sequence[CapabilityDigest], draws: int) -> Iterator[str]:
    rules = sum(capability.rules_omitted for capability in capabilities)
    if rules:
        yield f"{counted(rules, 'rule')} omitted (size limit); `capscope show` prints all."
    if draws:
        yield f"{counted(draws, 'execution')} omitted (size limit)."
    shown = (d for one in capabilities for rule in one.rules for d in rule.draws)
    transcripts = sum(draw.transcript == OMITTED for draw in shown)
    if transcripts:
        yield (
            f"{counted(transcripts, 'transcript')} omitted (size limit); `capscope show RUN "
            "CAPABILITY --transcript` prints all of a capability."
        )
