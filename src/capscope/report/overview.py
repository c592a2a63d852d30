"""What the command line says about a whole run: how it ended, what it learned, how good that is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from capscope.insight.findings import Finding
from capscope.insight.hazards.wording import hazard_headlines
from capscope.insight.rates import CapabilityRates
from capscope.insight.rule_wording import model_lines as rules_lines
from capscope.logic import Intent, to_json
from capscope.model.lifted_rules import FamilyRules
from capscope.report.notes import (
    changes_sentence,
    claim_lines,
    coverage_text,
    run_notes,
    stop_text,
    verdict_document,
)
from capscope.report.text import capability_lines, finding_lines
from capscope.sanitize import sanitize
from capscope.stats.rate import Rate
from capscope.wording import counted, wrapped

if TYPE_CHECKING:
    from capscope.run import Run

_LEGEND = "+ the intent holds   ! something else changed   - nothing changed"
_MOST_CHANGES = 5
"""Kinds of changes beyond the requests that are listed before the model."""
_CLAIMS = (
    *("hazards", "audit", "coverage", "agent_failures"),
    *("initial_positions", "aliasing", "drift", "carry_over"),
)
"""What may be claimed of a run, and follows from one of its properties."""
_EVENTUAL = (
    "gets there: in the end, if asked until it holds or three executions change nothing; paths to",
    "  where nothing is known {inferred}are left out (?: most are), and widen the interval",
)
_NO_RATE = "held wherever asked"


def run_lines(run: Run) -> Iterator[str]:
    """Describe how a run ended."""
    usage = run.usage
    yield (
        f"{run.problem}: {counted(usage.queries, 'query')}, "
        f"{counted(usage.executions, 'execution')}, "
        f"{counted(usage.simulator_steps, 'simulator step')} in "
        f"{usage.seconds:.1f} s; stopped: {stop_text(run)}"
    )
    cut = np.flatnonzero(run.executions.cut)
    if len(cut):
        intent = run.capabilities[int(run.executions.capability[cut[-1]])]
        yield (
            f"{counted(len(cut), 'execution')} cut short by a budget and not used; the last one "
            f"was asked for {sanitize(str(intent))}"
        )
    yield from hazard_headlines(run)
    if usage.llm_tokens:
        yield f"{counted(usage.llm_tokens, 'LLM token')} used; {usage.llm_cost:,.4f} paid"
    if run.workers_lost:
        yield f"{counted(run.workers_lost, 'worker')} lost; their draws were repeated"
    yield (
        f"{counted(len(run.capabilities), 'capability')}, "
        f"{counted(len(run.graph.nodes), 'state')}, "
        f"{counted(run.graph.distinct_transitions, 'distinct transition')} seen"
    )
    if run.summed_up:
        yield from wrapped(changes_sentence(run))
        yield from claim_lines(run)
        yield coverage_text(run)
        yield from run_notes(run)
    else:
        yield f"what may be claimed: omitted (time limit); see: capscope show {run.path}"
    yield f"run: {run.path}"
    yield f"report: {run.report_path if run.omitted is None else f'omitted ({run.omitted})'}"
    yield f"read it with: capscope show {run.path}"


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


def _heading_lines(run: Run) -> Iterator[str]:
    yield (
        f"{run.problem}: {counted(len(run.capabilities), 'capability')}, "
        f"{counted(len(run.graph.nodes), 'state')} seen, "
        f"{counted(run.usage.executions, 'execution')}"
    )
    yield from hazard_headlines(run)
    yield from claim_lines(run)
    yield from run_notes(run)


def _change_lines(run: Run, wanted: Collection[Intent] | None, limit: int | None) -> Iterator[str]:
    """List the findings, as far as they are about wanted capabilities."""
    changes = _about(run.findings(), wanted)
    if not changes:
        yield from wrapped(changes_sentence(run) if wanted is None else "no finding about these")
        return
    yield "findings, the most important first:"
    for change in changes[:limit]:
        yield from wrapped(change.sentence, "  ", "      ")
    yield from _rest_lines(len(changes), limit, f"capscope show {run.path} --findings", gap=False)


def _about(told: Sequence[Finding], wanted: Collection[Intent] | None) -> Sequence[Finding]:
    """Select the findings that are about wanted capabilities."""
    if wanted is None:
        return told
    return [one for one in told if not set(wanted).isdisjoint(one.intents)]


def model_lines(run: Run, wanted: Sequence[Intent] | None, limit: int | None) -> Iterator[str]:
    """Describe the model, or the capabilities that are wanted, up to a limit."""
    yield from _heading_lines(run)
    if run.infers:
        yield coverage_text(run)
    yield from _change_lines(run, wanted, _MOST_CHANGES)
    if wanted is None:
        yield ""
        yield from rules_lines(run.model, run.path, limit)
        yield ""
        length = run.identity.temporal_length
        yield from table_lines(run.model.families, run.rates, length, inferred=run.infers)
        yield ""
        yield f"all capabilities: capscope show {run.path} '*'"
        if run.capabilities:
            often = max(run.model.families, key=lambda family: family.executions)
            yield f"of one: capscope show {run.path} '{often.members[0]}'"
        yield f"findings: capscope show {run.path} --findings"
        return
    if limit is None and 1 < len(wanted) == len(run.capabilities):
        yield ""
        yield from rules_lines(run.model, run.path, every=True)
        yield ""
    yield _LEGEND
    for intent in wanted[:limit]:
        yield ""
        yield from capability_lines(run, intent)
    yield from _rest_lines(len(wanted), limit, f"capscope show {run.path}")


def findings_lines(run: Run, wanted: Collection[Intent] | None, limit: int | None) -> Iterator[str]:
    """Describe the findings, or those about the wanted capabilities, up to a limit."""
    findings = _about(run.findings(), wanted)
    yield from _heading_lines(run)
    if not findings:
        yield from wrapped(changes_sentence(run) if wanted is None else "no finding about these")
    for finding in findings[:limit]:
        yield ""
        yield from finding_lines(run.graph, finding)
    yield from _rest_lines(len(findings), limit, f"capscope show {run.path} --findings")


def findings_document(
    run: Run, wanted: Collection[Intent] | None, limit: int | None
) -> dict[str, Any]:
    """Return the findings and the warnings as JSON-ready values."""
    return {
        "problem": run.problem,
        "hazards": to_json(run.hazards),
        "findings": to_json(_about(run.findings(), wanted)[:limit]),
        "agent_failures": to_json(run.agent_failures),
        "aliasing": to_json(run.aliasing),
        "drift": to_json(run.drift),
    }


def _rest_lines(number: int, limit: int | None, command: str, *, gap: bool = True) -> Iterator[str]:
    if limit is not None and limit < number:
        yield from [""] * gap
        yield f"{number - limit} more: {command}"


def table_lines(
    families: Iterable[FamilyRules],
    rates: Mapping[Intent, CapabilityRates],
    temporal_length: int | None,
    *,
    inferred: bool,
) -> Iterator[str]:
    """List the families with the rates of their capabilities, what is achieved for certain first.

    The order is that of the lower ends of the intervals, so that a capability that was hardly tried
    is not listed as a weakness or a strength.
    """
    eventual = temporal_length is not None
    heads = ("gets there", "at once") if eventual else ("achieved",)
    rows: list[tuple[str, ...]] = [(*heads, "asked for")]
    for family in sorted(families, key=lambda one: _rank(_rates_of(one, rates), eventual)):
        number = len(family.members)
        several = f"  ({counted(number, 'capability')})" if number > 1 else ""
        cells = _cells(_rates_of(family, rates), eventual)
        rows.append((*cells, f"{sanitize(family.name)}{several}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (f"{cell:{width}}" for cell, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()
    yield "means over the states in which a capability was asked for and did not hold yet, from the"
    yield "  lowest to the highest capability  [all their 95 % intervals]"
    if eventual:
        for line in _EVENTUAL:
            yield line.format(inferred="or inferred " if inferred else "")


def _rates_of(
    family: FamilyRules, rates: Mapping[Intent, CapabilityRates]
) -> list[CapabilityRates]:
    return [rates[member] for member in family.members if member in rates]


def _rank(rates: Sequence[CapabilityRates], eventual: bool) -> tuple[float, float, float]:
    """Rank by what is certain, then by the rate; intents that always held are last."""
    if not rates:
        return 2.0, 0.0, 0.0
    ends = [one.gets_there if eventual else one.at_once for one in rates]
    lowest = min(end.estimate or 0.0 for end in ends)
    return -min(round(end.low, 2) for end in ends), -lowest, -(rates[0].at_once.estimate or 0.0)


def _cells(rates: Sequence[CapabilityRates], eventual: bool) -> tuple[str, ...]:
    if not rates:
        return (_NO_RATE, "") if eventual else (_NO_RATE,)
    at_once = _range([one.at_once for one in rates])
    return (_range([one.gets_there for one in rates]), at_once) if eventual else (at_once,)


def _range(rates: Sequence[Rate]) -> str:
    """Return the rates of several capabilities as one range.

    >>> _range([Rate(0.5, 0.2, 1.0, None, 9, 3), Rate(0.25, 0.1, 0.3, None, 9, 3)])
    '0.25 to 0.50 [0.10, 1.00]'
    """
    texts = sorted({"?" if r.estimate is None else f"{r.estimate:.2f}" for r in rates})
    ends = texts if len(texts) == 1 else [texts[0], texts[-1]]
    low, high = min(rate.low for rate in rates), max(rate.high for rate in rates)
    return f"{' to '.join(ends)} [{low:.2f}, {high:.2f}]"
