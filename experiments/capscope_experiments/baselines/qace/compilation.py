"""What QACE is given to learn: capabilities whose preconditions a conjunction can express.

Our own models have rules with disjunctive conditions; QACE learns conjunctions only. As in the
paper, the condition of every rule is written as a disjunction of conjunctions, and each of these
becomes a learning task of its own, with the same intent. That gives QACE much information about the
conditions, but otherwise the truth would not be in its class. `leave_uncompiled` passes the list as
it is, to show exactly that.

A rule that changes nothing is counted but not passed on. In QACE's class nothing happens if no
precondition holds, so such a task adds nothing. Also, an agent that does nothing looks the same
whether it executed the capability or not, so no answer could distinguish the hypotheses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from capscope.logic import Effect, Intent, State
from capscope.logic.shortest_condition import shortest_condition
from capscope.model import StateGraph
from capscope_experiments.baselines.qace.model import Conjunction


@dataclass(frozen=True, slots=True)
class Outcome:
    """One effect of a rule, how often it was seen, and its frequency."""

    effect: Effect
    count: int
    probability: float


@dataclass(frozen=True, slots=True)
class Rule:
    """States in which a capability showed the same effects."""

    states: tuple[State, ...]
    outcomes: tuple[Outcome, ...]

    @property
    def executions(self) -> int:
        """The executions behind the rule."""
        return sum(outcome.count for outcome in self.outcomes)


def extreme_rules(graph: StateGraph, intent: Intent) -> list[Rule]:
    """Return the rules of the extreme models, best supported first: one for each group."""
    rules = []
    for group in graph.groups(graph.index[intent]):
        ranked = sorted(zip(group.counts, group.effects, strict=True), key=lambda p: (-p[0], p[1]))
        outcomes = (Outcome(effect, count, count / group.total) for count, effect in ranked)
        rules.append(Rule(tuple(sorted(group.states)), tuple(outcomes)))
    return sorted(rules, key=lambda rule: (-rule.executions, rule.states))


@dataclass(frozen=True, slots=True)
class LearningTask:
    """A capability for QACE to learn: an intent and a state in which it is known to work."""

    intent: Intent
    within: Conjunction
    """The disjunct that it comes from; the empty conjunction if nothing was compiled."""
    start: State
    whole: bool
    """Whether it covers all outcomes of its intent, and not one rule."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """The capability list of a run."""

    capabilities: int
    """|C|: the number of capabilities that were supplied."""
    tried: tuple[Intent, ...]
    """Those that were executed at least once; nothing is known about the others."""
    disjuncts: int
    """|C_DNF|: their number after compilation, including the idle ones."""
    tasks: tuple[LearningTask, ...]
    """What is to be learned, in the order of the capabilities."""

    @property
    def idle(self) -> int:
        """The number of disjuncts of rules that change nothing."""
        return self.disjuncts - len(self.tasks)


def compile_disjunctions(graph: StateGraph) -> Compilation:
    """Make a task of each disjunct of each rule that changes something."""
    tasks: list[LearningTask] = []
    disjuncts = 0
    for intent in graph.capabilities:
        rules = extreme_rules(graph, intent)
        for rule in rules:
            others = [state for other in rules if other is not rule for state in other.states]
            terms = [
                Conjunction.of(term, graph.vocabulary)
                for term in shortest_condition(rule.states, others, graph.vocabulary)
            ]
            disjuncts += len(terms)
            if changes_something(rule):
                tasks += _tasks(intent, rule.states, terms)
    return Compilation(len(graph.capabilities), _tried(graph), disjuncts, tuple(tasks))


def _tasks(
    intent: Intent, states: Sequence[State], terms: Sequence[Conjunction]
) -> Iterator[LearningTask]:
    for i, term in enumerate(terms):
        others = [other for j, other in enumerate(terms) if j != i]

        # A flip must not lead from one disjunct into another: there the capability works too, and
        # the flipped literal would seem irrelevant. So start far from the others.
        def distance(state: State, others: Sequence[Conjunction] = others) -> int:
            return min((other.violated_by(state).bit_count() for other in others), default=0)

        start = max((state for state in states if term.holds(state)), key=distance)
        yield LearningTask(intent, term, start, whole=False)


def leave_uncompiled(graph: StateGraph) -> Compilation:
    """Make one task of each capability that ever changed something."""
    tasks = []
    for intent in graph.capabilities:
        working = next(filter(changes_something, extreme_rules(graph, intent)), None)
        if working is not None:
            tasks.append(LearningTask(intent, Conjunction(0, 0), working.states[0], whole=True))
    count = len(graph.capabilities)
    return Compilation(count, _tried(graph), count, tuple(tasks))


def _tried(graph: StateGraph) -> tuple[Intent, ...]:
    return tuple(intent for intent in graph.capabilities if extreme_rules(graph, intent))


def changes_something(rule: Rule) -> bool:
    """Return whether some effect of a rule is not empty."""
    return any(outcome.effect.adds or outcome.effect.deletes for outcome in rule.outcomes)
