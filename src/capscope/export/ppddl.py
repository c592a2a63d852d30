"""The tried pairs of the learned model as a ground PPDDL domain and problem.

`lifted_ppddl` has the rules. Here, an action is for the states in which a request has the same
outcomes with the same probabilities, since many planners do not support conditional probabilistic
effects. The actions of a request exclude each other in the observed states, so at most one is
applicable in each of them; if none is, the outcome is unknown. Actions are ground, so all objects
are constants of the domain.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from capscope.export.rules import GroundModel, GroundRule, identifiers, name_lines
from capscope.logic import Intent, Literal, Vocabulary
from capscope.logic.vocabulary import TYPE_ROOT
from capscope.model import LearnedModel, StateGraph

identifiers_of = partial(
    identifiers,
    "-_",
    "and assign decrease define domain either exists forall goal-achieved goal-probability "
    "imply increase maximize minimize not number object oneof or probabilistic problem reward "
    "scale-down scale-up total-cost total-time undefined when",
)
NO_ACTIONS = (
    "  ; Nothing was tried. A domain needs an action; this one does nothing.",
    "  (:action do-nothing",
    "    :parameters ()",
    "    :precondition (and)",
    "    :effect (and))",
)


def ppddl_files(
    model: LearnedModel, problem: str, goal: Intent | None = None
) -> dict[str, str | bytes]:
    """Return the tried pairs as a domain, and the initial state of the run as a problem."""
    graph, rules = model.graph, GroundModel.of(model).rules
    names = Names.of(graph, problem)
    if goal is not None:
        goal.test(graph.vocabulary)  # raises for an unknown atom
    actions = [line for intent in rules for line in _actions(intent, rules[intent], graph, names)]
    domain = [
        *_heading(names, problem),
        f"(define (domain {names.domain})",
        f"  (:requirements {' '.join(_requirements(graph.vocabulary, rules, goal))})",
        *names.types_and_predicates(graph.vocabulary, graph.vocabulary.objects),
        *(actions or NO_ACTIONS),
        ")",
    ]
    return {
        "domain.pddl": "\n".join(domain) + "\n",
        "problem.pddl": problem_text(graph, names, goal),
    }


@dataclass(frozen=True)
class Names:
    """The identifiers used in the files."""

    domain: str
    types: Mapping[str, str]
    objects: Mapping[str, str]
    predicates: Mapping[str, str]
    capabilities: Mapping[str, str]
    kinds: Mapping[str, str]
    """The identifier of the type of each object."""

    @classmethod
    def of(cls, graph: StateGraph, problem: str) -> Names:
        """Name everything that a graph has."""
        vocabulary = graph.vocabulary
        types = {*vocabulary.parents, *vocabulary.parents.values(), *vocabulary.objects.values()}
        types |= {kind for predicate in vocabulary.predicates for kind in predicate.types}
        if vocabulary.combined_types:
            # PDDL has no object of several types. Actions are ground, so types can be left out.
            types = set()
        ranked = sorted(types - {TYPE_ROOT}, key=lambda kind: _rank(kind, vocabulary))
        # Some readers have one set of names for all kinds of things.
        predicates = identifiers_of(predicate.name for predicate in vocabulary.predicates)
        objects = identifiers_of(vocabulary.objects, predicates.values())
        given = identifiers_of(ranked, (*predicates.values(), *objects.values()))
        return cls(
            f"{identifiers_of([problem])[problem]}-learned",
            {**given, TYPE_ROOT: TYPE_ROOT},
            objects,
            predicates,
            identifiers_of(map(str, graph.capabilities)),
            {name: given.get(kind, TYPE_ROOT) for name, kind in vocabulary.objects.items()},
        )

    def types_and_predicates(
        self, vocabulary: Vocabulary, constants: Collection[str]
    ) -> Iterator[str]:
        """Declare the types, the predicates, and the objects that are constants."""
        types = [kind for kind in self.types if kind != TYPE_ROOT]
        if types:
            yield "  (:types"
            for kind in types:
                parent = vocabulary.parents.get(kind, TYPE_ROOT)
                yield f"    {self.types[kind]} - {self.types[parent]}"
            yield "  )"
        if constants:
            yield "  (:constants"
            yield from self.declared(name for name in vocabulary.objects if name in constants)
            yield "  )"
        yield "  (:predicates"
        for predicate in vocabulary.predicates:
            arguments = (
                f" ?x{i} - {self.types.get(t, TYPE_ROOT)}" for i, t in enumerate(predicate.types, 1)
            )
            yield f"    ({self.predicates[predicate.name]}{''.join(arguments)})"
        yield "  )"

    def declared(self, objects: Iterable[str]) -> Iterator[str]:
        """Declare objects with their types."""
        for name in objects:
            yield f"    {self.objects[name]} - {self.kinds[name]}"

    def literal(self, literal: Literal) -> str:
        """Write a literal."""
        atom = literal.atom
        parts = [self.predicates[atom.predicate], *(self.objects[o] for o in atom.arguments)]
        text = f"({' '.join(parts)})"
        return text if literal.positive else f"(not {text})"

    def conjunction(self, literals: Sequence[Literal]) -> str:
        """Write literals that hold together."""
        written = [self.literal(literal) for literal in literals]
        return written[0] if len(written) == 1 else f"(and{''.join(f' {w}' for w in written)})"


def _rank(kind: str, vocabulary: Vocabulary) -> tuple[int, str]:
    """Rank types so that a supertype comes before its subtypes."""
    steps, above = 0, vocabulary.parents.get(kind, TYPE_ROOT)
    while above != TYPE_ROOT:
        steps, above = steps + 1, vocabulary.parents.get(above, TYPE_ROOT)
    return steps, kind


def _heading(names: Names, problem: str) -> Iterator[str]:
    yield f"; What the agent of {json.dumps(problem)} does, as far as it was observed."
    yield "; An action requests the intent named above it, where its outcomes are the same."
    yield "; Conditions are exact for the observed states and all states that an action leads to."
    yield "; If no action of a capability is applicable, its outcome is unknown."
    kinds = {"type": names.types, "object": names.objects, "predicate": names.predicates}
    renamed = [line for kind, given in kinds.items() for line in name_lines(kind, given)]
    if renamed:
        yield "; Names that were changed:"
        yield from (f";   {line}" for line in renamed)


def _requirements(
    vocabulary: Vocabulary, rules: Mapping[Intent, Sequence[GroundRule]], goal: Intent | None
) -> Iterator[str]:
    """List only what is used: fewer requirements are supported by more tools."""
    used = [rule for own in rules.values() for rule in own]
    wanted = goal.mentioned if goal else ()
    literals = [literal for rule in used for term in rule.when for literal in term]
    yield ":strips"
    if vocabulary.objects or any(predicate.types for predicate in vocabulary.predicates):
        yield ":typing"
    if any(not literal.positive for literal in (*literals, *wanted)):
        yield ":negative-preconditions"
    if any(len(rule.when) > 1 for rule in used) or (goal and len(goal.alternatives) > 1):
        yield ":disjunctive-preconditions"
    if any(len(rule.outcomes) > 1 for rule in used):
        yield ":probabilistic-effects"


def _actions(
    intent: Intent, rules: Sequence[GroundRule], graph: StateGraph, names: Names
) -> Iterator[str]:
    for number, rule in enumerate(rules, 1):
        yield ""
        yield f"  ; {json.dumps(str(intent))}, rule {number}"
        yield f"  ; states: {len(rule.states)}, executions: {rule.executions}"
        yield f"  (:action {names.capabilities[str(intent)]}--{number}"
        yield "    :parameters ()"
        yield f"    :precondition {_joined('or', [names.conjunction(term) for term in rule.when])}"
        yield f"    :effect {_effect(rule, graph.vocabulary, names)})"


def _joined(operator: str, parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else "\n      ".join([f"({operator}", *parts]) + ")"


def _effect(rule: GroundRule, vocabulary: Vocabulary, names: Names) -> str:
    effects = [names.conjunction(effect.literals(vocabulary)) for effect, _ in rule.outcomes]
    if len(effects) > 1:
        shares = [share for _, share in rule.outcomes]
        effects = [" ".join(pair) for pair in zip(shares, effects, strict=True)]
    return _joined("probabilistic", effects)


def problem_text(
    graph: StateGraph, names: Names, goal: Intent | None, objects: Sequence[str] = ()
) -> str:
    """Return the objects that are no constants, and the initial state of the run, as a problem."""
    began, wanted = graph.first_state, goal.alternatives if goal else ((),)
    unknown = ["  ; Nothing was tried: the initial state is unknown."] if began is None else []
    lines = [
        f"(define (problem {names.domain}-problem)",
        f"  (:domain {names.domain})",
        *unknown,
        *(["  (:objects", *names.declared(objects), "  )"] if objects else ["  (:objects)"]),
        "  (:init",
        *(f"    {names.literal(Literal(atom))}" for atom in graph.vocabulary.holding(began or 0)),
        "  )",
        *([] if goal else ["  ; Replace this goal, which holds everywhere."]),
        f"  (:goal {_joined('or', list(map(names.conjunction, wanted)))})",
        ")",
    ]
    return "\n".join(lines) + "\n"
