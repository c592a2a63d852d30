"""Requests that fail where they could succeed: always, or under a condition.

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
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace
from functools import cache, partial

import numpy as np

from capscope.insight.findings.case import Case, answered, merged
from capscope.insight.findings.context import FindingContext, FindingKind
from capscope.insight.findings.families import Family, Rows, Thresholds, Topic, agree, families
from capscope.insight.findings.finding import LEAST_DIFFERENCE, Finding, pairs_of
from capscope.insight.findings.splits import EventCounts, best_split, narrow_down
from capscope.logic import Effect, Intent, State
from capscope.model import Rule
from capscope.stats.error_budget import Share
from capscope.wording import joined

_RELIABLE = 0.5
"""How probable an outcome of another request must be, by its rule, to count as a way."""


Goal = Callable[[State], bool]


class RuleIndex:
    """The rule of each state, for the capabilities that are asked about."""

    def __init__(self, context: FindingContext) -> None:
        self._context = context
        self._rules: dict[int, dict[State, Rule]] = {}

    def rule(self, capability: int, state: State) -> Rule:
        """Return the rule of a state in which a capability was tried."""
        if capability not in self._rules:
            rules = self._context.graph.rules(self._context.intents[capability])
            self._rules[capability] = {s: rule for rule in rules for s in rule.states}
        return self._rules[capability][state]

    def leads(self, capability: int, state: State, goal: Goal) -> float:
        """Return how probably, by its rule, a request leads from a state to a goal."""
        outcomes = self.rule(capability, state).outcomes
        return sum(o.probability for o in outcomes if goal(o.effect.apply(state)))


def rule_index(context: FindingContext) -> RuleIndex:
    """Return the rules by state, for `FindingContext.once`."""
    return RuleIndex(context)


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
    return context.once(rule_index).leads(request, state, goal) >= _RELIABLE


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
        others = achieved_by_others(context, capability)
        return frozenset(_states_of_achieving_rules(context, capability)).union(others)

    return of


def _states_of_achieving_rules(context: FindingContext, capability: int) -> Iterator[State]:
    """Yield the states of the rules by which the capability achieves its intent."""
    for rule in context.graph.rules(context.intents[capability]):
        for state in rule.states:
            if any(context.holds(capability, o.effect.apply(state)) for o in rule.outcomes):
                yield state


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
    when, inside = narrow_down(everywhere, needed.condition, needed.later)
    if not inside.surely_above(_FAILS, needed.rate) or not agree(family, inside):
        return None
    # It must exceed the bound by enough to matter to a reader.
    if inside.rate.low < _FAILS + LEAST_DIFFERENCE:
        return None
    return Case(family, everywhere, inside, tuple(when))


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
    case = Case(family, everywhere, split.high, (split.when_high,))
    assert case.against is not None
    worse = (case.rate.estimate or 0.0) - (case.against.estimate or 0.0)
    if worse < LEAST_DIFFERENCE or (case.rate.missed.hits or 0) < _LEAST_SUCCESSES:
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


def _drop_finding(context: FindingContext, case: Case) -> Finding:
    assert case.against is not None
    sentence = (
        f"{case.asked(context)}, the agent succeeds less often: success has probability "
        f"{case.rate.missed.text}, otherwise {case.against.missed.text}."
    )
    return success_finding(context, case, DROP.name, sentence)
