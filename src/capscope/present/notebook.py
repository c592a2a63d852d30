"""What a notebook shows of an assessment and of a capability."""

from __future__ import annotations

from collections.abc import Sequence

from capscope.model import StateGraph
from capscope.model.html import escaped
from capscope.present.sanitize import sanitize
from capscope.present.text import (
    CapabilityView,
    capability_lines,
    capability_view,
    capability_views,
)
from capscope.symbolic import Intent


class Shown(str):
    """A text of several lines that a notebook, and a console, show as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        lines = "\n".join(map(escaped, self.splitlines()))
        return f'<pre style="text-align:left">{lines}</pre>'


def shown_capability(graph: StateGraph, intent: Intent) -> Shown:
    """Write a capability down: when, and what happened how often."""
    return Shown(_text(capability_view(graph, intent), graph))


def shown_model(graph: StateGraph) -> Shown:
    """Write all capabilities down, the most interesting first."""
    return Shown("\n\n".join(_text(view, graph) for view in capability_views(graph)))


def _text(view: CapabilityView, graph: StateGraph) -> str:
    return "\n".join(map(sanitize, capability_lines(view, graph.vocabulary)))


def result_html(said: Sequence[str], graph: StateGraph) -> str:
    """Put sentences about a run above the table of its model."""
    title, *sentences = map(escaped, said)
    paragraphs = "".join(f"<p>{sentence}</p>" for sentence in sentences)
    return f"<p><b>{title}</b></p>{paragraphs}{graph._repr_html_()}"
