"""Success that drops when a condition holds.

States count if they belong to a rule by which the intent is achieved, or if another request
achieves it there. Where nothing ever achieved it, it may just be impossible; that the agent never
does what another request does at once is another finding (`failures`). Where it mostly takes a step
towards the intent, which a slip achieves at once, the agent does not succeed less often.
"""

from __future__ import annotations

from collections.abc import Sequence

from capscope.insight.findings.case import Case, answered, merged
from capscope.insight.findings.context import FindingContext, FindingKind
from capscope.insight.findings.failures import success_finding
from capscope.insight.findings.finding import Finding, pairs_of
from capscope.insight.findings.lifted_intents import (
    Family,
    Thresholds,
    Topic,
    agree,
    families,
)
from capscope.insight.findings.rate import LEAST_DIFFERENCE
from capscope.insight.findings.splits import EventCounts, best_split
from capscope.insight.findings.success_rows import failure_rows, fair_states
from capscope.stats.error_budget import Share

_LEAST_SUCCESSES = 2


def find_drops(
    context: FindingContext, share: Share, earlier: Sequence[Finding] = ()
) -> list[Finding]:
    """Find the conditions under which capabilities succeed less often."""
    topics = [Topic(c) for c in range(len(context.intents)) if len(context.tried[c]) > 1]
    rows_of = {}
    for topic in topics:
        fair = context.once(fair_states)(topic.capability)
        rows_of[topic] = failure_rows(context, topic.capability, fair)
    topics = [topic for topic in topics if 0 < rows_of[topic][1].sum() < rows_of[topic][2].sum()]
    asked = families(context, topics)
    thresholds = Thresholds.of(share, asked)
    found = answered(context, asked, rows_of, thresholds, _case)
    told = pairs_of(earlier)
    return [
        _finding(context, case)
        for case in merged(found)
        if not case.pairs <= told and not _takes_steps(context, case)
    ]


DROP = FindingKind(
    "drop",
    "conditions under which the agent succeeds less often",
    find_drops,
    assumes_steady_agent=True,
    counts_success=True,
)


def _case(family: Family, everywhere: EventCounts, needed: Thresholds) -> Case | None:
    split = best_split(everywhere, needed.condition)
    if split is None or split.evidence < needed.condition:
        return None
    case = Case(family, everywhere, split.high, (split.when_high,))
    assert case.against is not None
    worse = case.rate.probability - case.against.probability
    if worse < LEAST_DIFFERENCE or case.rate.draws - case.rate.hits < _LEAST_SUCCESSES:
        return None
    return case if agree(family, case.inside) else None


def _takes_steps(context: FindingContext, case: Case) -> bool:
    """Return whether most failures under the condition may be steps on the way."""
    failed = astray = 0
    for capability, state in case.inside.pairs:
        for effect, number in context.pair(capability, state).counts.items():
            after = effect.apply(state)
            if not context.holds(capability, after):
                failed += number
                near = context.nearness(capability).at_least_as_near
                astray += number * (after == state or near(state, after))
    return 2 * astray < failed


def _finding(context: FindingContext, case: Case) -> Finding:
    assert case.against is not None
    sentence = (
        f"{case.asked(context)}, the agent succeeds less often: success has probability "
        f"{case.rate.missed.text}, otherwise {case.against.missed.text}."
    )
    return success_finding(context, case, DROP.label, sentence)
