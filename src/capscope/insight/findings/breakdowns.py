"""Requests at which the agent breaks down: it raises, chooses what is unavailable, or loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from capscope.insight.findings.case import Case, answered, merged
from capscope.insight.findings.context import Breakdown, FindingContext, FindingKind, PairEndings
from capscope.insight.findings.families import Family, Rows, Thresholds, Topic, agree, families
from capscope.insight.findings.finding import LEAST_RATE, Finding
from capscope.insight.findings.splits import EventCounts, narrow_down
from capscope.journal.draws import ENDINGS
from capscope.journal.execution_table import ExecutionTable
from capscope.logic import Intent, State, Vocabulary
from capscope.problem.attempt import Ending
from capscope.stats.error_budget import Share

_ENDINGS = {
    Breakdown.RAISED: Ending.AGENT_RAISED,
    Breakdown.INVALID: Ending.INVALID_ACTION,
    Breakdown.LOOPED: Ending.HORIZON,
}


def pair_endings(
    table: ExecutionTable, intents: Sequence[Intent], vocabulary: Vocabulary
) -> PairEndings:
    """Count the breakdowns of each pair; executions that a budget cut do not count.

    An agent that is stopped has broken down only if its intent does not hold.
    """
    complete = table.complete
    found: dict[Breakdown, dict[tuple[int, State], int]] = {}
    for breakdown, ending in _ENDINGS.items():
        rows = np.flatnonzero(complete.ending == ENDINGS.index(ending))
        if breakdown is Breakdown.LOOPED:
            ends = zip(complete.capability[rows], complete.after[rows], strict=True)
            held = [intents[c].holds(complete.states[s], vocabulary) for c, s in ends]
            rows = rows[~np.array(held, dtype=bool)]
        own = np.stack([complete.capability[rows], complete.before[rows]])
        pairs, times = np.unique(own, axis=1, return_counts=True)
        found[breakdown] = {
            (c, complete.states[s]): n
            for (c, s), n in zip(pairs.T.tolist(), times.tolist(), strict=True)
        }
    return found


Ended = Mapping[tuple[int, State], int]


def find_breakdowns(
    context: FindingContext, share: Share, earlier: Sequence[Finding] = ()
) -> list[Finding]:
    """Find the requests at which the agent breaks down, and under which condition."""
    return [
        finding
        for breakdown in Breakdown
        for finding in _found(context, share, breakdown, (context.endings or {}).get(breakdown, {}))
    ]


BREAKDOWN = FindingKind("breakdown", "requests at which the agent breaks down", find_breakdowns)


def _found(
    context: FindingContext, share: Share, breakdown: Breakdown, ended: Ended
) -> Iterator[Finding]:
    topics = [Topic(c) for c in sorted({c for c, _ in ended})]
    asked = families(context, topics)
    thresholds = Thresholds.of(share, asked, 1 / len(Breakdown))
    rows_of = {topic: _rows(context, topic.capability, ended) for topic in topics}
    found = answered(context, asked, rows_of, thresholds, _case)
    for case in merged(found):
        outcomes = [
            (c, state, effect)
            for c, state in case.inside.pairs
            if (c, state) in ended
            for effect in context.pair(c, state).counts
        ]
        sentence = case.sentence(context, breakdown)
        yield case.finding(context, BREAKDOWN.name, sentence, (), outcomes)


def _rows(context: FindingContext, capability: int, ended: Ended) -> Rows:
    rows = [
        (i, min(ended.get((capability, node.state), 0), pair.total), pair.total)
        for i, node in enumerate(context.nodes)
        if (pair := node.pairs[capability]) is not None
        and (not context.holds(capability, node.state) or (capability, node.state) in ended)
    ]
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return columns[:, 0], columns[:, 1], columns[:, 2]


def _case(family: Family, everywhere: EventCounts, needed: Thresholds) -> Case | None:
    when, inside = narrow_down(everywhere, needed.condition, needed.later)
    if not inside.surely_above(LEAST_RATE, needed.rate) or not agree(family, inside):
        return None
    return Case(family, everywhere, inside, tuple(when))
