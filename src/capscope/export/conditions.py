"""The condition of a rule, for people and for tools that plan or check.

Written out, the states of a rule are a disjunction with one conjunction of all atoms per state: a
hundred megabytes for 576 states and 116 capabilities. A much shorter condition gives the same model
if it separates all states that the model can lead to: the observed ones, and those to which a rule
leads from a state that has not shown this outcome yet. Both kinds of condition hold in the states
of the rule and not in those of another rule of its capability:

- `observed` is also false in the other states that the model can lead to, in which the capability
  was never tried. For all other states it is a guess.
- `readable` is what people are shown. It may hold in states in which the capability was never
  tried, and there the conditions of several rules may hold.
"""

from collections.abc import Sequence
from enum import StrEnum

from capscope.logic import Intent, State, Vocabulary
from capscope.logic.dnf import Term, dnfs_apart, shortest_dnf
from capscope.model import Rule, StateGraph

ConditionedRules = Sequence[tuple[Rule, tuple[Term, ...]]]
"""Rules, each with its condition as a disjunction of terms."""


class Conditions(StrEnum):
    """Where a rule is said to hold."""

    OBSERVED = "observed"
    READABLE = "readable"


def with_readable_conditions(graph: StateGraph, intent: Intent) -> ConditionedRules:
    """Return the rules of a capability, best supported first, each with its condition."""
    rules = graph.rules(intent)
    return list(zip(rules, readable_conditions(rules, graph.vocabulary), strict=True))


def with_observed_conditions(
    graph: StateGraph, intent: Intent, states: Sequence[State]
) -> ConditionedRules:
    """Return the rules with conditions that are exact among the states of `model_states`."""
    rules = graph.rules(intent)
    return [(rule, condition_among(rule.states, states, graph.vocabulary)) for rule in rules]


def readable_conditions(rules: Sequence[Rule], vocabulary: Vocabulary) -> list[tuple[Term, ...]]:
    """Return for each rule the shortest condition that distinguishes it from the others."""
    return dnfs_apart([rule.states for rule in rules], vocabulary)


def model_states(graph: StateGraph) -> list[State]:
    """Return the observed states, then those to which a rule leads and that were not observed."""
    states = dict.fromkeys(graph.nodes)
    for intent in graph.capabilities:
        for rule in graph.rules(intent):
            # With a single outcome, each state has shown it.
            for outcome in rule.outcomes if len(rule.outcomes) > 1 else ():
                states.update(dict.fromkeys(map(outcome.effect.apply, rule.states)))
    return list(states)


def condition_among(
    inside: Sequence[State], states: Sequence[State], vocabulary: Vocabulary
) -> tuple[Term, ...]:
    """Return a short condition that holds in the states inside and in none of the others."""
    own = set(inside)
    return shortest_dnf(inside, [s for s in states if s not in own], vocabulary)
