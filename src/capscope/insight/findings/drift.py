"""A change of the agent during the run."""

from __future__ import annotations

import numpy as np

from capscope.insight.drift import Drift
from capscope.insight.findings.context import FindingContext, FindingKind
from capscope.insight.findings.finding import Finding, Kind
from capscope.logic import Effect
from capscope.logic.footprint import Footprint
from capscope.stats.error_budget import Share
from capscope.stats.rate import Rate
from capscope.wording import joined


def find_change(context: FindingContext, share: Share) -> list[Finding]:
    """Report the change of the agent during the run, if there is one.

    The test for drift has an error rate of its own, which does not count the questions of a report.
    Here its evidence must reach the threshold of this kind as well.
    """
    drift, threshold = context.run.drift, share.threshold(2)
    return [] if drift is None or drift.evidence < threshold else [_finding(context, drift)]


def _finding(context: FindingContext, drift: Drift) -> Finding:
    """Describe a change by the pair that shows it most clearly, chosen among many."""
    usual = next(iter(drift.before))
    capability = context.graph.index[drift.intent]
    table, words = context.table, context.vocabulary
    rows = np.flatnonzero((table.capability == capability) & (table.transition >= 0))
    example = next(one for one in map(context.example, rows.tolist()) if one.before == drift.state)
    before, after = (
        Rate.of_pairs([(counts[usual], counts.total())], 1, max(2 * drift.pairs, 1))
        for counts in (drift.before, drift.after)
    )
    effect = context.exactly_one.without_implied(Effect.between(drift.state, usual))
    did = joined(effect.literals(words)) or "nothing"
    which = "" if drift.capability is None else f" when it is asked for {drift.capability}"
    return Finding(
        Kind.DRIFT,
        str(drift.intent.renamed(Footprint(drift.intent, words).lift)),
        "",
        (drift.intent,),
        drift.after.total() - drift.after[usual],
        drift.after.total(),
        rate=after.missed,
        against=before.missed,
        path=context.path(drift.state),
        example=example,
        text=(
            f"After about {drift.executions:,} executions the agent changed what it does{which}: "
            f"asked for {drift.intent} in one state, it caused {did} with probability "
            f"{before.text} before, and {after.text} since."
        ),
    )


DRIFT = FindingKind("change over time", "changes of the agent during the run", find_change, 0.2)
