"""The lifted rules as a PPDDL domain that is usable with other problem files, and as PDDL.

An action schema is a behavior, or a rule of a family by which the agent acts. A rule by which it
pursues its request is no action: it is stated as a comment, and what it does are the behaviors.
Only objects that a rule names are constants. An object that a rule picks out by a relation is a
further parameter, of which the precondition says that it is the only one.

In PDDL each outcome is an action of its own (all-outcomes determinization).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from capscope.errors import CapscopeError
from capscope.export.ppddl import NO_ACTIONS, Names, identifiers_of, problem_text
from capscope.export.rules import decimal_shares, name_lines
from capscope.insight.rule_wording import (
    IDLES,
    PURSUES,
    says_one_thing,
    shared_lines,
    used_behaviors,
)
from capscope.logic import Intent, Vocabulary
from capscope.logic.vocabulary import TYPE_ROOT
from capscope.model import LearnedModel
from capscope.model.lifted_rules import (
    Consequence,
    FamilyRules,
    LiftedBehavior,
    LiftedEffect,
    LiftedLiteral,
    LiftedRule,
)
from capscope.wording import NO_BREAK_SPACE, wrapped

_FURTHER = tuple(f"o{number}" for number in range(1, 9))
_REQUIREMENTS = {
    ":typing": " - ",
    ":negative-preconditions": "(not (",
    ":disjunctive-preconditions": "(or ",
    ":equality": "(= ",
    ":existential-preconditions": "(exists ",
    ":universal-preconditions": "(forall ",
    ":probabilistic-effects": "(probabilistic",
}
"""Each requirement with the text that needs it; fewer of them are supported by more tools."""


def lifted_files(
    model: LearnedModel, problem: str, goal: Intent | None = None, *, determinized: bool = False
) -> dict[str, str | bytes]:
    """Return the lifted rules as a domain, and the objects and the initial state as a problem."""
    graph = model.graph
    vocabulary = graph.vocabulary
    if vocabulary.combined_types:
        raise CapscopeError(
            "some objects have several types, which PDDL cannot say of a schema; use --to ppddl "
            "--ground"
        )
    if goal is not None:
        goal.test(vocabulary)  # raises for an unknown atom
    names = Names.of(graph, problem)
    writer = _Writer(vocabulary, names, determinized)
    actions = [line for text in writer.actions(model) for line in text]
    if not any("(:action" in line for line in actions):
        actions += NO_ACTIONS
    body = [*names.types_and_predicates(vocabulary, writer.constants), *actions]
    text = "\n".join(body)
    used = [name for name, sign in _REQUIREMENTS.items() if sign in _code(text)]
    domain = [
        *_heading(names, problem, determinized),
        f"(define (domain {names.domain})",
        f"  (:requirements {' '.join([':strips', *used])})",
        text,
        ")",
    ]
    objects = [name for name in vocabulary.objects if name not in writer.constants]
    written = problem_text(graph, names, goal, objects)
    return {"domain.pddl": "\n".join(domain) + "\n", "problem.pddl": written}


def _code(text: str) -> str:
    return "\n".join(line.partition(";")[0] for line in text.splitlines())


def _heading(names: Names, problem: str, determinized: bool) -> Iterator[str]:
    yield f"; What the agent of {json.dumps(problem)} does, over any objects."
    if determinized:
        yield "; Each outcome is an action of its own; which one happens is not up to the agent."
    kinds = {"type": names.types, "object": names.objects, "predicate": names.predicates}
    renamed = [line for kind, given in kinds.items() for line in name_lines(kind, given)]
    if renamed:
        yield "; Names that were changed:"
        yield from (f";   {line}" for line in renamed)


@dataclass
class _Schema:
    """The parameters of an action, and the types of all variables in scope."""

    types: dict[str, str]
    written: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.written = {name: f"?{name.lower()}" for name in self.types}


class _Writer:
    """Writes schemas; remembers which objects they name."""

    def __init__(self, vocabulary: Vocabulary, names: Names, determinized: bool) -> None:
        self._vocabulary = vocabulary
        self._names = names
        self._determinized = determinized
        self._signature = {p.name: p.types for p in vocabulary.predicates}
        self.constants: dict[str, None] = {}
        """The objects that a rule names."""

    def actions(self, model: LearnedModel) -> Iterator[list[str]]:
        """Yield the lines of each action, and a comment for each rule that is none."""
        behaviors = used_behaviors(model)
        named = [f"b{number} {one.name}" for number, one in enumerate(behaviors, 1)]
        titles = identifiers_of(named)
        for name, behavior in zip(named, behaviors, strict=True):
            yield self._behavior(titles[name], behavior)
        titles = identifiers_of([family.name for family in model.families], titles.values())
        for family in model.families:
            for number, rule in enumerate(family.rules, 1):
                if rule.consequence is Consequence.ACT:
                    yield self._rule(f"{titles[family.name]}--{number}", family, rule)
            yield list(_without_actions(family))
        for text in shared_lines(model):
            lines = wrapped(text.partition("  [")[0], "  ; ", "  ;   ")
            yield ["", *(line.replace(NO_BREAK_SPACE, " ") for line in lines)]

    def _behavior(self, title: str, behavior: LiftedBehavior) -> list[str]:
        atoms = [one.atoms[0] for effect in behavior.effects for one in effect.changes]
        schema = _Schema(self._types(behavior.variables, atoms))
        parts = [self._literal(one, schema) for one in behavior.when]
        if behavior.either:
            paths = (_all(self._literal(one, schema) for one in path) for path in behavior.either)
            parts.append(_any(paths))
        if behavior.only_seen:
            parts.append(_any(self._is(schema, behavior.variables, one) for one in behavior.seen))
        comment = f"executions: {behavior.executions}"
        return self._action(title, comment, schema, parts, behavior.effects)

    def _is(self, schema: _Schema, variables: Sequence[str], objects: Sequence[str]) -> str:
        pairs = zip(variables, objects, strict=True)
        return _all(f"(= {schema.written[v]} {self._object(o)})" for v, o in pairs)

    def _rule(self, title: str, family: FamilyRules, rule: LiftedRule) -> list[str]:
        binding = family.binding(family.members[0])
        role = {name: variable for variable, name in binding.items()}
        atoms = [
            (one.atom.predicate, tuple(role[o] for o in one.atom.arguments))
            for one in family.members[0].mentioned
        ]
        roles = self._types(family.roles, atoms) if rule.capability is None else {}
        seen = [effect for effect in rule.meant if effect.count]
        effects, where = _one_name_each(seen or rule.meant, self._vocabulary)
        schema = _Schema(
            {**roles, **self._types(list(where), [r.atoms[0] for r in where.values()])}
        )
        parts = [self._literal(one, schema, within=roles) for one in rule.when]
        for name, relation in where.items():
            parts += [self._literal(relation, schema), self._only(name, relation, schema, roles)]
        parts += dict.fromkeys(one for e in effects for one in self._apart(e, schema))
        asked = json.dumps(family.name if rule.capability is None else str(rule.capability))
        comment = f"asked for {asked}; pairs: {rule.pairs}, executions: {rule.executions}"
        return self._action(title, comment, schema, parts, effects)

    def _apart(self, effect: LiftedEffect, schema: _Schema) -> Iterator[str]:
        """Say that the objects which an effect names are none of its variables."""
        used = {a: None for change in effect.changes for a in change.atoms[0][1]}
        for name in used:
            for variable in used if name not in schema.types else ():
                if variable in schema.types and name in self._vocabulary.objects_of(
                    schema.types[variable]
                ):
                    yield f"(not (= {schema.written[variable]} {self._object(name)}))"

    def _only(
        self, name: str, relation: LiftedLiteral, schema: _Schema, roles: Iterable[str]
    ) -> str:
        """Say that no other object besides the roles is in a relation."""
        ((predicate, arguments),) = relation.atoms
        other, kind = "?other", schema.types[name]
        written = {**schema.written, name: other}
        atom = self._atom(predicate, arguments, written)
        known = [r for r in (name, *roles) if self._overlap(schema.types[r], kind)]
        same = [f"(= {other} {schema.written[r]})" for r in known]
        return f"(forall ({other} - {self._kind(kind)}) (or {' '.join(same)} (not {atom})))"

    def _action(
        self,
        title: str,
        comment: str,
        schema: _Schema,
        parts: Sequence[str],
        effects: Sequence[LiftedEffect],
    ) -> list[str]:
        distinct = self._distinct(schema.types, schema)
        types = (f"{schema.written[v]} - {self._kind(t)}" for v, t in schema.types.items())
        outcomes = [self._effect(effect, schema) for effect in effects]
        head = [
            f"    :parameters ({' '.join(types)})",
            f"    :precondition {_all([*distinct, *parts], 6)}",
        ]
        if self._determinized:
            several = len(outcomes) > 1
            return [
                line
                for number, outcome in enumerate(outcomes, 1)
                if outcome != "(and)"
                for line in (
                    "",
                    f"  ; {comment}",
                    f"  (:action {title}{f'--outcome-{number}' if several else ''}",
                    *head,
                    f"    :effect {outcome})",
                )
            ]
        weights: list[float] = [effect.count for effect in effects]
        if not any(weights):
            weights = [effect.probability for effect in effects]
        shares = zip(decimal_shares(weights), outcomes, strict=True)
        chances = [(share, outcome) for share, outcome in shares if share != "0"]
        effect = chances[0][1]
        if len(chances) > 1:
            parts = [f"      {share} {outcome}" for share, outcome in chances]
            effect = "\n".join(["(probabilistic", *parts]) + ")"
        return ["", f"  ; {comment}", f"  (:action {title}", *head, f"    :effect {effect})"]

    def _effect(self, effect: LiftedEffect, schema: _Schema) -> str:
        return _all(self._literal(one, schema) for one in effect.changes)

    def _literal(
        self, literal: LiftedLiteral, schema: _Schema, within: Iterable[str] | None = None
    ) -> str:
        """Write a literal; further objects differ from the parameters `within`."""
        name, arguments = literal.atoms[0]
        if name == "=":
            text = f"(= {schema.written[arguments[0]]} {self._object(arguments[1])})"
        else:
            named, further = literal.named(_FURTHER)
            written = {**schema.written, **{one: f"?{one}" for one in further}}
            texts = [self._atom(predicate, given, written) for predicate, given in named]
            types = self._types(further, named)
            for one in further:
                known = schema.types if within is None else within
                others = (v for v in known if self._overlap(schema.types[v], types[one]))
                texts[:0] = [f"(not (= ?{one} {schema.written[v]}))" for v in others]
            text = _all(texts)
            if further:
                scope = " ".join(f"?{one} - {self._kind(types[one])}" for one in further)
                text = f"(exists ({scope}) {text})"
        return text if literal.positive else f"(not {text})"

    def _atom(self, predicate: str, arguments: Sequence[str], written: Mapping[str, str]) -> str:
        parts = [written[a] if a in written else self._object(a) for a in arguments]
        return f"({' '.join([self._names.predicates[predicate], *parts])})"

    def _object(self, name: str) -> str:
        self.constants[name] = None
        return self._names.objects[name]

    def _types(
        self, variables: Sequence[str], atoms: Iterable[tuple[str, tuple[str, ...]]]
    ) -> dict[str, str]:
        """Return the type of each variable: of those of its places, that of the fewest objects."""
        found: dict[str, set[str]] = {variable: set() for variable in variables}
        for predicate, arguments in atoms:
            for argument, kind in zip(arguments, self._signature[predicate], strict=True):
                if argument in found:
                    found[argument].add(kind)
        size = self._vocabulary.objects_of
        return {
            v: min(sorted(kinds), key=lambda kind: (len(size(kind)), -self._depth(kind)))
            for v, kinds in found.items()
        }

    def _depth(self, kind: str) -> int:
        return (
            0
            if kind == TYPE_ROOT
            else 1 + self._depth(self._vocabulary.parents.get(kind, TYPE_ROOT))
        )

    def _distinct(self, variables: Iterable[str], schema: _Schema) -> Iterator[str]:
        known = list(variables)
        for place, one in enumerate(known):
            for other in known[place + 1 :]:
                if self._overlap(schema.types[one], schema.types[other]):
                    yield f"(not (= {schema.written[one]} {schema.written[other]}))"

    def _overlap(self, one: str, other: str) -> bool:
        """Return whether an object may be of both types, in this problem or another."""
        return other in self._above(one) or one in self._above(other)

    def _above(self, kind: str) -> set[str]:
        above = {kind, TYPE_ROOT}
        while kind != TYPE_ROOT:
            kind = self._vocabulary.parents.get(kind, TYPE_ROOT)
            above.add(kind)
        return above

    def _kind(self, kind: str) -> str:
        return self._names.types.get(kind, TYPE_ROOT)


def _without_actions(family: FamilyRules) -> Iterator[str]:
    """Say when a family does something that is no action of its own."""
    for consequence, text in ((Consequence.IDLE, IDLES), (Consequence.PURSUE, PURSUES)):
        for rule in () if says_one_thing(family) else family.rules:
            if rule.consequence is consequence:
                of = "" if rule.capability is None else f"{rule.capability}: "
                when = json.dumps(of + (", ".join(map(str, rule.when)) or "always"))
                yield from ("", f"  ; asked for {json.dumps(family.name)} when {when}: {text}")


def _one_name_each(
    effects: Sequence[LiftedEffect], vocabulary: Vocabulary
) -> tuple[list[LiftedEffect], dict[str, LiftedLiteral]]:
    """Return effects in which an object picked out by the same relation has the same name."""
    names: dict[tuple[str, tuple[str, ...]], str] = {}
    where: dict[str, LiftedLiteral] = {}
    written = []
    for effect in effects:
        new: dict[str, str] = {}
        for name, relation in effect.where:
            ((predicate, arguments),) = relation.atoms
            key = predicate, tuple("·" if a == name else a for a in arguments)
            known = names.setdefault(key, f"the{len(names) + 1}")
            new[name] = known
            where[known] = _renamed(relation, {name: known})
        changes = tuple(_renamed(one, new) for one in effect.changes)
        written.append(LiftedEffect(changes, (), effect.count, effect.probability))
    return written, where


def _renamed(literal: LiftedLiteral, names: Mapping[str, str]) -> LiftedLiteral:
    atoms = tuple((p, tuple(names.get(a, a) for a in given)) for p, given in literal.atoms)
    return LiftedLiteral(atoms, literal.positive)


def _all(parts: Iterable[str], indent: int | None = None) -> str:
    given = list(parts)
    if len(given) == 1:
        return given[0]
    gap = " " if indent is None else "\n" + " " * indent
    return gap.join(["(and", *given]) + ")"


def _any(parts: Iterable[str]) -> str:
    given = list(parts)
    return given[0] if len(given) == 1 else f"(or {' '.join(given)})"
