"""What is surprising in a learned capability model."""

from __future__ import annotations

from capscope.findings.choice import choices
from capscope.findings.conditions import conditions
from capscope.findings.finding import Example, Finding, Kind
from capscope.findings.graph import Graph
from capscope.findings.means import means
from capscope.findings.preferences import preferences
from capscope.findings.side_effects import side_effects
from capscope.model import Models

__all__ = ["Example", "Finding", "Kind", "find_surprises"]


def find_surprises(models: Models) -> list[Finding]:
    """List what is surprising, the most striking first."""
    graph = Graph(models)
    made = choices(graph)
    unusual = means(graph, made)
    told = frozenset().union(*(f.pairs for f in unusual))
    plain = [c for c in made if (c.capability, c.state) not in told]
    found = [*side_effects(graph), *conditions(graph), *unusual, *preferences(graph, plain)]
    return sorted(found, key=lambda f: (-f.strength, -f.rate.draws, f.sentence))
