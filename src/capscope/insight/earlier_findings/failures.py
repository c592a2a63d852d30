"""Requests that fail where they could succeed, and those at which the agent breaks down.

A *failure* is an intent that the agent mostly fails to achieve where another request achieves it at
once: it can be done, in one execution, from the same state. How often the other does comes from its
rule, so that a slip that happened to achieve the intent is not a way. A *drop* is a condition under
which success is rarer, among the states of rules by which the intent is achieved and those in which
another request achieves it. Where nothing ever achieved it, it may just be impossible. Where the
agent mostly takes a step towards the intent, which a slip achieves at once, it does not succeed
less often.

A state is not to be chosen by what the capability itself showed there: if states count only where
it succeeded or another request did, a failure counts only where there is another request, and
chance becomes a condition. So states are chosen by what *other* requests achieved in them, or by
the learned rules: a rule belongs to all of its states, whatever each of them showed.

A *breakdown* is an execution that ends without a decision of the agent: it raises, chooses what is
unavailable, or goes on until it is stopped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import cache, partial

import numpy as np

from capscope.insight.earlier_findings.case import Case, answered, frequent, merged
from capscope.insight.earlier_findings.context import (
    Breakdown,
    FindingContext,
    FindingKind,
    PairEndings,
)
from capscope.insight.earlier_findings.families import (
    Family,
    Rows,
    Thresholds,
    Topic,
    agree,
    families,
)
from capscope.insight.earlier_findings.finding import (
    LEAST_DIFFERENCE,
    LEAST_RATE,
    Finding,
    pairs_of,
)
from capscope.insight.earlier_findings.splits import EventCounts, best_split
from capscope.journal.draws import ENDINGS
from capscope.journal.execution_table import ExecutionTable
from capscope.logic import Effect, Intent, State, Vocabulary
from capscope.model import Rule
from capscope.problem.attempt import Ending
from capscope.stats.error_budget import Share
from capscope.wording import joined

_RELIABLE = 0.5
"""How probable an outcome of another request must be, by its rule, to count as a path."""


Goal = Callable[[State], bool]


def rules_by_state(context: FindingContext) -> Callable[[int], Mapping[State, Rule]]:
    """Return, for `FindingContext.once`, the rule of each state of a capability."""

    @cache
    def of(capability: int) -> Mapping[State, Rule]:
        rules = context.graph.rules(context.intents[capability])
        return {state: rule for rule in rules for state in rule.states}

    return of


def achieved_by_others(context: FindingContext, capability: int) -> dict[State, list[Intent]]:
    """Return the states in which other requests achieve the intent at once, and which do."""
    found: dict[State, list[Intent]] = {}
    for node, _ in context.tried[capability]:
        others: dict[int, None] = {}
        for after, by in context.ways[node.state].items():
            if context.holds(capability, after):
                others.update(dict.fromkeys(c for c in by if c != capability))
        goal = partial(context.holds, capability)
        reliable = [
            context.intents[c] for c in others if _is_reliable(context, c, node.state, goal)
        ]
        if reliable:
            found[node.state] = reliable
    return found


def leads_reliably(context: FindingContext, state: State, goal: Goal) -> bool:
    """Return whether some request reliably leads from a state to a goal."""
    ways = context.ways[state].items()
    requests = {c: None for after, by in ways if goal(after) for c in by}
    return any(_is_reliable(context, c, state, goal) for c in requests)


def _is_reliable(context: FindingContext, request: int, state: State, goal: Goal) -> bool:
    """Return whether a request mostly leads from a state to a goal, by its rule."""
    outcomes = context.once(rules_by_state)(request)[state].outcomes
    return sum(o.probability for o in outcomes if goal(o.effect.apply(state))) >= _RELIABLE


def failure_rows(context: FindingContext, capability: int, states: Set[State]) -> Rows:
    """Return how often a capability failed in some of the states in which it was tried."""
    rows = [
        (context.index[node.state], _failures(context, capability, node.state), pair.total)
        for node, pair in context.tried[capability]
        if node.state in states
    ]
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return columns[:, 0], columns[:, 1], columns[:, 2]


def _failures(context: FindingContext, capability: int, state: State) -> int:
    counts = context.pair(capability, state).counts
    return sum(n for e, n in counts.items() if not context.holds(capability, e.apply(state)))


def fair_states(context: FindingContext) -> Callable[[int], frozenset[State]]:
    """Return, for `FindingContext.once`, in which states success of a capability can be expected.

    These are the states of a rule by which it achieves its intent, and those in which another
    request does.
    """

    @cache
    def of(capability: int) -> frozenset[State]:
        achieving = (
            state
            for state, rule in context.once(rules_by_state)(capability).items()
            if any(context.holds(capability, o.effect.apply(state)) for o in rule.outcomes)
        )
        return frozenset(achieving).union(achieved_by_others(context, capability))

    return of


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
    found = answered(context, asked, rows_of, thresholds, _failure_case)
    return [_failure_finding(context, case, others) for case in merged(found)]


FAILURE = FindingKind(
    "failure",
    "intents that fail although another request achieves them at once",
    find_failures,
    counts_success=True,
)


def _failure_case(family: Family, everywhere: EventCounts, needed: Thresholds) -> Case | None:
    case = frequent(family, everywhere, needed, _FAILS)
    # It must exceed the bound by enough to matter to a reader.
    return None if case is None or case.rate.low < _FAILS + LEAST_DIFFERENCE else case


def _failure_finding(context: FindingContext, case: Case, others: Others) -> Finding:
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
    return success_finding(context, case, FAILURE.name, sentence)


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
    found = answered(context, asked, rows_of, thresholds, _drop_case)
    told = pairs_of(earlier)
    return [
        _drop_finding(context, case)
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


def _drop_case(family: Family, everywhere: EventCounts, needed: Thresholds) -> Case | None:
    split = best_split(everywhere, needed.condition)
    if split is None or split.evidence < needed.condition:
        return None
    case = Case(family, everywhere, split.rows, (split.when,))
    assert case.against is not None
    worse = (case.rate.estimate or 0.0) - (case.against.estimate or 0.0)
    if worse < LEAST_DIFFERENCE or (case.rate.missed.hits or 0) < _LEAST_SUCCESSES:
        return None
    return case if agree(family, case.inside) else None


def _takes_steps(context: FindingContext, case: Case) -> bool:
    """Return whether most failures under the condition may be steps on the path."""
    failed = astray = 0
    for capability, state in case.inside.pairs:
        for effect, number in context.pair(capability, state).counts.items():
            after = effect.apply(state)
            if not context.holds(capability, after):
                failed += number
                near = context.nearness(capability).at_least_as_near
                astray += number * (after == state or near(state, after))
    return 2 * astray < failed


def _drop_finding(context: FindingContext, case: Case) -> Finding:
    assert case.against is not None
    sentence = (
        f"{case.asked(context)}, the agent succeeds less often: success has probability "
        f"{case.rate.missed.text}, otherwise {case.against.missed.text}."
    )
    return success_finding(context, case, DROP.name, sentence)


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
        for finding in _breakdowns_like(
            context, share, breakdown, (context.endings or {}).get(breakdown, {})
        )
    ]


BREAKDOWN = FindingKind("breakdown", "requests at which the agent breaks down", find_breakdowns)


def _breakdowns_like(
    context: FindingContext, share: Share, breakdown: Breakdown, ended: Ended
) -> Iterator[Finding]:
    topics = [Topic(c) for c in sorted({c for c, _ in ended})]
    asked = families(context, topics)
    thresholds = Thresholds.of(share, asked, 1 / len(Breakdown))
    rows_of = {topic: _breakdown_rows(context, topic.capability, ended) for topic in topics}
    found = answered(context, asked, rows_of, thresholds, partial(frequent, bound=LEAST_RATE))
    for case in merged(found):
        outcomes = [
            (c, state, effect)
            for c, state in case.inside.pairs
            if (c, state) in ended
            for effect in context.pair(c, state).counts
        ]
        sentence = case.sentence(context, breakdown)
        yield case.finding(context, BREAKDOWN.name, sentence, (), outcomes)


def _breakdown_rows(context: FindingContext, capability: int, ended: Ended) -> Rows:
    rows = [
        (i, min(ended.get((capability, node.state), 0), pair.total), pair.total)
        for i, node in enumerate(context.nodes)
        if (pair := node.pairs[capability]) is not None
        and (not context.holds(capability, node.state) or (capability, node.state) in ended)
    ]
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return columns[:, 0], columns[:, 1], columns[:, 2]
