"""Make the digest of a run: read it once, choose what is told, put it into words.

Parts are told in the order of their worth while there is room: rules before the map, the map before
draws, draws before what the agent wrote and how the states look.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from capscope.analysis.findings import find_surprises
from capscope.present.digest.capabilities import MOST_STATES, capability_digests, marks_note
from capscope.present.digest.choice import choices, ranked, written_down
from capscope.present.digest.coverage import coverage_of
from capscope.present.digest.draw_samples import NO_ROOM, Shown, shown_draws, with_transcripts
from capscope.present.digest.facts import facts_of
from capscope.present.digest.findings import finding_digests, findings_note
from capscope.present.digest.learning import learning_curve
from capscope.present.digest.record import Record, opened_record
from capscope.present.digest.shape import CapabilityDigest, Digest, RuleDigest, StateMap
from capscope.present.digest.size_budget import WHOLE, SizeBudget
from capscope.present.digest.spending import spending
from capscope.present.digest.state_map import map_of
from capscope.present.digest.states import Listing, Pictures, pictures_of
from capscope.present.digest.summary import summary_of
from capscope.present.text import CapabilityView, capability_views, counted
from capscope.record.usage import Usage
from capscope.sanitize import sanitize

_RULES = 1_000_000
_FINDINGS = 150_000
_MAP = 550_000
_DRAWS = 450_000


def digest_run(path: Path, pictures: Pictures | None = None) -> Digest:
    """Make the digest of a run directory, however far the run has come.

    `pictures` draws the position of a snapshot as a PNG, where the environment can
    (`world.Pictured`). If it raises there is no picture.
    """
    with opened_record(path) as record:
        return digest_of(record, pictures, SizeBudget(WHOLE))


def digest_of(record: Record, pictures: Pictures | None, space: SizeBudget) -> Digest:
    """Make the digest of a run that was read; all but its smallest parts fit into the room."""
    graph, table = record.graph, record.table
    views = capability_views(graph)
    listing = Listing(record.reading, table)
    listing.take(range(len(table.states[:1])), space)
    found = find_surprises(graph, temporal_length=record.identity["temporal length"])
    findings = finding_digests(found, listing, space.part(_FINDINGS))
    rules = capability_digests(views, graph.vocabulary, space.part(_RULES))
    drawn = map_of(graph, [view.intent for view in views], listing, space.part(_MAP))
    written = written_down(record)
    chosen = list(ranked(choices(record, views, rules, written)))
    shown = shown_draws(record, chosen, written, listing, space.part(_DRAWS))
    told = list(with_transcripts(record, shown, space.part(space.left // 2)))
    looks = pictures_of(listing, record.journal, pictures, space)
    positions = listing.positions()
    return Digest(
        problem=sanitize(record.reading.problem),
        summary=summary_of(record, views, found),
        facts=facts_of(record),
        always=listing.always(),
        findings=findings,
        findings_note=findings_note(found, len(findings), len(table)),
        marks_note=marks_note(graph.exactly_one, graph.vocabulary),
        capabilities=_with_draws(rules, views, told, positions, listing),
        learning=learning_curve(table, Usage.before_asking(record.reading.meta).simulator_steps),
        spending=spending(table, record.identity["strategy"]),
        coverage=coverage_of(graph),
        states=listing.digest(looks),
        map=_placed(drawn, positions),
        notes=tuple(_notes(chosen, told, rules)),
    )


def _with_draws(
    capabilities: Sequence[CapabilityDigest],
    views: Sequence[CapabilityView],
    shown: Sequence[Shown],
    positions: dict[int, int],
    listing: Listing,
) -> tuple[CapabilityDigest, ...]:
    """Put the draws, and the states that are listed, into the rules they belong to."""
    behind: dict[tuple[int, int], list[Shown]] = {}
    for one in shown:
        behind.setdefault(one.slot[:2], []).append(one)

    def complete(c: int, r: int, rule: RuleDigest) -> RuleDigest:
        own = sorted(behind.get((c, r), ()), key=lambda one: one.place)
        numbers = sorted(listing.number[state] for state in views[c].rules[r].rule.states)
        states = [positions[number] for number in numbers if number in positions]
        draws = (replace(o.digest, trajectory=_at(o.digest.trajectory, positions)) for o in own)
        return replace(rule, states=tuple(states[:MOST_STATES]), draws=tuple(draws))

    return tuple(
        replace(one, rules=tuple(complete(c, r, rule) for r, rule in enumerate(one.rules)))
        for c, one in enumerate(capabilities)
    )


def _at(numbers: Sequence[int], positions: dict[int, int]) -> tuple[int, ...]:
    return tuple(positions[number] for number in numbers)


def _placed(drawn: StateMap, positions: dict[int, int]) -> StateMap:
    edges = (
        replace(edge, source=positions[edge.source], target=positions[edge.target])
        for edge in drawn.edges
    )
    return replace(drawn, states=_at(drawn.states, positions), edges=tuple(edges))


def _notes(
    chosen: Sequence[object],
    shown: Sequence[Shown],
    capabilities: Sequence[CapabilityDigest],
) -> Iterator[str]:
    """Say what did not fit."""
    rules = sum(capability.rules_left_out for capability in capabilities)
    if rules:
        yield f"{counted(rules, 'rule')} did not fit; `capscope show` prints all of them."
    draws = len(chosen) - len(shown)
    if draws:
        yield f"{counted(draws, 'draw')} that would have been shown did not fit."
    transcripts = sum(one.digest.transcript == NO_ROOM for one in shown)
    if transcripts:
        yield (
            f"{counted(transcripts, 'transcript')} did not fit; `capscope show RUN CAPABILITY "
            "--transcript` prints all of a capability."
        )
