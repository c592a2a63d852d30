"""Everything that a report says, as plain values, in the order of importance while it fits.

The digest decides what a report says, the page how it looks. Values can be embedded as JSON and
stay small: each state is written once, in `states`, and referred to by its number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from capscope.insight.agent_failures import agent_failure_text
from capscope.insight.findings import Finding
from capscope.insight.notes import run_notes, stop_text
from capscope.insight.rule_wording import rules_digest
from capscope.journal.journal import Journal
from capscope.logic import Phrasing
from capscope.model import StateGraph
from capscope.report.digest.capabilities import (
    Standings,
    add_run_facts,
    capability_digests,
    marks_note,
)
from capscope.report.digest.cards import CardMaker
from capscope.report.digest.draw_samples import OMITTED, add_draws
from capscope.report.digest.heat_map import heat_map
from capscope.report.digest.learning import (
    audit_digest,
    coverage_of,
    learning_curve,
    spending_parts,
)
from capscope.report.digest.size_budget import WHOLE, SizeBudget
from capscope.report.digest.states import (
    Pictures,
    StateListing,
    group_overview,
    splitting_atoms,
    state_map,
    with_pictures,
)
from capscope.report.text import capability_views
from capscope.sanitize import sanitize
from capscope.stats.error_budget import ERROR_RATE
from capscope.wording import counted

if TYPE_CHECKING:
    from capscope.run import Run

_RULES = 1_000_000
_MODEL = 250_000
_FINDINGS = 150_000
_HEAT = 250_000
_MAP = 400_000


def digest_run(run: Run, pictures: Pictures | None = None) -> dict[str, Any]:
    """Make the digest of a run, whether or not it has finished.

    Args:
        run: The run.
        pictures: Draws the position of a snapshot as a PNG; if it raises, there is no picture.

    Returns:
        Everything that the report says, by part.
    """
    with run.open_journal() as journal:
        return digest_of(run, journal, pictures, SizeBudget(WHOLE))


def digest_of(
    run: Run, journal: Journal, pictures: Pictures | None, space: SizeBudget
) -> dict[str, Any]:
    """Make the digest of a run; all parts but the smallest count against the size budget."""
    graph, table = run.graph, run.executions
    standings = Standings.of_run(run, capability_views(run.model))
    listing = StateListing(graph.vocabulary, table)
    listing.take(range(len(table.states[:1])), space)
    found = run.findings()
    maker, room = CardMaker(run, listing), space.part(_FINDINGS)
    hazards = maker.taken((maker.hazard_card(run, result) for result in run.hazards), room)
    findings = maker.taken(map(maker.card, found), room)
    cards = [*hazards, *findings]
    capabilities = capability_digests(standings, graph, space.part(_RULES))
    add_run_facts(capabilities, run, cards)
    drawn = _drawn(standings, capabilities, graph, listing, space)
    omitted = add_draws(run, journal, standings.views, capabilities, listing, space)
    phrases = Phrasing.of(graph.vocabulary).phrases.items()
    return {
        "problem": sanitize(run.problem),
        # A predicate, what an atom of it says in words, and the opposite.
        "phrases": [tuple(map(sanitize, (name, *both))) for name, both in phrases],
        "screen": run.first_screen,
        "facts": facts_of(run),
        "always": listing.holding(listing.always),
        "cards": cards,
        "rules": rules_digest(run.model, space.part(_MODEL).take),
        "findings_note": _findings_note(found, len(findings), len(table)),
        "marks_note": marks_note(graph.exactly_one, graph.vocabulary),
        # Executions end with a change, so that standings are about repeated requests.
        "single_steps": standings.repeated,
        "capabilities": capabilities,
        **drawn,
        "learning": learning_curve(table),
        "audit": audit_digest(table, run.audit),
        "spending": spending_parts(table, run.identity.strategy),
        "coverage": coverage_of(graph, run.coverage.inferred if run.infers else 0),
        "states": with_pictures(listing, journal, pictures, space),
        "notes": [*map(sanitize, run_notes(run)), *_omissions(capabilities, omitted)],
    }


def _drawn(
    standings: Standings,
    capabilities: Sequence[Mapping[str, Any]],
    graph: StateGraph,
    listing: StateListing,
    space: SizeBudget,
) -> dict[str, Any]:
    """Make the heat map, the map of states and the overview of groups of states."""
    views, intents = standings.views, [view.intent for view in standings.views]
    rules = [len(one["rules"]) for one in capabilities]
    atoms = splitting_atoms(views, graph.vocabulary)
    room = min(_HEAT, space.left)
    heat = heat_map(graph, views, standings.eventual, atoms, rules, SizeBudget(room))
    if not heat["columns"] and standings.repeated:
        # It always gets there, or never: single requests show what conditions matter.
        heat = heat_map(graph, views, None, atoms, rules, SizeBudget(room))
    space.take(heat)
    return {
        "heat": heat,
        "map": state_map(graph, intents, listing, space.part(_MAP)),
        "overview": group_overview(graph, intents, atoms, listing, space.part(_MAP)),
    }


def _findings_note(findings: Sequence[Finding], kept: int, executions: int) -> str:
    if not executions:
        return "There are no executions yet."
    if not findings:
        return (
            f"In {counted(executions, 'execution')}, the agent did what it was asked for, or "
            "nothing."
        )
    note = (
        "What happened is said from its first execution on. All conditions and comparisons share "
        f"an error rate of {ERROR_RATE:.0%}, whatever the strategy tried and whenever it stopped."
    )
    hidden = len(findings) - kept
    return note + (f" {counted(hidden, 'more finding')} omitted (size limit)." if hidden else "")


def _omissions(capabilities: Sequence[Mapping[str, Any]], draws: int) -> Iterator[str]:
    """Say what was omitted: rules, draws and transcripts."""
    if rules := sum(one["rules_omitted"] for one in capabilities):
        yield f"{counted(rules, 'rule')} omitted (size limit); `capscope show` prints all."
    if draws:
        yield f"{counted(draws, 'execution')} omitted (size limit)."
    shown = [draw for one in capabilities for rule in one["rules"] for draw in rule["draws"]]
    if transcripts := sum(draw["transcript"] == OMITTED for draw in shown):
        yield (
            f"{counted(transcripts, 'transcript')} omitted (size limit); `capscope show RUN "
            "CAPABILITY --transcript` prints all of a capability."
        )


def facts_of(run: Run) -> list[tuple[str, str]]:
    """List what the run was made with and what it spent."""
    return [(sanitize(name), sanitize(value)) for name, value in _facts(run)]


def _facts(run: Run) -> Iterator[tuple[str, str]]:
    identity, graph, usage = run.identity, run.graph, run.usage
    yield "problem", run.problem
    if identity.source != run.problem:
        yield "source", identity.source
    yield "strategy", identity.strategy
    yield "seed", str(identity.seed)
    yield "stop reason", stop_text(run) if run.stop_reason else "not stopped"
    yield "vocabulary", counted(len(graph.vocabulary.atoms), "atom")
    yield "capabilities", f"{len(graph.capabilities):,}"
    yield "queries", f"{usage.queries:,}"
    yield "executions", f"{usage.executions:,}"
    yield "simulator steps", f"{usage.simulator_steps:,}"
    yield "of these for discovery", f"{run.meta.discovery_usage.simulator_steps:,}"
    if usage.replay_steps:
        yield "simulator steps of replays", f"{usage.replay_steps:,}"
    if usage.llm_tokens:
        yield "LLM tokens", f"{usage.llm_tokens:,}"
    if usage.llm_cost:
        yield "LLM cost", f"{usage.llm_cost:.6g}"
    yield "seconds", f"{usage.seconds:,.1f}"
    for failure in run.agent_failures:
        name = f"executions in which the agent {agent_failure_text(failure)}"
        yield name, f"{failure.executions:,}"
    for name, limit in run.budget.limits:
        yield f"budget: {name.replace('_', ' ')}", f"{limit:,}"
    length = identity.temporal_length
    changes = "any number of changes" if length is None else counted(length, "change")
    yield "an execution ends after", changes + (" of the symbolic state" if length else "")
    yield "or after", counted(identity.horizon, "simulator step")
    if identity.reset_every:
        yield "simulator reset every", counted(identity.reset_every, "execution")
    for name, value in identity.settings.changed().items():
        text = "; ".join(map(str, value)) if isinstance(value, tuple) else f"{value:g}"
        yield f"setting: {name.replace('_', ' ')}", text
    for name, version in run.meta.versions.items():
        yield f"version: {name}", str(version)
    if identity.fingerprint:
        yield "problem fingerprint", identity.fingerprint
    texts = run.meta.file_digests
    if texts:
        yield "digest of the problem's file", texts[0]
    if len(texts) > 1:
        yield "changed during the run to", ", ".join(texts[1:])
