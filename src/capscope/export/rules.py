"""Tried pairs as planners and model checkers need them: probabilities, conditions, identifiers.

**Probabilities** are those that the model predicts for each pair, as decimals that sum to one. The
states in which they are the same are one rule.

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

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count

from capscope.insight.tried_rules import predictions
from capscope.logic import Condition, Effect, Intent, State, Vocabulary
from capscope.logic.shortest_condition import shortest_condition
from capscope.model import LearnedModel, LearnedPrediction, StateGraph

DECIMALS = 12
_ROUNDING = 0.01
"""Of a last decimal; a weight of 0.3 is no 0.299999999999."""


@dataclass(frozen=True)
class GroundRule:
    """States in which the model predicts the same outcomes of a capability."""

    states: tuple[State, ...]
    outcomes: tuple[tuple[Effect, str], ...]
    """Each effect with its probability, a decimal; the most probable one first."""
    executions: int
    when: Condition


@dataclass(frozen=True)
class GroundModel:
    """The tried pairs of a learned model, by capability."""

    graph: StateGraph
    rules: Mapping[Intent, Sequence[GroundRule]]
    states: Sequence[State]
    """The observed states, then those to which a rule leads and that were not observed."""

    @classmethod
    def of(cls, model: LearnedModel) -> GroundModel:
        """Write down what a model predicts for each pair that was tried."""
        graph, alike = model.graph, dict[Intent, _Alike]()
        states = dict.fromkeys(graph.nodes)
        for intent in graph.capabilities:
            own = alike[intent] = _Alike()
            for state, pair, predicted in predictions(model, intent):
                outcomes = _outcomes(state, predicted)
                own.setdefault(outcomes, {})[state] = pair.total
                states.update(dict.fromkeys(effect.apply(state) for effect, _ in outcomes))
        every = list(states)
        rules = {intent: _rules(own, every, graph.vocabulary) for intent, own in alike.items()}
        return cls(graph, rules, every)


_Alike = dict[tuple[tuple[Effect, str], ...], dict[State, int]]
"""For each distribution, the states that have it, with their executions."""


def _outcomes(state: State, predicted: LearnedPrediction) -> tuple[tuple[Effect, str], ...]:
    shares = {Effect.between(state, after): p for after, p in predicted.items()}
    ordered = sorted(shares, key=lambda effect: (-round(shares[effect], DECIMALS), effect))
    decimals = decimal_shares([shares[effect] for effect in ordered])
    return tuple(one for one in zip(ordered, decimals, strict=True) if one[1] != "0")


def _rules(alike: _Alike, states: Sequence[State], vocabulary: Vocabulary) -> list[GroundRule]:
    found = [
        GroundRule(
            tuple(own), outcomes, sum(own.values()), condition_among(list(own), states, vocabulary)
        )
        for outcomes, own in alike.items()
    ]
    return sorted(found, key=lambda rule: (-rule.executions, rule.states))


def decimal_shares(weights: Sequence[float]) -> list[str]:
    """Return weights as decimal shares that sum to exactly one; the first gets the remainder.

    >>> decimal_shares([2, 1])
    ['0.666666666667', '0.333333333333']
    """
    whole, total = 10**DECIMALS, sum(weights)
    parts = [int(weight / total * whole + _ROUNDING) for weight in weights]
    parts[0] += whole - sum(parts)
    digits = (f"{part // whole}.{part % whole:0{DECIMALS}d}" for part in parts)
    return [text.rstrip("0").rstrip(".") for text in digits]


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
