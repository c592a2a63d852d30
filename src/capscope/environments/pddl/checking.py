"""Check that a domain and a problem use only what they declare.

The parser accepts any name anywhere. Unchecked, a misspelt predicate would become an action that is
never applicable, and a capability that the agent seems to lack. The first mistake is reported with
its line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from plado import pddl

from capscope.environments.pddl.reading import fail
from capscope.symbolic.vocabulary import TYPE_ROOT

COST_FUNCTIONS = frozenset({"total-cost", "reward"})

Scope = Mapping[str, str]
"""The type of each variable and object in scope."""


class DomainCheck:
    """Checks a domain, then a problem of it."""

    def __init__(self, domain: Any, path: Path) -> None:
        self._domain = domain
        self._path = path
        self.parents: dict[str, str] = {}
        self.constants: dict[str, str] = {}
        self.predicates: dict[str, tuple[str, ...]] = {}
        self.functions: dict[str, tuple[str, ...]] = {}
        self._declare()
        for action in self._once("action", domain.actions):
            self._check_action(action)

    def _declare(self) -> None:
        domain = self._domain
        for derived in domain.derived_predicates:
            what = "derived predicates are not supported"
            fail(
                self._path, derived.predicate.name, what, "write out the condition where it is used"
            )
        for declared in self._once("type", domain.types):
            if declared.name != TYPE_ROOT:
                self.parents[str(declared.name)] = str(declared.parent_type_name)
        for name in self.parents:
            self._check_ancestry(next(t.name for t in domain.types if t.name == name))
        self.constants = self.objects(domain.constants)
        self.predicates = self._signatures("predicate", domain.predicates)
        self.functions = self._signatures("function", domain.functions)

    def _once(self, kind: str, declared: Iterable[Any]) -> Iterable[Any]:
        seen: set[str] = set()
        for item in declared:
            if item.name in seen:
                what = f"{kind} {item.name} is declared twice"
                fail(self._path, item.name, what, "remove or rename one of them")
            seen.add(str(item.name))
            yield item

    def _check_ancestry(self, name: str) -> None:
        parent = self.parents.get(name)
        for _ in self.parents:
            if parent == name:
                what = f"type {name} is its own ancestor"
                fail(self._path, name, what, "remove one of the supertypes in the cycle")
            parent = self.parents.get(parent or TYPE_ROOT)

    def _signatures(self, kind: str, declared: Iterable[Any]) -> dict[str, tuple[str, ...]]:
        return {
            str(item.name): tuple(self.scope(item.parameters).values())
            for item in self._once(kind, declared)
        }

    def objects(self, declared: Iterable[Any], path: Path | None = None) -> dict[str, str]:
        """Return the type of each object in a list."""
        return self.scope(declared, kind="object", path=path)

    def scope(
        self, declared: Iterable[Any], kind: str = "parameter", path: Path | None = None
    ) -> dict[str, str]:
        """Return the type of each name in a typed list; undeclared types are errors."""
        path = path or self._path
        known = {TYPE_ROOT, *self.parents, *self.parents.values()}
        types: dict[str, str] = {}
        for item in declared:
            if item.type_name not in known:
                what = f"{kind} {item.name} has the undeclared type {item.type_name}"
                fail(path, item.name, what, "declare it under :types or fix its spelling")
            if item.name in types:
                fail(path, item.name, f"{kind} {item.name} is declared twice", "rename one")
            types[str(item.name)] = str(item.type_name)
        return types

    def is_a(self, type_name: str, ancestor: str) -> bool:
        """Return whether a type is another one or a subtype of it."""
        while type_name != ancestor and type_name in self.parents:
            type_name = self.parents[type_name]
        return type_name == ancestor or ancestor == TYPE_ROOT

    def _check_action(self, action: Any) -> None:
        scope = {**self.constants, **self.scope(action.parameters)}
        if action.precondition is not None:
            self.check_formula(action.precondition, scope, self._path, action.name)
        self._check_effect(action.effect, scope)

    def check_atom(self, atom: Any, scope: Scope, path: Path, kind: str = "predicate") -> None:
        """Check the name of a predicate or function, and the number and types of its arguments."""
        declared = self.predicates if kind == "predicate" else self.functions
        if atom.name not in declared:
            remedy = f"declare it under :{kind}s or fix its spelling"
            fail(path, atom.name, f"{kind} {atom.name} is not declared", remedy)
        types = declared[atom.name]
        if len(types) != len(atom.arguments):
            what = f"{kind} {atom.name} takes {len(types)} arguments, not {len(atom.arguments)}"
            fail(path, atom.name, what, "give it as many as declared")
        self._check_arguments(atom, types, scope, path)

    def _check_arguments(self, atom: Any, types: Iterable[str], scope: Scope, path: Path) -> None:
        for argument, type_name in zip(atom.arguments, types, strict=True):
            if argument.name not in scope:
                kind = "variable" if argument.is_variable() else "object"
                remedy = "declare it or fix its spelling"
                fail(path, argument.name, f"{kind} {argument.name} is not declared", remedy)
            if not self.is_a(scope[argument.name], type_name):
                what = (
                    f"{argument.name} is of type {scope[argument.name]}, but {atom.name} takes "
                    f"{type_name} there"
                )
                fail(path, argument.name, what, "use an object of that type or a subtype")

    def check_formula(
        self, formula: Any, scope: Scope, path: Path, where: str, numeric: bool = False
    ) -> None:
        """Check a condition; comparisons of numbers are allowed only if `numeric`."""
        match formula:
            case pddl.Atom(name="="):
                self._check_arguments(formula, [TYPE_ROOT] * 2, scope, path)
            case pddl.Atom():
                self.check_atom(formula, scope, path)
            case pddl.Negation():
                self.check_formula(formula.sub_formula, scope, path, where, numeric)
            case pddl.BooleanConnector():
                for part in formula.sub_formulas:
                    self.check_formula(part, scope, path, where, numeric)
            case pddl.Quantification():
                inner = {**scope, **self.scope(formula.parameters, path=path)}
                self.check_formula(formula.sub_formula, inner, path, where, numeric)
            case pddl.NumericComparison() if not numeric:
                place = getattr(formula.lhs, "name", getattr(formula.rhs, "name", where))
                what = "numbers in a condition are not supported"
                fail(path, place, what, "use a predicate for each value that matters")

    def _check_effect(self, effect: Any, scope: Scope) -> None:
        match effect:
            case pddl.AtomEffect():
                self.check_atom(effect, scope, self._path)
            case pddl.NegativeEffect():
                self.check_atom(effect.atom, scope, self._path)
            case pddl.ConjunctiveEffect():
                for part in effect.effects:
                    self._check_effect(part, scope)
            case pddl.ConditionalEffect():
                self.check_formula(effect.condition, scope, self._path, "")
                self._check_effect(effect.effect, scope)
            case pddl.UniversalEffect():
                self._check_effect(effect.effect, {**scope, **self.scope(effect.parameters)})
            case pddl.ProbabilisticEffect():
                self._check_probabilities(effect)
                for outcome in effect.outcomes:
                    self._check_effect(outcome.effect, scope)
            case pddl.NumericEffect():
                self._check_number(effect.variable, scope, self._path)

    def _check_number(self, call: Any, scope: Scope, path: Path) -> None:
        # No condition reads numbers, so their values do not matter.
        if call.name not in COST_FUNCTIONS or call.name in self.functions:
            self.check_atom(call, scope, path, kind="function")

    def _check_probabilities(self, effect: Any) -> None:
        total = Fraction(0)
        for outcome in effect.outcomes:
            text = outcome.probability.value_str
            if Fraction(text) < 0:
                what = f"probability {text} is negative"
                fail(self._path, text, what, "give one between 0 and 1")
            total += Fraction(text)
            if total > 1:
                what = f"the probabilities of one effect sum to {float(total):g}"
                fail(self._path, text, what, "make them sum to at most 1")

    def check_problem(self, problem: Any, path: Path) -> dict[str, str]:
        """Check a problem of this domain; return the type of each of its objects."""
        if problem.domain_name != self._domain.name:
            what = (
                f"the problem belongs to domain {problem.domain_name}, not to {self._domain.name}"
            )
            fail(path, problem.domain_name, what, "give the matching domain file")
        objects = self.objects(problem.objects, path)
        for item in problem.objects:
            if self.constants.get(item.name, objects[item.name]) != objects[item.name]:
                what = f"object {item.name} is a constant of another type in the domain"
                fail(path, item.name, what, "rename the object")
        objects = {**self.constants, **objects}
        for fact in problem.initial:
            if isinstance(fact, pddl.Atom):
                self.check_atom(fact, objects, path)
            else:
                self._check_number(fact.variable, objects, path)
        self.check_formula(problem.goal, objects, path, problem.name, numeric=True)
        return objects
