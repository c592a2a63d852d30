"""Find what a user should know about an agent, from what was learned, without knowing the truth.

Few people read a model of forty capabilities. Most of it is as expected: asked for something, the
agent does it, or cannot. Findings are the exceptions: the agent changes more than it needs to,
fails where it could succeed, breaks down, goes astray, or treats similar objects differently. What
it could have done instead is known from everything that was seen to be possible. These sentences
end up in reports, so all comparisons of one call share one error budget, divided equally among the
registered kinds (`registry`). They are ranked by harm (`harm`).
"""

from collections.abc import Iterable, Sequence

from capscope.insight.drift import Drift
from capscope.insight.findings.changes import CHANGE
from capscope.insight.findings.context import FindingContext, FindingKind
from capscope.insight.findings.finding import Example, Finding
from capscope.insight.findings.harm import ranked_by_harm
from capscope.insight.findings.pair_endings import PairEndings
from capscope.insight.findings.registry import FINDING_KINDS
from capscope.logic import State
from capscope.model import StateGraph
from capscope.stats.error_budget import ERROR_RATE, ErrorBudget

__all__ = ["FINDING_KINDS", "Example", "Finding", "FindingKind", "find_findings"]


def find_findings(
    graph: StateGraph,
    *,
    beginnings: Iterable[State] = (),
    endings: PairEndings | None = None,
    drift: Drift | None = None,
    kinds: Sequence[FindingKind] | None = None,
) -> list[Finding]:
    """List the findings in what was learned, the most harmful first.

    `beginnings` are the states in which runs begin, the first state seen unless given; `endings`
    and `drift` tell what the graph does not show. `kinds` are all registered ones unless given.
    """
    context = FindingContext(
        graph,
        beginnings=beginnings,
        endings=endings,
        drift=drift,
    )
    searched = list(FINDING_KINDS.all.values()) if kinds is None else kinds
    budget = ErrorBudget(ERROR_RATE, len(searched))
    found: list[Finding] = []
    for kind in searched:
        found += kind.find(context, budget.share(kind.name), tuple(found))
    kinds_of = {kind.label: kind for kind in searched}
    if any(finding.kind == CHANGE.label for finding in found):
        found = [f for f in found if not kinds_of[f.kind].assumes_steady_agent]
    return ranked_by_harm(context, found, kinds_of)
