"""Compiled operators do what the text says: checked against plado and a naive interpreter."""

import functools
import itertools
import math
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plado.parser import parse_and_normalize
from plado.semantics.applicable_actions_generator import ApplicableActionsGenerator
from plado.semantics.successor_generator import SuccessorGenerator
from plado.semantics.task import State as PladoState
from plado.semantics.task import Task as PladoTask

from capscope.adapters.pddl import PddlTruth, load_task, shipped_files
from capscope.logic import Atom
from capscope.problem import Limits
from support.pddl_tasks import dynamic_mask


@functools.cache
def shipped(name):
    return load_task(*shipped_files(name))


def reachable(task):
    return PddlTruth(task, lambda intent, state: None, Limits()).reachable_states()


class Twin:
    """plado's own successor generation, seen as maps of names and atoms."""

    def __init__(self, name):
        self.vocabulary = shipped(name).vocabulary
        files = shipped_files(name)
        domain, problem = parse_and_normalize(*map(str, files), True)
        self.task = PladoTask(domain, problem)
        self.names = [action.name for action in domain.actions]
        self.static = shipped(name).initial_state & ~dynamic_mask(shipped(name))
        self._applicable = ApplicableActionsGenerator(self.task)
        self._successors = SuccessorGenerator(self.task)

    def encode(self, state):
        encoded = PladoState(self.task.num_fluent_predicates, len(self.task.functions))
        ids = {o: i for i, o in enumerate(self.task.objects)}
        for i, predicate in enumerate(self.task.predicates[: self.task.num_fluent_predicates]):
            encoded.atoms[i] = {
                tuple(ids[o] for o in atom.arguments)
                for atom in self.vocabulary.holding(state)
                if atom.predicate == predicate.name
            }
        return encoded

    def decode(self, encoded):
        atoms = (
            Atom(self.task.predicates[i].name, tuple(self.task.objects[o] for o in arguments))
            for i, groundings in enumerate(encoded.atoms)
            for arguments in groundings
        )
        return self.vocabulary.state(atoms) | self.static

    def distributions(self, state):
        """Return operator name → successor → probability."""
        encoded = self.encode(state)
        result = {}
        for action, arguments in self._applicable(encoded):
            arguments = tuple(arguments)
            objects = ",".join(self.task.objects[o] for o in arguments)
            merged = result.setdefault(f"{self.names[action]}({objects})", {})
            for successor, probability in self._successors(encoded, (action, arguments)):
                after = self.decode(successor)
                merged[after] = merged.get(after, 0) + probability
        return result


@pytest.mark.parametrize("name", ["blocksworld", "tireworld", "first-responders"])
def test_compiled_operators_have_the_successors_that_plado_finds_in_every_reachable_state(name):
    task, twin = shipped(name), Twin(name)
    for state in reachable(task):
        expected = twin.distributions(state)
        found = {o.name: o.outcomes(state) for o in task.applicable(state)}
        assert found.keys() == expected.keys()
        for operator, outcomes in found.items():
            assert {after for _, after in outcomes} == expected[operator].keys()
            for probability, after in outcomes:
                assert probability == pytest.approx(float(expected[operator][after]), abs=1e-12)


@pytest.mark.parametrize("name", ["tireworld", "first-responders", "probabilistic-elevators"])
def test_the_probabilities_of_an_operator_sum_to_one_in_every_reachable_state(name):
    task = shipped(name)
    for state in reachable(task):
        for operator in task.applicable(state):
            assert math.isclose(math.fsum(p for p, _ in operator.outcomes(state)), 1.0)


# A naive interpreter of conditions and effects, over sets of atoms.

OBJECTS = ("a", "b")
STATIC = {("s", ("a",))}
DYNAMIC = [("p", ()), ("q", ("a",)), ("q", ("b",))]


