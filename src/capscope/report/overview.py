"""What the command line prints about a run: its first screen, its rules, capabilities, findings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from capscope.insight.findings import Finding
from capscope.insight.first_screen import run_screen_lines
from capscope.insight.first_screen.screen import extent_of, nothing_of
from capscope.insight.first_screen.watch_out import sentence_in_words
from capscope.insight.hazards.wording import hazard_headlines
from capscope.insight.notes import claim_lines, coverage_text, run_notes, verdict_document
from capscope.insight.rule_wording import model_lines as rules_lines
from capscope.logic import Intent, to_json
from capscope.report.text import capability_lines, finding_lines
from capscope.wording import counted, wrapped

if TYPE_CHECKING:
    from capscope.run import Run

_LEGEND = "+ the intent holds   ! something else changed   - nothing changed"
_MOST_CHANGES = 5
"""Kinds of changes beyond the requests that are listed before a capability."""
_CLAIMS = (
    *("hazards", "audit", "coverage", "agent_failures"),
    *("initial_positions", "aliasing", "drift", "carry_over"),
)
"""What may be claimed of a run, and follows from one of its properties."""


def run_lines(run: Run) -> Iterator[str]:
    """Describe how a run ended: its first screen, if there was time to compute it."""
    if run.summed_up:
        yield from run_screen_lines(run)
        return
    yield f"{run.problem}: {counted(run.usage.executions, 'execution')}, stopped: {run.stop_reason}"
    yield (
        f"what may be claimed, and the report: omitted ({run.omitted}); "
        f"see: capscope show {run.path}"
    )


def run_document(run: Run) -> dict[str, Any]:
    """Return how a run ended as JSON-ready values."""
    return {
        "problem": run.problem,
        "strategy": run.identity.strategy,
        "seed": run.identity.seed,
        "run": str(run.path),
        "report": str(run.report_path) if run.omitted is None else None,
        "stopped_because": str(run.stop_reason),
        **_claims_document(run),
        "states": len(run.graph.nodes),
        "capabilities": len(run.capabilities),
        "transitions": run.graph.distinct_transitions,
        "workers_lost": run.workers_lost,
        **asdict(run.usage),
    }


def _claims_document(run: Run) -> dict[str, Any]:
    """Return what may be claimed; null if there was no time to compute it."""
    if not run.summed_up:
        return dict.fromkeys(("findings", *_CLAIMS, "verdict", "success", "rates"))
    return {
        "findings": to_json(run.findings()),
        **{name: to_json(getattr(run, name)) for name in _CLAIMS},
        "verdict": verdict_document(run),
        "success": [{"intent": str(i), **to_json(one)} for i, one in run.success.items()],
        "rates": [{"intent": str(i), **to_json(one)} for i, one in run.rates.items()],
    }


def heading_lines(run: Run) -> Iterator[str]:
    """Say what was assessed, and what is claimed."""
    yield f"{run.problem}: {extent_of(run)}"
    yield from hazard_headlines(run)
    yield from claim_lines(run)
    yield from run_notes(run)


def _change_lines(run: Run, wanted: Collection[Intent] | None, limit: int | None) -> Iterator[str]:
    """List the findings, as far as they are about wanted capabilities."""
    changes = about(run.findings(), wanted)
    if not changes:
        yield from _nothing_lines(run)
        return
    yield "findings, the most important first:"
    for change in changes[:limit]:
        yield from wrapped(sentence_in_words(change, run.graph.vocabulary), "  ", "      ")
    yield from _rest_lines(len(changes), limit, f"capscope show {run.path} --findings", gap=False)


def _nothing_lines(run: Run) -> Iterator[str]:
    nothing = "no finding about these" if run.findings() else "; ".join(nothing_of(run))
    yield from wrapped(nothing)


def about(told: Sequence[Finding], wanted: Collection[Intent] | None) -> Sequence[Finding]:
    """Select the findings that are about wanted capabilities."""
    if wanted is None:
        return told
    return [one for one in told if not set(wanted).isdisjoint(one.intents)]


def rule_lines(run: Run, limit: int | None) -> Iterator[str]:
    """Describe the rules of the model, up to a limit."""
    yield from heading_lines(run)
    if run.infers:
        yield coverage_text(run)
    yield ""
    yield from rules_lines(run.model, run.path, limit)


def model_lines(run: Run, wanted: Sequence[Intent], limit: int | None) -> Iterator[str]:
    """Describe wanted capabilities, up to a limit; the rules come first if all are wanted."""
    yield from heading_lines(run)
    if run.infers:
        yield coverage_text(run)
    yield from _change_lines(run, wanted, _MOST_CHANGES)
    if limit is None and 1 < len(wanted) == len(run.capabilities):
        yield ""
        yield from rules_lines(run.model, run.path, every=True)
    yield _LEGEND
    for intent in wanted[:limit]:
        yield ""
        yield from capability_lines(run, intent)
    yield from _rest_lines(len(wanted), limit, f"capscope show {run.path} '*'")


def findings_lines(run: Run, wanted: Collection[Intent] | None, limit: int | None) -> Iterator[str]:
    """Describe the findings, or those about the wanted capabilities, up to a limit."""
    findings = about(run.findings(), wanted)
    yield from heading_lines(run)
    if not findings:
        yield from _nothing_lines(run)
    numbers = {id(one): number for number, one in enumerate(run.findings(), 1)}
    for finding in findings[:limit]:
        first, *rest = finding_lines(run, finding)
        yield from ("", f"{numbers[id(finding)]}. {first}", *rest)
    yield from _rest_lines(len(findings), limit, f"capscope show {run.path} --findings")


def findings_document(
    run: Run, wanted: Collection[Intent] | None, limit: int | None
) -> dict[str, Any]:
    """Return the findings and the warnings as JSON-ready values."""
    return {
        "problem": run.problem,
        "hazards": to_json(run.hazards),
        "findings": to_json(about(run.findings(), wanted)[:limit]),
        "agent_failures": to_json(run.agent_failures),
        "aliasing": to_json(run.aliasing),
        "drift": to_json(run.drift),
    }


def _rest_lines(number: int, limit: int | None, command: str, *, gap: bool = True) -> Iterator[str]:
    if limit is not None and limit < number:
        yield from [""] * gap
        yield f"{number - limit} more: {command}"
