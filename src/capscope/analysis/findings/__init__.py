"""Find what is notable in a learned model, without knowing the truth.

Few people read a model of forty capabilities. Most of it is as expected: asked for something, the
agent does it, or cannot. Findings are the exceptions: the agent changes more than it needs to,
fails where it could succeed, has preferences, achieves things in unusual ways, or treats similar
objects differently. What it could have done instead is known from everything that was seen to be
possible. These sentences end up in reports, so all comparisons of one call share one error budget,
divided equally among the registered kinds (`registry`).
"""

from collections.abc import Sequence

from capscope.analysis.findings.context import FindingContext, FindingKind
from capscope.analysis.findings.finding import Example, Finding
from capscope.analysis.findings.registry import FINDING_KINDS
from capscope.model import StateGraph
from capscope.statistics.error_budget import ERROR_RATE, ErrorBudget

__all__ = ["FINDING_KINDS", "Example", "Finding", "FindingKind", "find_findings"]


def find_findings(
    graph: StateGraph,
    *,
    temporal_length: int | None = 1,
    kinds: Sequence[FindingKind] | None = None,
) -> list[Finding]:
    """List the findings in what was learned, the strongest first.

    `temporal_length` is that of the problem: after how many changes an execution was ended.
    `kinds` are all registered ones unless given.
    """
    context = FindingContext(graph, single_changes=temporal_length == 1)
    searched = list(FINDING_KINDS.all.values()) if kinds is None else kinds
    budget = ErrorBudget(ERROR_RATE, len(searched))
    found: list[Finding] = []
    for kind in searched:
        found += kind.find(context, budget.share(kind.name), tuple(found))
    return sorted(found, key=lambda f: (-f.strength, -f.rate.draws, f.sentence))