def holds(formula, state, binding):
    match formula:
        case ("atom", name, terms):
            return (name, tuple(binding.get(t, t) for t in terms)) in state
        case ("=", left, right):
            return binding.get(left, left) == binding.get(right, right)
        case ("not", part):
            return not holds(part, state, binding)
        case ("and", parts):
            return all(holds(part, state, binding) for part in parts)
        case ("or", parts):
            return any(holds(part, state, binding) for part in parts)
        case ("imply", left, right):
            return not holds(left, state, binding) or holds(right, state, binding)
        case ("forall", part):
            return all(holds(part, state, {**binding, "?y": o}) for o in OBJECTS)
        case ("exists", part):
            return any(holds(part, state, {**binding, "?y": o}) for o in OBJECTS)


def changes(effect, state, binding):
    """List (probability, additions, deletions), one for each combination of draws."""
    match effect:
        case ("add", (_, name, terms)):
            return [(Fraction(1), {(name, tuple(binding.get(t, t) for t in terms))}, set())]
        case ("delete", (_, name, terms)):
            return [(Fraction(1), set(), {(name, tuple(binding.get(t, t) for t in terms))})]
        case ("and", parts):
            return together([changes(part, state, binding) for part in parts])
        case ("when", condition, part):
            if holds(condition, state, binding):
                return changes(part, state, binding)
            return [(Fraction(1), set(), set())]
        case ("forall", part):
            return together([changes(part, state, {**binding, "?y": o}) for o in OBJECTS])
        case ("probabilistic", shares):
            drawn = [
                (Fraction(share) * p, adds, deletes)
                for share, part in shares
                for p, adds, deletes in changes(part, state, binding)
            ]
            return [*drawn, (1 - sum(Fraction(share) for share, _ in shares), set(), set())]


def together(independent):
    result = []
    for combination in itertools.product(*independent):
        probability = math.prod((p for p, _, _ in combination), start=Fraction(1))
        adds = set().union(*(a for _, a, _ in combination))
        deletes = set().union(*(d for _, _, d in combination))
        result.append((probability, adds, deletes))
    return result


def text(part):
    match part:
        case ("atom", name, terms):
            return f"({' '.join((name, *terms))})"
        case ("add", atom):
            return text(atom)
        case ("delete", atom):
            return f"(not {text(atom)})"
        case ("=", left, right):
            return f"(= {left} {right})"
        case ("forall" | "exists", inner):
            return f"({part[0]} (?y - thing) {text(inner)})"
        case ("and" | "or", parts):
            return f"({part[0]} {' '.join(map(text, parts))})"
        case ("probabilistic", shares):
            return f"(probabilistic {' '.join(f'{share} {text(e)}' for share, e in shares)})"
        case (keyword, *parts):
            return f"({keyword} {' '.join(map(text, parts))})"


def formulas(terms):
    term = st.sampled_from(terms)
    atoms = st.one_of(
        st.just(("atom", "p", ())),
        st.builds(lambda name, t: ("atom", name, (t,)), st.sampled_from("qs"), term),
        st.tuples(st.just("="), term, term),
    )
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.tuples(st.just("not"), inner),
            st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, max_size=3)).map(tuple),
            st.tuples(st.just("imply"), inner, inner),
            st.tuples(st.sampled_from(["forall", "exists"]), inner),
        ),
        max_leaves=6,
    )


def effects(terms):
    atoms = st.one_of(
        st.just(("atom", "p", ())), st.sampled_from(terms).map(lambda t: ("atom", "q", (t,)))
    )
    shares = st.sampled_from([["0.5", "0.25"], ["0.5", "0.5"], ["1/3"], ["0", "0.9"]])
    return st.recursive(
        st.tuples(st.sampled_from(["add", "delete"]), atoms),
        lambda inner: st.one_of(
            st.tuples(st.just("and"), st.lists(inner, max_size=3)),
            st.tuples(st.just("when"), formulas(terms), inner),
            st.tuples(st.just("forall"), inner),
            shares.flatmap(
                lambda ps: st.tuples(
                    st.just("probabilistic"), st.tuples(*(st.tuples(st.just(p), inner) for p in ps))
                )
            ),
        ),
        max_leaves=5,
    )


