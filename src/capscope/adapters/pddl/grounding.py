"""Compile a domain and a problem to ground operators over bit masks.

Most tuples of objects fail a static precondition. So parameters are bound one after the other, and
a conjunct with only static predicates is tested as soon as its variables are bound. The rest of a
condition becomes a disjunction of conjunctions of literals. An effect becomes a distribution over
sets of changes: independent probabilistic effects multiply, and the remaining probability changes
nothing.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from plado import pddl

from capscope.adapters.pddl.reading import DomainCheck, fail, read_domain, read_problem
from capscope.adapters.pddl.task import (
    ALWAYS,
    AtomChange,
    Disjunction,
    GroundOperator,
    OperatorOutcome,
    PddlTask,
)
from capscope.errors import ProblemError, VocabularyError
from capscope.logic import Atom, LiteralTest, Predicate, Vocabulary

MOST_OPERATORS = 100_000
"""Maximum number of ground operators of a task."""
MOST_WORK = 3_000_000
"""Maximum number of bindings, terms and outcomes that are looked at while a task is compiled.

It is reached after a few seconds.
"""
_WORK_OF_PRODUCT = 10
"""Joining two outcomes takes about as long as this many of the others."""
MOST_ALTERNATIVES = 1 << 12
"""Maximum number of terms of a condition and of outcomes of an operator."""

Binding = Mapping[str, str]
Distribution = dict[tuple[AtomChange, ...], Fraction]

NOTHING: Distribution = {(): Fraction(1)}


def compile_task(domain_path: Path, problem_path: Path) -> PddlTask:
    """Read, check and ground a domain and a problem file."""
    try:
        return _compile(domain_path, problem_path)
    except RecursionError:
        fail(domain_path, 1, "a condition or an effect is nested too deeply", "nest it less")


def _compile(domain_path: Path, problem_path: Path) -> PddlTask:
    domain = read_domain(domain_path)
    check = DomainCheck(domain, domain_path)
    problem = read_problem(problem_path)
    objects = check.check_problem(problem, problem_path)
    predicates = [Predicate(name, types) for name, types in check.predicates.items()]
    facts = [fact for fact in problem.initial if isinstance(fact, pddl.Atom)]
    initial = frozenset(_ground(fact, {}) for fact in facts)
    dynamic = {name for action in domain.actions for name in _predicates(action.effect)}
    fixed = (atom for atom in initial if atom.predicate not in dynamic)
    related = _related_types(fixed, objects)
    try:
        vocabulary = Vocabulary(predicates, objects, check.parents, related)
    except VocabularyError as error:
        raise ProblemError(f"{domain_path}: {error}") from error
    grounder = _Grounder(vocabulary, frozenset(dynamic), initial, domain_path)
    return PddlTask(
        name=str(problem.name),
        vocabulary=vocabulary,
        initial_state=vocabulary.state(initial),
        operators=tuple(o for action in domain.actions for o in grounder.operators(action)),
    )


def _related_types(fixed: Iterable[Atom], objects: Mapping[str, str]) -> set[str]:
    """Return the types with objects that a fixed relation connects, like floors or roads."""
    pairs = (pair for atom in fixed for pair in itertools.combinations(set(atom.arguments), 2))
    return {objects[a] for a, b in pairs if objects[a] == objects[b]}


def _ground(atom: Any, binding: Binding) -> Atom:
    arguments = (str(argument.name) for argument in atom.arguments)
    return Atom(str(atom.name), tuple(binding.get(name, name) for name in arguments))


def _nodes(node: Any) -> Iterator[Any]:
    """Yield a formula or an effect and all of its parts, without the conditions of effects."""
    yield node
    single = [getattr(node, name, None) for name in ("sub_formula", "atom", "effect")]
    several = [getattr(node, name, ()) for name in ("sub_formulas", "effects", "outcomes")]
    for part in itertools.chain((one for one in single if one is not None), *several):
        yield from _nodes(part)


def _predicates(node: Any) -> set[str]:
    """Return the predicates that a formula mentions, or that an effect changes."""
    atoms = (pddl.Atom, pddl.AtomEffect)
    return {str(part.name) for part in _nodes(node) if isinstance(part, atoms)}


def _conjuncts(formula: Any) -> Iterator[Any]:
    if isinstance(formula, pddl.Conjunction):
        for part in formula.sub_formulas:
            yield from _conjuncts(part)
    elif formula is not None:
        yield formula


class _Grounder:
    """Turns the actions of one domain into operators over one vocabulary."""

    def __init__(
        self, vocabulary: Vocabulary, dynamic: frozenset[str], initial: frozenset[Atom], path: Path
    ) -> None:
        self._vocabulary = vocabulary
        self._dynamic = dynamic
        self._initial = initial
        self._path = path
        self._work = 0
        self._operators = 0

    def _count_work(self, amount: int = 1) -> None:
        self._work += amount
        if self._work > MOST_WORK:
            what = f"action {self._action}: there are too many combinations of objects to ground"
            fail(self._path, self._action, what, "use fewer parameters, variables or objects")

    def operators(self, action: Any) -> Iterator[GroundOperator]:
        """Yield an operator for each binding under which the precondition can hold."""
        self._action = action.name
        conjuncts = list(_conjuncts(action.precondition))
        static = [c for c in conjuncts if self._dynamic.isdisjoint(_predicates(c))]
        known = set(map(id, static))
        rest = pddl.Conjunction([c for c in conjuncts if id(c) not in known])
        for binding in self._bindings(action.parameters, static):
            precondition = self._disjunction(rest, binding)
            if precondition:
                self._operators += 1
                if self._operators > MOST_OPERATORS:
                    what = f"action {self._action}: there are more than {MOST_OPERATORS:,} ground"
                    fail(self._path, self._action, f"{what} operators", "use fewer objects")
                name = f"{action.name}({','.join(binding.values())})"
                distribution = self._distribution(action.effect, binding).items()
                outcomes = (OperatorOutcome(float(p), changes) for changes, p in distribution)
                yield GroundOperator(name, precondition, tuple(outcomes))

    def _bindings(self, parameters: Any, static: list[Any]) -> Iterator[Binding]:
        """Bind parameters in order, without bindings that a static conjunct excludes."""
        names = [str(parameter.name) for parameter in parameters]
        tests: list[list[Any]] = [[] for _ in range(len(names) + 1)]
        for conjunct in static:
            free = conjunct.get_free_variables()
            tests[max((names.index(name) + 1 for name in free), default=0)].append(conjunct)

        def extend(binding: dict[str, str]) -> Iterator[Binding]:
            depth = len(binding)
            self._count_work()
            if not all(self._disjunction(test, binding) for test in tests[depth]):
                return
            if depth == len(names):
                yield binding
                return
            for value in self._vocabulary.objects_of(str(parameters[depth].type_name)):
                yield from extend({**binding, names[depth]: value})

        return extend({})

    def _extensions(self, parameters: Any, binding: Binding) -> Iterator[Binding]:
        names = [str(parameter.name) for parameter in parameters]
        choices = [self._vocabulary.objects_of(str(p.type_name)) for p in parameters]
        for values in itertools.product(*choices):
            self._count_work()
            yield {**binding, **dict(zip(names, values, strict=True))}

    def _disjunction(self, formula: Any, binding: Binding, positive: bool = True) -> Disjunction:
        """Return a formula, or its negation, in disjunctive normal form.

        No term at all is "never"; the empty term is "always".
        """
        self._count_work()
        match formula:
            case pddl.Atom():
                return self._literal(_ground(formula, binding), positive)
            case pddl.Negation():
                return self._disjunction(formula.sub_formula, binding, not positive)
            case pddl.BooleanConnector():
                parts = (
                    self._disjunction(part, binding, positive) for part in formula.sub_formulas
                )
                every = isinstance(formula, pddl.Conjunction) is positive
            case pddl.Quantification():
                inner = self._extensions(formula.parameters, binding)
                parts = (self._disjunction(formula.sub_formula, each, positive) for each in inner)
                every = isinstance(formula, pddl.Forall) is positive
            case _:
                return ALWAYS if isinstance(formula, pddl.Truth) is positive else ()
        if every:
            return self._all_of(parts)
        return self._shortest(itertools.chain.from_iterable(parts))

    def _literal(self, atom: Atom, positive: bool) -> Disjunction:
        if atom.predicate == "=":
            left, right = atom.arguments
            return ALWAYS if (left == right) is positive else ()
        if atom.predicate not in self._dynamic:
            return ALWAYS if (atom in self._initial) is positive else ()
        bit = self._vocabulary.bit_of(atom)
        return (LiteralTest(bit, 0) if positive else LiteralTest(0, bit),)

    def _all_of(self, parts: Iterator[Disjunction]) -> Disjunction:
        result = ALWAYS
        for part in parts:
            self._bound(len(result) * len(part), "condition has", "terms")
            self._count_work(len(result) * len(part))
            joined = (
                LiteralTest(a.required | b.required, a.forbidden | b.forbidden)
                for a, b in itertools.product(result, part)
            )
            result = self._shortest(c for c in joined if not c.required & c.forbidden)
        return result

    def _shortest(self, terms: Iterator[LiteralTest]) -> Disjunction:
        """Drop duplicates and terms that another one covers."""
        unique = list(dict.fromkeys(terms))
        self._bound(len(unique), "condition has", "terms")
        if len(unique) < 2:
            return tuple(unique)
        self._count_work(len(unique) ** 2 // 4)
        return tuple(
            term
            for term in unique
            if not any(
                other != term
                and other.required & term.required == other.required
                and other.forbidden & term.forbidden == other.forbidden
                for other in unique
            )
        )

    def _bound(self, count: int, what: str, unit: str) -> None:
        if count > MOST_ALTERNATIVES:
            text = f"action {self._action}: a {what} more than {MOST_ALTERNATIVES} {unit}"
            fail(self._path, self._action, text, "split the action or use fewer objects")

    def _distribution(self, effect: Any, binding: Binding) -> Distribution:
        """Return the probability of each set of changes; they sum to one."""
        self._count_work()
        match effect:
            case pddl.AtomEffect():
                bit = self._vocabulary.bit_of(_ground(effect, binding))
                return {(AtomChange(bit, 0),): Fraction(1)}
            case pddl.NegativeEffect():
                bit = self._vocabulary.bit_of(_ground(effect.atom, binding))
                return {(AtomChange(0, bit),): Fraction(1)}
            case pddl.ConjunctiveEffect():
                return self._product(self._distribution(part, binding) for part in effect.effects)
            case pddl.UniversalEffect():
                inner = self._extensions(effect.parameters, binding)
                return self._product(self._distribution(effect.effect, each) for each in inner)
            case pddl.ConditionalEffect():
                when = self._disjunction(effect.condition, binding)
                return self._guarded(self._distribution(effect.effect, binding), when)
            case pddl.ProbabilisticEffect():
                return self._mixture(effect, binding)
        return NOTHING  # a number, which no condition reads

    def _product(self, parts: Iterator[Distribution]) -> Distribution:
        result = NOTHING
        for part in parts:
            joint: Distribution = {}
            self._count_work(_WORK_OF_PRODUCT * len(result) * len(part))
            for (a, p), (b, q) in itertools.product(result.items(), part.items()):
                both = _merged((*a, *b))
                joint[both] = joint.get(both, Fraction(0)) + p * q
            self._bound(len(joint), "single effect has", "outcomes")
            result = joint
        return result

    def _guarded(self, distribution: Distribution, when: Disjunction) -> Distribution:
        if when == ALWAYS:
            return distribution
        guarded: Distribution = {}
        for changes, probability in distribution.items():
            both = [(c, self._all_of(iter((c.when, when)))) for c in changes]
            key = _merged(tuple(c._replace(when=w) for c, w in both if w))
            guarded[key] = guarded.get(key, Fraction(0)) + probability
        return guarded

    def _mixture(self, effect: Any, binding: Binding) -> Distribution:
        mixed: Distribution = {}
        left = Fraction(1)
        for outcome in effect.outcomes:
            weight = Fraction(outcome.probability.value_str)
            left -= weight
            for changes, probability in self._distribution(outcome.effect, binding).items():
                mixed[changes] = mixed.get(changes, Fraction(0)) + weight * probability
        if left:
            mixed[()] = mixed.get((), Fraction(0)) + left
        return {changes: probability for changes, probability in mixed.items() if probability}


def _merged(changes: tuple[AtomChange, ...]) -> tuple[AtomChange, ...]:
    """Join changes with the same condition and sort them, so that equal sets are equal."""
    by_condition: dict[Disjunction, tuple[int, int]] = {}
    for adds, deletes, when in changes:
        before = by_condition.get(when, (0, 0))
        by_condition[when] = (before[0] | adds, before[1] | deletes)
    # An atom that is both deleted and added is added.
    joined = (AtomChange(a, d & ~a, when) for when, (a, d) in by_condition.items())
    return tuple(sorted(joined, key=lambda change: (change.when, change.adds, change.deletes)))
