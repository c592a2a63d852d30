"""What is surprising in a learned capability model, found without knowing the truth.

A model of forty capabilities is read by few. Most of it is as expected: asked for something, the
agent brings it about, or cannot. What a person wants to be told is where it does not: it changes
more than it need, it fails where it could succeed, it has habits, it achieves things in odd ways,
it treats like objects differently. Each is looked for in the counts of single states; the graph of
all that was seen to be possible says what the agent could have done instead.

A false alarm is as bad as a miss, for these sentences end up in reports. All comparisons of one
call share one error rate (`statistics.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from capscope.analysis.findings.asymmetry import asymmetries
from capscope.analysis.findings.choice import choices
from capscope.analysis.findings.conditions import conditions
from capscope.analysis.findings.context import FindingContext
from capscope.analysis.findings.finding import Example, Finding, Kind, Pairs
from capscope.analysis.findings.means import means
from capscope.analysis.findings.partiality import partialities
from capscope.analysis.findings.preferences import preferences
from capscope.analysis.findings.side_effects import side_effects
from capscope.model import StateGraph

__all__ = ["Example", "Finding", "Kind", "find_surprises"]


def find_surprises(graph: StateGraph, *, temporal_length: int | None = 1) -> list[Finding]:
    """List what is surprising in what was learned, the most striking first.

    `temporal_length` is that of the problem: after how many changes an execution was ended.
    """
    context = FindingContext(graph, single_changes=temporal_length == 1)
    made = choices(context)
    unusual = means(context, made)
    told = {capability for capability, _ in _pairs(unusual)}
    habits = preferences(context, [choice for choice in made if choice.capability not in told])
    spoiled, weak = side_effects(context), conditions(context)
    found = [*spoiled, *weak, *habits, *unusual]
    found += asymmetries(context, _pairs(found))
    found += partialities(context, _pairs(found), habits)
    return sorted(found, key=lambda f: (-f.strength, -f.rate.draws, f.sentence))


def _pairs(findings: Iterable[Finding]) -> Pairs:
    return frozenset(pair for finding in findings for pair in finding.pairs)