@functools.cache
def folder():
    made = tempfile.TemporaryDirectory()
    return made, Path(made.name)


def compiled(condition, effect):
    domain = f"""
(define (domain random) (:types thing)
  (:predicates (p) (q ?x - thing) (s ?x - thing))
  (:action act :parameters (?x - thing) :precondition {text(condition)} :effect {text(effect)})
  (:action touch :parameters (?x - thing) :effect (and (p) (q ?x))))"""
    problem = """
(define (problem any) (:domain random) (:objects a b - thing) (:init (s a)) (:goal (p)))"""
    path = folder()[1]
    (path / "domain.pddl").write_text(domain)
    (path / "problem.pddl").write_text(problem)
    return load_task(path / "domain.pddl", path / "problem.pddl")


# Below a quantifier ?y is bound; elsewhere it is not, so it is put in only there.
def close(part):
    """Replace every ?y that no quantifier binds by ?x."""

    def walk(node, bound):
        if node == "?y":
            return "?y" if bound else "?x"
        if isinstance(node, (tuple, list)):
            inside = bound or (bool(node) and node[0] in ("forall", "exists"))
            return type(node)(walk(child, inside) for child in node)
        return node

    return walk(part, False)


TERMS = ("?x", "?y")


@settings(max_examples=150, deadline=None)
@given(formulas(TERMS).map(close), effects(TERMS).map(close))
def test_a_compiled_action_does_what_a_naive_interpreter_of_its_text_does(condition, effect):
    task = compiled(condition, effect)
    operators = {operator.name: operator for operator in task.operators}
    for bits, value in itertools.product(range(8), OBJECTS):
        atoms = STATIC | {atom for i, atom in enumerate(DYNAMIC) if bits >> i & 1}
        encode = lambda atoms: task.vocabulary.state(Atom(*atom) for atom in atoms)  # noqa: E731
        operator = operators.get(f"act({value})")
        applicable = operator is not None and operator.applicable(encode(atoms))
        assert applicable == holds(condition, atoms, {"?x": value})
        if operator is None:
            continue
        expected = {}
        for probability, adds, deletes in changes(effect, atoms, {"?x": value}):
            after = encode(atoms - deletes | adds)
            expected[after] = expected.get(after, 0) + probability
        found = {after: p for p, after in operator.outcomes(encode(atoms))}
        assert len(found) == len(operator.outcomes(encode(atoms)))
        assert found == pytest.approx({s: float(p) for s, p in expected.items() if p})


def test_an_atom_that_is_deleted_and_added_is_added():
    task = compiled(
        ("and", []), ("and", [("add", ("atom", "p", ())), ("delete", ("atom", "p", ()))])
    )
    operator = task.operators[0]
    assert task.vocabulary.bit[Atom("p")] & operator.outcomes(0)[0][1]


def test_outcomes_with_equal_changes_are_merged():
    add = ("add", ("atom", "p", ()))
    task = compiled(("and", []), ("probabilistic", (("0.5", add), ("0.25", add))))
    operator = task.operators[0]
    assert sorted(outcome.probability for outcome in operator.possible) == [0.25, 0.75]


def test_the_usual_precondition_is_a_single_conjunction():
    for name in ("blocksworld", "tireworld", "first-responders", "probabilistic-elevators"):
        assert all(len(o.precondition) == 1 and o.masks for o in shipped(name).operators)


@pytest.mark.parametrize(
    ("name", "distinct"),
    [
        ("blocksworld", set()),
        ("tireworld", {"location"}),
        ("probabilistic-elevators", {"floor", "pos"}),
        ("depot", set()),
    ],
)
def test_types_whose_objects_a_fixed_relation_connects_are_distinct(name, distinct):
    assert load_task(*shipped_files(name)).vocabulary.distinct_types == distinct
