"""A change of the agent while the run was under way, from the test for drift (`analysis/drift`).

The test has an error rate of its own, which does not count the questions of a report. Here its
evidence must reach the threshold of this kind as well. The pair that shows the change most clearly
was chosen among many, so the intervals of its rates are wider.
"""

from __future__ import annotations

from collections.abc import Sequence

from capscope.insight.findings.context import FindingContext, FindingKind
from capscope.insight.findings.finding import Finding
from capscope.insight.findings.rate import Rate
from capscope.logic import Effect
from capscope.stats.error_budget import Share
from capscope.wording import joined


def find_changes(
    context: FindingContext, share: Share, earlier: Sequence[Finding] = ()
) -> list[Finding]:
    """Report the change of the agent, if there is one."""
    drift = context.drift
    threshold = share.threshold(2)
    if drift is None or drift.evidence < threshold:
        return []
    usual = next(iter(drift.before))
    capability = context.graph.index[drift.intent]
    before, after = (
        Rate.of([(counts[usual], sum(counts.values()))], 1, max(2 * drift.pairs, 1))
        for counts in (drift.before, drift.after)
    )
    effect = Effect.between(drift.state, usual)
    literals = context.exactly_one.without_implied(effect).literals(context.vocabulary)
    which = "" if drift.capability is None else f" when it is asked for {drift.capability}"
    sentence = (
        f"After about {drift.executions:,} executions the agent changed what it does{which}: asked "
        f"for {drift.intent} in one state, it caused {joined(literals) or 'nothing'} with "
        f"probability {before.text} before, and {after.text} since."
    )
    example = context.example(capability, drift.state, usual)
    return [
        Finding(
            CHANGE.label,
            (drift.intent,),
            sentence,
            after,
            before,
            (),
            literals,
            (example,),
            frozenset({(capability, drift.state)}),
            strength=max(before.gap_to(after), after.gap_to(before)),
        )
    ]


CHANGE = FindingKind("change", "changes of the agent during the run", find_changes, severity=3)
