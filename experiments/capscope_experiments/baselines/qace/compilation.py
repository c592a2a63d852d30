"""What QACE is given to learn: capabilities whose preconditions a conjunction can express.

MCQS finds capabilities whose rules have disjunctive conditions; QACE knows conjunctions only. As in
the paper, the condition of every rule is written as a disjunction of conjunctions, and each of
these becomes a capability of its own, a branch, with the same intent. That tells QACE much about
the conditions, but without it the truth is not in its class. `leave_uncompiled` passes the list as
it is, to show just that.

A rule by which nothing ever changes is counted but not passed on. In QACE's class nothing happens
where no precondition holds, so such a branch adds nothing; and as an agent that does nothing looks
the same whether it executed the branch or not, no answer could tell its hypotheses apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from capscope.model import Rule, StateGraph
from capscope.symbolic import Intent, State
from capscope.symbolic.dnf import shortest_dnf
from capscope_experiments.baselines.qace.model import Conjunction


@dataclass(frozen=True, slots=True)
class Branch:
    """A capability as QACE is given it: an intent and a state in which it is known to work."""

    intent: Intent
    within: Conjunction
    """The disjunct that it was made of; the empty one where nothing was compiled."""
    start: State
    whole: bool
    """Whether it stands for all that its intent leads to, and not for one rule."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """The capability list of a run."""

    capabilities: int
    """|C|: the capabilities that were supplied."""
    tried: tuple[Intent, ...]
    """Those of them that were executed at least once; of the others nothing is known."""
    disjuncts: int
    """|C_DNF|: what compiling makes of them, the idle ones included."""
    branches: tuple[Branch, ...]
    """Those that are to be learned, in the order of the capabilities."""

    @property
    def idle(self) -> int:
        """Count the disjuncts of rules by which nothing changes."""
        return self.disjuncts - len(self.branches)


def compile_disjunctions(graph: StateGraph) -> Compilation:
    """Make a branch of each disjunct of each rule by which something changes."""
    branches: list[Branch] = []
    disjuncts = 0
    for intent in graph.capabilities:
        rules = graph.rules(intent)
        for rule in rules:
            others = [state for other in rules if other is not rule for state in other.states]
            terms = [
                Conjunction.of(term, graph.vocabulary)
                for term in shortest_dnf(rule.states, others, graph.vocabulary)
            ]
            disjuncts += len(terms)
            if changes_something(rule):
                branches += _branches(intent, rule.states, terms)
    return Compilation(len(graph.capabilities), _tried(graph), disjuncts, tuple(branches))


def _branches(
    intent: Intent, states: Sequence[State], terms: Sequence[Conjunction]
) -> Iterator[Branch]:
    for i, term in enumerate(terms):
        others = [other for j, other in enumerate(terms) if j != i]

        # A flip must not lead from one disjunct into another: there the capability works too, and
        # the flipped literal would seem to be of no matter. So start far from the others.
        def distance(state: State, others: Sequence[Conjunction] = others) -> int:
            return min((other.violated_by(state).bit_count() for other in others), default=0)

        start = max((state for state in states if term.holds(state)), key=distance)
        yield Branch(intent, term, start, whole=False)


def leave_uncompiled(graph: StateGraph) -> Compilation:
    """Make one branch of each capability that ever changed something."""
    branches = []
    for intent in graph.capabilities:
        working = next(filter(changes_something, graph.rules(intent)), None)
        if working is not None:
            branches.append(Branch(intent, Conjunction(0, 0), working.states[0], whole=True))
    count = len(graph.capabilities)
    return Compilation(count, _tried(graph), count, tuple(branches))


def _tried(graph: StateGraph) -> tuple[Intent, ...]:
    return tuple(intent for intent in graph.capabilities if graph.rules(intent))


def changes_something(rule: Rule) -> bool:
    """Say whether some effect of a rule is not empty."""
    return any(outcome.effect.adds or outcome.effect.deletes for outcome in rule.outcomes)
