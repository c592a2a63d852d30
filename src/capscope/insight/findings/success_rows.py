"""Failures of each capability, in the states that are fair to count.

A state is not to be chosen by what the capability itself showed there: if states count only where
it succeeded or another request did, a failure counts only where there is another request, and
chance becomes a condition. So states are chosen by what *other* requests achieved in them, or by
the learned rules: a rule belongs to all of its states, whatever each of them showed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from functools import cache, partial

import numpy as np

from capscope.insight.findings.context import FindingContext
from capscope.insight.findings.lifted_intents import Rows
from capscope.logic import Intent, State
from capscope.model import Rule

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
