"""What was seen, as planners and model checkers need it: conditions and identifiers.

**Conditions.** Written out, the states of a rule are a disjunction with one conjunction of all
atoms per state: a hundred megabytes for 576 states and 116 capabilities. A much shorter condition
gives the same model if it separates all states that the model can lead to: the observed ones, and
those to which a rule leads from a state that has not shown this outcome yet. It is false in those
of them in which the capability was never tried; for all other states it is a guess.

**Identifiers.** Names of predicates, objects and types come from the user and may contain anything.
Each gets a distinct identifier: a legal name keeps its own, others lose what is not allowed and are
numbered if needed. An export lists the names that changed, as JSON strings that cannot break out of
a comment.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count

from capscope.logic import Condition, Intent, State, Vocabulary
from capscope.logic.shortest_condition import shortest_condition
from capscope.model import Rule, StateGraph

ConditionedRules = Sequence[tuple[Rule, Condition]]
"""Rules, each with its condition as a disjunction of terms."""


def with_observed_conditions(
    graph: StateGraph, intent: Intent, states: Sequence[State]
) -> ConditionedRules:
    """Return the rules with conditions that are exact among the states of `model_states`."""
    rules = graph.rules(intent)
    return [(rule, condition_among(rule.states, states, graph.vocabulary)) for rule in rules]


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
) -> Condition:
    """Return a short condition that holds in the states inside and in none of the others."""
    own = set(inside)
    return shortest_condition(inside, [s for s in states if s not in own], vocabulary)


def identifiers(
    signs: str, reserved: str, names: Iterable[str], besides: Iterable[str] = ()
) -> dict[str, str]:
    """Return distinct identifiers for names: ASCII letters, digits and signs, no reserved word.

    Identifiers are lower case, because some languages ignore case.

    Args:
        signs: Allowed after the first letter; the first of them replaces all others.
        reserved: The reserved words, in lower case.
        names: What needs an identifier.
        besides: Further identifiers that are taken.

    Returns:
        The identifiers by name, in the order of the names.

    >>> identifiers("-_", "and or", ["on", "On", "and", "on(a,b)"])
    {'on': 'on', 'On': 'on-2', 'and': 'and-2', 'on(a,b)': 'on-a-b'}
    """
    legal = {name: _legal(name, signs) for name in names}
    taken = {*reserved.split(), *besides}
    given = {name: name for name, own in legal.items() if own == name and name not in taken}
    taken |= set(given)
    for name, own in legal.items():
        if name not in given:
            numbered = (f"{own}{signs[0]}{number}" for number in count(2))
            given[name] = next(one for one in chain([own], numbered) if one not in taken)
            taken.add(given[name])
    return {name: given[name] for name in legal}


def _legal(name: str, signs: str) -> str:
    kept = re.sub(f"[^a-z0-9{re.escape(signs)}]+", signs[0], name.lower()).strip(signs)
    return kept if re.match("[a-z]", kept) else f"x{signs[0]}{kept}".rstrip(signs)


def name_lines(kind: str, identifiers: Mapping[str, str]) -> Iterator[str]:
    """Describe each name that was changed.

    >>> list(name_lines("object", {"a": "a", "B": "b"}))
    ['object b is "B"']
    """
    for name, identifier in identifiers.items():
        if name != identifier:
            yield f"{kind} {identifier} is {json.dumps(name)}"
