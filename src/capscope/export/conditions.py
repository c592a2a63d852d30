"""The condition of a rule, written for tools that plan or check.

The pessimistic model says of each rule: in these complete states, and nowhere else. Written out
that is a disjunction of as many conjunctions as there are states, of all atoms each: a hundred
megabytes for a world of 576 states and 116 capabilities. Most of it is not needed. Whatever the
model predicts from a state that was observed is again one that was observed, so a tool that begins
in such a state never meets another. It is enough that a condition holds in the states of the rule
and in no other observed one: a few literals, as a rule, and the same model.

So there are two conditions, both true in the states of the rule and in those of no other rule of
its capability:

- `observed` is also false in the observed states where the capability was never tried. What it says
  of states never observed is a guess, and no observed state leads to one.
- `readable` is what people are shown. It may hold in observed states where the capability was never
  tried, as a guess; that of more than one rule may.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from capscope.export.model_json import readable_conditions
from capscope.model import Rule, StateGraph
from capscope.symbolic import Intent, State
from capscope.symbolic.dnf import Term, shortest_dnf

Conditioned = Sequence[tuple[Rule, tuple[Term, ...]]]
"""Rules, each with its condition as a disjunction of terms."""


class Conditions(StrEnum):
    """Where a rule is said to hold."""

    OBSERVED = "observed"
    READABLE = "readable"


def rules_with_conditions(graph: StateGraph, intent: Intent, conditions: Conditions) -> Conditioned:
    """Return the rules of a capability, best supported first, each with its condition."""
    rules = graph.rules(intent)
    if conditions is Conditions.READABLE:
        return list(zip(rules, readable_conditions(rules, graph.vocabulary), strict=True))
    return [(rule, among_observed(rule.states, graph)) for rule in rules]


def among_observed(states: Sequence[State], graph: StateGraph) -> tuple[Term, ...]:
    """Return a short condition that tells some observed states from all other observed ones."""
    inside = set(states)
    return shortest_dnf(states, [s for s in graph.nodes if s not in inside], graph.vocabulary)
