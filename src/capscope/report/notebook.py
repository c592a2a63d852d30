"""What a notebook shows of a run and of a capability; names are always escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from capscope.insight.hazards.wording import hazard_headline
from capscope.insight.rates import success_at_once
from capscope.logic import Intent
from capscope.model import StateGraph
from capscope.report.notes import claim_text, stop_text
from capscope.report.text import (
    CapabilityView,
    RuleView,
    capability_lines,
    capability_view,
    capability_views,
    rates_text,
    rule_parts,
)
from capscope.sanitize import html_text
from capscope.stats.rate import Rate
from capscope.wording import counted

if TYPE_CHECKING:
    from capscope.run import Run

MOST_ROWS = 50
_HEADINGS = ("capability", "success", "states tried", "executions", "rules")


class PreformattedText(str):
    """A text of several lines that notebooks and consoles show unchanged."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        lines = "\n".join(map(html_text, self.splitlines()))
        return f'<pre style="text-align:left">{lines}</pre>'


@dataclass(frozen=True)
class ShownRates:
    """What stands above the rules of each capability, as far as it is known."""

    success: Mapping[Intent, Rate] = field(default_factory=dict)
    headlines: Mapping[Intent, str] = field(default_factory=dict)

    @classmethod
    def of(cls, run: Run) -> ShownRates:
        """Take them from a run."""
        length = run.identity.temporal_length
        return cls(run.success, {i: rates_text(own, length) for i, own in run.rates.items()})


def shown_capabilities(
    graph: StateGraph, intents: Iterable[Intent], rates: ShownRates | None = None
) -> PreformattedText:
    """Describe capabilities: how often each is achieved, its rules and their outcomes."""
    known = rates or ShownRates()
    texts = (_text(capability_view(graph, intent), graph, known) for intent in intents)
    return PreformattedText("\n\n".join(texts))


def shown_model(graph: StateGraph, rates: ShownRates | None = None) -> PreformattedText:
    """Describe all capabilities, the most interesting first."""
    known = rates or ShownRates()
    texts = (_text(view, graph, known) for view in capability_views(graph))
    return PreformattedText("\n\n".join(texts))


def _text(view: CapabilityView, graph: StateGraph, rates: ShownRates) -> str:
    success, headline = rates.success.get(view.intent), rates.headlines.get(view.intent)
    lines = capability_lines(view, graph.vocabulary, success=success, headline=headline)
    return "\n".join(lines)


def run_html(run: Run) -> str:
    """Return what a run is and what it cost, above the table of its model."""
    usage = run.usage
    title = (
        f"{run.problem}: {counted(len(run.capabilities), 'capability')}, "
        f"{counted(len(run.graph.nodes), 'state')} seen"
    )
    spent = (
        f"{counted(usage.executions, 'execution')} in {counted(usage.queries, 'query')}, "
        f"{counted(usage.simulator_steps, 'simulator step')}; "
        f"stopped: {stop_text(run) if run.stop_reason else 'not yet'}"
    )
    hazards = (f"hazard {hazard_headline(result)}" for result in run.hazards)
    sentences = map(html_text, (*hazards, spent, claim_text(run), *run.notes()))
    paragraphs = "".join(f"<p>{sentence}</p>" for sentence in sentences)
    return f"<p><b>{html_text(title)}</b></p>{paragraphs}{graph_html(run.graph)}"


def graph_html(graph: StateGraph) -> str:
    """Return a table of the first capabilities; success is that of one execution."""
    shown, groups = graph.capabilities[:MOST_ROWS], graph.exactly_one
    rows = (_row(intent, rule_parts(graph, intent, groups), graph) for intent in shown)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    head = "".join(f"<th>{name}</th>" for name in _HEADINGS)
    hidden = len(graph.capabilities) - len(shown)
    rest = f"<p>and {hidden:,} more</p>" if hidden else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _row(intent: Intent, parts: Sequence[RuleView], graph: StateGraph) -> str:
    success = success_at_once(graph, intent)
    numbers = (
        "unknown" if success is None else f"{success:.2f}",
        f"{sum(len(part.rule.states) for part in parts):,} of {len(graph.nodes):,}",
        f"{sum(part.rule.executions for part in parts):,}",
        f"{len(graph.rules(intent)):,}",
    )
    cells = "".join(f"<td>{number}</td>" for number in numbers)
    return f'<td style="text-align:left">{html_text(str(intent))}</td>{cells}'
