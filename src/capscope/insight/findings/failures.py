"""Intents that the agent fails to achieve where another request achieves them at once.

That another request does it shows that it can be done, in one execution, from the same state. How
often it does comes from its rule, so that a slip that happened to achieve the intent is not a way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from capscope.insight.findings.case import Case, answered, merged
from capscope.insight.findings.context import FindingContext, FindingKind
from capscope.insight.findings.finding import Finding
from capscope.insight.findings.lifted_intents import (
    Family,
    Thresholds,
    Topic,
    agree,
    families,
)
from capscope.insight.findings.splits import EventCounts, narrow_down
from capscope.insight.findings.success_rows import achieved_by_others, failure_rows
from capscope.logic import Effect, Intent, State
from capscope.stats.error_budget import Share
from capscope.wording import joined

_FAILS = 0.5
"""An intent that is achieved less often than this is said to fail."""
_MOST_NAMED = 2
Others = dict[Topic, dict[State, list[Intent]]]


def find_failures(
    context: FindingContext, share: Share, earlier: Sequence[Finding] = ()
) -> list[Finding]:
    """Find the intents that mostly fail where another request achieves them at once."""
    others: Others = {
        Topic(c): by for c in range(len(context.intents)) if (by := achieved_by_others(context, c))
    }
    asked = families(context, list(others))
    thresholds = Thresholds.of(share, asked)
    rows_of = {t: failure_rows(context, t.capability, set(by)) for t, by in others.items()}
    found = answered(context, asked, rows_of, thresholds, _case)
    return [_finding(context, case, others) for case in merged(found)]


FAILURE = FindingKind(
    "failure",
    "intents that fail although another request achieves them at once",
    find_failures,
    counts_success=True,
)


def _case(family: Family, everywhere: EventCounts, needed: Thresholds) -> Case | None:
    when, inside = narrow_down(everywhere, needed.condition, needed.later)
    if not inside.rate.clearly_above(_FAILS, needed.rate) or not agree(family, inside):
        return None
    return Case(family, everywhere, inside, tuple(when))


def _finding(context: FindingContext, case: Case, others: Others) -> Finding:
    ways: Counter[str] = Counter()
    for topic, state in case.topics_inside():
        ways.update(map(str, others[topic].get(state, ())))
    named = [name for name, _ in ways.most_common(_MOST_NAMED)]
    rate, against = case.rate.missed, case.against and case.against.missed
    never = "never achieves it" if not rate.hits else "rarely achieves it"
    otherwise = "" if against is None else f"; otherwise {against.text}"
    sentence = (
        f"{case.asked(context)}, the agent {never}, although asking for {joined(named, 'or')} "
        f"does at once: success has probability {rate.text}{otherwise}."
    )
    return success_finding(context, case, FAILURE.label, sentence)


def success_finding(context: FindingContext, case: Case, kind: str, sentence: str) -> Finding:
    """Return a case about failures as a finding about success."""
    outcomes: list[tuple[int, State, Effect]] = [
        (c, state, effect)
        for c, state in case.inside.pairs
        for effect in context.pair(c, state).counts
        if not context.holds(c, effect.apply(state))
    ]
    found = case.finding(context, kind, sentence, (), outcomes)
    against = None if found.against is None else found.against.missed
    return replace(found, rate=found.rate.missed, against=against)
