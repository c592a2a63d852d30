"""The condition of a rule, for people and for tools that plan or check.

Written out, the states in which a rule was observed are a disjunction with one conjunction of all
atoms per state: a hundred megabytes for 576 states and 116 capabilities. A much shorter condition
gives the same model, since the model never leads from an observed state to another one: it only has
to separate observed states. Both kinds of condition hold in the states of the rule and not in those
of another rule of its capability:

- `observed` is also false in the observed states in which the capability was never tried. For
  states that were never observed it is a guess, but no observed state leads to one.
- `readable` is what people are shown. It may hold in observed states in which the capability was
  never tried, and there the conditions of several rules may hold.
"""

from collections.abc import Sequence
from enum import StrEnum

from capscope.model import Rule, StateGraph
from capscope.symbolic import Intent, State, Vocabulary
from capscope.symbolic.dnf import Term, dnfs_apart, shortest_dnf

ConditionedRules = Sequence[tuple[Rule, tuple[Term, ...]]]
"""Rules, each with its condition as a disjunction of terms."""


class Conditions(StrEnum):
    """Where a rule is said to hold."""

    OBSERVED = "observed"
    READABLE = "readable"


def rules_with_conditions(
    graph: StateGraph, intent: Intent, conditions: Conditions
) -> ConditionedRules:
    """Return the rules of a capability, best supported first, each with its condition."""
    rules = graph.rules(intent)
    if conditions is Conditions.READABLE:
        return list(zip(rules, readable_conditions(rules, graph.vocabulary), strict=True))
    return [(rule, among_observed(rule.states, graph)) for rule in rules]


def readable_conditions(rules: Sequence[Rule], vocabulary: Vocabulary) -> list[tuple[Term, ...]]:
    """Return for each rule the shortest condition that distinguishes it from the others."""
    return dnfs_apart([rule.states for rule in rules], vocabulary)


def among_observed(states: Sequence[State], graph: StateGraph) -> tuple[Term, ...]:
    """Return a short condition that holds in these states and in no other observed state."""
    inside = set(states)
    return shortest_dnf(states, [s for s in graph.nodes if s not in inside], graph.vocabulary)
