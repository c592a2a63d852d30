"""What the command line says about a whole run: how it ended, what it learned, how good that is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from capscope.insight.changes import UnrequestedChange, proviso
from capscope.insight.findings import Finding
from capscope.insight.hazards.wording import hazard_headlines
from capscope.insight.rates import CapabilityRates
from capscope.logic import Intent, Vocabulary, to_json
from capscope.report.notes import (
    changes_sentence,
    claim_text,
    coverage_text,
    run_notes,
    stop_text,
    verdict_document,
)
from capscope.report.text import CapabilityView, capability_views, finding_lines, view_lines
from capscope.sanitize import sanitize
from capscope.wording import counted, wrapped

if TYPE_CHECKING:
    from capscope.run import Run

_LEGEND = "+ the intent holds   ! something else changed   - nothing changed   [95 % interval]"
_MOST_CHANGES = 5
"""Kinds of changes beyond the requests that are listed before the model."""
_CLAIMS = (
    *("unrequested_changes", "hazards", "audit", "coverage", "agent_failures"),
    *("initial_positions", "aliasing", "drift"),
)
"""What may be claimed of a run, and follows from one of its properties."""
MOST_RULES = 100
"""With more rules in all, a table is printed instead of them."""
_LEAST_SHARE = 0.1  # of a change that is named
_MOST_NAMED = 2
_EVENTUAL = (
    "gets there: in the end, if asked until it holds or three executions change nothing; paths to",
    "  where nothing is known {inferred}are left out (?: most are), and widen the interval",
)
_NO_RATE = "held wherever asked"
T = TypeVar("T", Finding, UnrequestedChange)


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
        yield claim_text(run)
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
        return dict.fromkeys((*_CLAIMS, "verdict", "success", "rates"))
    return {
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
    yield claim_text(run)
    yield from run_notes(run)


def _change_lines(run: Run, wanted: Collection[Intent] | None, limit: int | None) -> Iterator[str]:
    """List what changed beyond the requests, as far as wanted capabilities showed it."""
    changes = _about(run.unrequested_changes, wanted)
    if not changes:
        some = bool(run.unrequested_changes)
        nothing = f"nothing changed beyond these requests{proviso(run.groups_relied_on)}"
        yield from wrapped(nothing if some else changes_sentence(run))
        return
    yield "changed beyond the request, of the executions in which it could:"
    for change in changes[:limit]:
        text = f"asked for {change.request}: {change.change}  {change.count_text}"
        yield from wrapped(text, "  ", "      ")
    yield from _rest_lines(len(changes), limit, f"capscope show {run.path} --findings", gap=False)


def _about(told: Sequence[T], wanted: Collection[Intent] | None) -> Sequence[T]:
    """Select the findings or changes that are about wanted capabilities."""
    if wanted is None:
        return told
    return [one for one in told if not set(wanted).isdisjoint(one.intents)]


def model_lines(run: Run, wanted: Collection[Intent] | None, limit: int | None) -> Iterator[str]:
    """Describe the capabilities, or those that are wanted, up to a limit.

    All of them are in a table if they have too many rules to read.
    """
    views = [v for v in capability_views(run.graph) if wanted is None or v.intent in wanted]
    yield from _heading_lines(run)
    yield from _change_lines(run, wanted, _MOST_CHANGES)
    if wanted is None and limit is None and too_many_rules(views):
        yield from _table_lines(run, views)
        return
    yield _LEGEND
    for view in views[:limit]:
        yield ""
        yield from view_lines(run, view)
    yield from _rest_lines(len(views), limit, f"capscope show {run.path}")


def _table_lines(run: Run, views: Sequence[CapabilityView]) -> Iterator[str]:
    yield ""
    vocabulary, length = run.graph.vocabulary, run.identity.temporal_length
    yield from table_lines(views, run.rates, length, vocabulary, inferred=run.infers)
    yield ""
    rules = sum(len(view.rules) for view in views)
    yield f"the {counted(rules, 'rule')} of all: capscope show {run.path} '*'"
    yield f"of one: capscope show {run.path} '{views[0].intent}'"
    yield f"findings: capscope show {run.path} --findings"


def findings_lines(run: Run, wanted: Collection[Intent] | None, limit: int | None) -> Iterator[str]:
    """Describe the findings, or those about the wanted capabilities, up to a limit."""
    findings = _about(run.findings(), wanted)
    yield from _heading_lines(run)
    yield from _change_lines(run, wanted, limit)
    always = run.graph.always
    for finding in findings[:limit]:
        yield ""
        yield from finding_lines(finding, always)
    yield from _rest_lines(len(findings), limit, f"capscope show {run.path} --findings")


def findings_document(
    run: Run, wanted: Collection[Intent] | None, limit: int | None
) -> dict[str, Any]:
    """Return the findings and the warnings as JSON-ready values."""
    return {
        "problem": run.problem,
        "unrequested_changes": to_json(_about(run.unrequested_changes, wanted)),
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


def too_many_rules(views: Sequence[CapabilityView]) -> bool:
    """Return whether a table is easier to read than all rules."""
    return len(views) > 1 and sum(len(view.rules) for view in views) > MOST_RULES


def table_lines(
    views: Sequence[CapabilityView],
    rates: Mapping[Intent, CapabilityRates],
    temporal_length: int | None,
    vocabulary: Vocabulary,
    *,
    inferred: bool,
) -> Iterator[str]:
    """List the capabilities with their rates, what is achieved for certain first.

    The order is that of the lower ends of the intervals, so that a capability that was hardly tried
    is not listed as a weakness or a strength.
    """
    eventual = temporal_length is not None
    heads = ("gets there", "at once") if eventual else ("achieved",)
    rows: list[tuple[str, ...]] = [(*heads, "asked for", "what else changes most often")]
    for view in sorted(views, key=lambda view: _rank(rates.get(view.intent), eventual)):
        cells = _cells(rates.get(view.intent), eventual)
        rows.append((*cells, sanitize(str(view.intent)), _others(view, vocabulary)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (f"{cell:{width}}" for cell, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()
    yield ""
    yield "means over the states in which it was asked and did not hold yet  [95 % interval]"
    if eventual:
        for line in _EVENTUAL:
            yield line.format(inferred="or inferred " if inferred else "")


def _rank(rates: CapabilityRates | None, eventual: bool) -> tuple[float, float, float]:
    """Rank by what is certain, then by the rate; intents that always held are last."""
    if rates is None:
        return 2.0, 0.0, 0.0
    rate = rates.gets_there if eventual else rates.at_once
    return -round(rate.low, 2), -(rate.estimate or 0.0), -(rates.at_once.estimate or 0.0)


def _cells(rates: CapabilityRates | None, eventual: bool) -> tuple[str, ...]:
    if rates is None:
        return (_NO_RATE, "") if eventual else (_NO_RATE,)
    both = (rates.gets_there, rates.at_once) if eventual else (rates.at_once,)
    return tuple(rate.brief for rate in both)


def _others(view: CapabilityView, vocabulary: Vocabulary) -> str:
    """Name the most frequent changes beyond the intent; the mean over the states tried."""
    shares: defaultdict[str, float] = defaultdict(float)
    for rule in view.rules:
        for outcome, effect in zip(rule.rule.outcomes, rule.side_effects, strict=True):
            for literal in effect.literals(vocabulary):
                shares[str(literal)] += outcome.probability * len(rule.rule.states)
    states = view.states_tried
    named = sorted(shares, key=lambda literal: (-shares[literal], literal))[:_MOST_NAMED]
    texts = (f"{sanitize(x)} {shares[x] / states:.2f}" for x in named)
    return ", ".join(
        text for text, x in zip(texts, named, strict=True) if shares[x] / states >= _LEAST_SHARE
    )
