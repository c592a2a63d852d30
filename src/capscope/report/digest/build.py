"""Make the digest of a run, adding parts in the order of their importance while they fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from capscope.insight.findings import Finding, approximate_labels
from capscope.insight.findings.finding import LEAST_DIFFERENCE, LEAST_RATE
from capscope.journal.journal import Journal
from capscope.logic import Phrasing, Vocabulary
from capscope.model import StateGraph
from capscope.report.digest.basis import basis_of, with_basis
from capscope.report.digest.capabilities import (
    MOST_STATES,
    Standings,
    capability_digests,
    marks_note,
    with_harm,
)
from capscope.report.digest.card import Tone
from capscope.report.digest.cards import CardMaker, indexed_card
from capscope.report.digest.draw_samples import (
    OMITTED,
    DrawSample,
    add_transcripts,
    choose_draws,
    ranked,
    read_samples,
    with_transcript,
)
from capscope.report.digest.headline import headline_of
from capscope.report.digest.heat_map import heat_map, without_omitted_rules
from capscope.report.digest.learning import (
    audit_digest,
    coverage_of,
    learning_curve,
    spending_parts,
)
from capscope.report.digest.shape import (
    CapabilityDigest,
    ChangeDigest,
    Digest,
    DrawDigest,
    GroupOverview,
    HeatMap,
    RuleDigest,
    StateMap,
)
from capscope.report.digest.size_budget import WHOLE, SizeBudget
from capscope.report.digest.splitting_atoms import splitting_atoms
from capscope.report.digest.state_groups import group_overview
from capscope.report.digest.states import Pictures, StateListing, state_map, state_pictures
from capscope.report.digest.summary import facts_of, summary_of
from capscope.report.text import CapabilityView, capability_views
from capscope.sanitize import sanitize
from capscope.stats.error_budget import ERROR_RATE
from capscope.wording import counted, joined

if TYPE_CHECKING:
    from capscope.run import Run

_RULES = 1_000_000
_FINDINGS = 150_000
_CHANGES = 50_000
_HEAT = 250_000
_MOST_INTENTS = 4
"""Capabilities named for one kind of change."""
_MAP = 400_000
_DRAWS = 450_000


def digest_run(run: Run, pictures: Pictures | None = None) -> Digest:
    """Make the digest of a run, whether or not it has finished.

    `pictures` draws the position of a snapshot as a PNG; if it raises, there is no picture.
    """
    with run.open_journal() as journal:
        return digest_of(run, journal, pictures, SizeBudget(WHOLE))


def digest_of(run: Run, journal: Journal, pictures: Pictures | None, space: SizeBudget) -> Digest:
    """Make the digest of a run; all parts but the smallest count against the size budget."""
    graph, table = run.graph, run.executions
    views = capability_views(graph)
    standings = Standings.of_run(run, views)
    listing = StateListing(graph.vocabulary, table)
    listing.take(range(len(table.states[:1])), space)
    found = run.findings()
    maker, room = CardMaker(run, listing), space.part(_FINDINGS)
    hazards = maker.taken((maker.hazard_card(run, result) for result in run.hazards), room)
    cards = (*hazards, *maker.taken(map(maker.card, found), room))
    changes = _changes(run, space.part(_CHANGES))
    capabilities = capability_digests(standings, graph, space.part(_RULES), run.success)
    pictured = _pictured(standings, graph, listing, space)
    has_transcript = with_transcript(table, journal)
    chosen = list(ranked(choose_draws(run, views, capabilities, has_transcript)))
    samples = read_samples(table, journal, chosen, has_transcript, listing, space.part(_DRAWS))
    samples = list(add_transcripts(journal, samples, space.part(space.left // 2)))
    addresses = state_pictures(listing, journal, pictures, space)
    indices = listing.indices()
    capabilities = with_basis(run, with_harm(capabilities, cards))
    return Digest(
        problem=sanitize(run.problem),
        phrases=_phrases(graph.vocabulary),
        headline=headline_of(run, standings, cards),
        summary=summary_of(run, standings, found),
        facts=facts_of(run),
        always=listing.holding(listing.always),
        changes=changes,
        cards=tuple(indexed_card(card, indices) for card in cards),
        findings_note=_findings_note(found, len(cards) - len(hazards), len(table)),
        marks_note=marks_note(graph.exactly_one, graph.vocabulary),
        single_steps=standings.repeated,
        capabilities=_with_draws(capabilities, views, samples, indices, listing),
        heat=without_omitted_rules(pictured.heat, [len(one.rules) for one in capabilities]),
        learning=learning_curve(table),
        audit=audit_digest(table, run.audit),
        spending=spending_parts(table, run.identity.strategy),
        coverage=coverage_of(graph, basis_of(run).inferred),
        states=listing.digests(addresses),
        map=_indexed(pictured.map, indices),
        overview=_indexed_overview(pictured.overview, indices),
        notes=(
            *_omissions(len(chosen) - len(samples), samples, capabilities),
            *_omitted_changes(len(run.unrequested_changes) - len(changes)),
        ),
    )


class _Pictured(NamedTuple):
    heat: HeatMap
    map: StateMap
    overview: GroupOverview


def _pictured(
    standings: Standings, graph: StateGraph, listing: StateListing, space: SizeBudget
) -> _Pictured:
    """Make what is drawn; states are still numbers."""
    views, intents = standings.views, [view.intent for view in standings.views]
    atoms = splitting_atoms(views, graph.vocabulary)
    heat = heat_map(graph, views, standings.eventual, atoms, SizeBudget(min(_HEAT, space.left)))
    if not heat.columns and standings.repeated:
        # It always gets there, or never: single requests show what conditions matter.
        heat = heat_map(graph, views, None, atoms, SizeBudget(min(_HEAT, space.left)))
    space.take(heat)
    return _Pictured(
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
        yield f"{kinds} of changes omitted (size limit); `capscope show --surprises` prints all."


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


def _with_draws(
    capabilities: Sequence[CapabilityDigest],
    views: Sequence[CapabilityView],
    samples: Sequence[DrawSample],
    indices: Mapping[int, int],
    listing: StateListing,
) -> tuple[CapabilityDigest, ...]:
    """Add the draws and the listed states to the rules they belong to."""
    of_rule: dict[tuple[int, int], list[DrawDigest]] = {}
    for (c, r, _), draw in samples:
        moved = replace(draw, trajectory=_at(draw.trajectory, indices))
        of_rule.setdefault((c, r), []).append(moved)

    def complete(c: int, r: int, rule: RuleDigest) -> RuleDigest:
        draws = sorted(of_rule.get((c, r), ()), key=attrgetter("query", "draw", "execution"))
        numbers = sorted(listing.number[state] for state in views[c].rules[r].rule.states)
        states = [indices[number] for number in numbers if number in indices]
        return replace(rule, states=tuple(states[:MOST_STATES]), draws=tuple(draws))

    return tuple(
        replace(one, rules=tuple(complete(c, r, rule) for r, rule in enumerate(one.rules)))
        for c, one in enumerate(capabilities)
    )


def _at(numbers: Sequence[int], indices: Mapping[int, int]) -> tuple[int, ...]:
    return tuple(indices[number] for number in numbers)


def _indexed(drawn: StateMap, indices: Mapping[int, int]) -> StateMap:
    edges = (
        replace(edge, source=indices[edge.source], target=indices[edge.target])
        for edge in drawn.edges
    )
    return replace(drawn, states=_at(drawn.states, indices), edges=tuple(edges))


def _indexed_overview(overview: GroupOverview, indices: Mapping[int, int]) -> GroupOverview:
    groups = (replace(group, members=_at(group.members, indices)) for group in overview.groups)
    return replace(overview, groups=tuple(groups))


def _omissions(
    draws: int, samples: Sequence[DrawSample], capabilities: Sequence[CapabilityDigest]
) -> Iterator[str]:
    rules = sum(capability.rules_omitted for capability in capabilities)
    if rules:
        yield f"{counted(rules, 'rule')} omitted (size limit); `capscope show` prints all."
    if draws:
        yield f"{counted(draws, 'draw')} omitted (size limit)."
    transcripts = sum(digest.transcript == OMITTED for _, digest in samples)
    if transcripts:
        yield (
            f"{counted(transcripts, 'transcript')} omitted (size limit); `capscope show RUN "
            "CAPABILITY --transcript` prints all of a capability."
        )
