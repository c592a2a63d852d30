"""What a notebook shows of a run and of a capability; names are always escaped."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from capscope.insight.hazards.wording import hazard_headline
from capscope.insight.rates import success_at_once
from capscope.insight.rule_wording import model_lines
from capscope.logic import Intent
from capscope.model import StateGraph
from capscope.report.notes import claim_lines, stop_text
from capscope.report.text import capability_lines
from capscope.sanitize import html_text
from capscope.wording import counted

if TYPE_CHECKING:
    from capscope.run import Run

MOST_ROWS = 50
_HEADINGS = ("capability", "success", "states tried", "executions")


class PreformattedText(str):
    """A text of several lines that notebooks and consoles show unchanged."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        lines = "\n".join(map(html_text, self.splitlines()))
        return f'<pre style="text-align:left">{lines}</pre>'


def shown_capabilities(run: Run, intents: Iterable[Intent] | None = None) -> PreformattedText:
    """Describe capabilities, or the rules of all of them, the most interesting first."""
    if intents is None:
        return PreformattedText("\n".join(model_lines(run.model, run.path)))
    texts = ("\n".join(capability_lines(run, intent)) for intent in intents)
    return PreformattedText("\n\n".join(texts))


def run_html(run: Run) -> str:
    """Return what a run is and what it cost, its rules, and a table of its capabilities."""
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
    sentences = map(html_text, (*hazards, spent, *claim_lines(run), *run.notes()))
    paragraphs = "".join(f"<p>{sentence}</p>" for sentence in sentences)
    rules = shown_capabilities(run)._repr_html_()
    return f"<p><b>{html_text(title)}</b></p>{paragraphs}{rules}{graph_html(run.graph)}"


def graph_html(graph: StateGraph) -> str:
    """Return a table of the first capabilities; success is that of one execution."""
    shown = graph.capabilities[:MOST_ROWS]
    body = "".join(f"<tr>{_row(intent, graph)}</tr>" for intent in shown)
    head = "".join(f"<th>{name}</th>" for name in _HEADINGS)
    hidden = len(graph.capabilities) - len(shown)
    rest = f"<p>and {hidden:,} more</p>" if hidden else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _row(intent: Intent, graph: StateGraph) -> str:
    success, rules = success_at_once(graph, intent), graph.rules(intent)
    numbers = (
        "unknown" if success is None else f"{success:.2f}",
        f"{sum(len(rule.states) for rule in rules):,} of {len(graph.nodes):,}",
        f"{sum(rule.executions for rule in rules):,}",
    )
    cells = "".join(f"<td>{number}</td>" for number in numbers)
    return f'<td style="text-align:left">{html_text(str(intent))}</td>{cells}'
