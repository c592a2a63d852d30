"""Terms against a naive twin that tries every object for every open place."""

import itertools
import random

import numpy as np
import pytest

from capscope.logic import Predicate, Vocabulary
from capscope.model.state_graph import StateMatrix
from capscope.model.terms import ANY, SAME, Term, TermSpace

WORDS = Vocabulary(
    [
        Predicate("on", ("block", "block")),
        Predicate("clear", ("block",)),
        Predicate("in", ("block", "box")),
        Predicate("open", ("box",)),
        Predicate("tired"),
    ],
    {"a": "block", "b": "block", "c": "block", "red": "box", "blue": "box"},
)
BLOCKS, BOXES = frozenset("abc"), frozenset(["red", "blue"])
KINDS = {p.name: p.types for p in WORDS.predicates}


def naive_value(term, binding, state):
    """Try every further object in each open place; `SAME` places share one."""
    objects = sorted(set(WORDS.objects) - set(binding))
    places = [(i, j) for i, (_, args) in enumerate(term.atoms) for j, v in enumerate(args) if v < 0]
    for others in itertools.product(objects, repeat=len(places)):
        filled = dict(zip(places, others, strict=True))
        same = {filled[i, j] for i, j in places if term.atoms[i][1][j] == SAME}
        texts = [
            f"{name}({','.join(filled[i, j] if v < 0 else binding[v] for j, v in enumerate(args))})"
            for i, (name, args) in enumerate(term.atoms)
        ]
        if len(same) < 2 and all(holds(text, state) for text in texts):
            return True
    return False


def holds(text, state):
    known = {str(atom): WORDS.bit[atom] for atom in WORDS.atoms}
    return bool(known.get(text.removesuffix("()"), known.get(text, 0)) & state)


def random_states(number, seed=0):
    draw = random.Random(seed)
    chances = [0.1, 0.3, 0.6]
    bits = [1 << i for i in range(len(WORDS.atoms))]
    return [sum(b for b in bits if draw.random() < chances[i % 3]) for i in range(number)]


SPACES = {
    "no variable": ([], [()]),
    "a block": ([BLOCKS], [("a",), ("c",)]),
    "two blocks": ([BLOCKS, BLOCKS], [("a", "b"), ("c", "a")]),
    "a block and a box": ([BLOCKS, BOXES], [("b", "red"), ("a", "blue")]),
}


@pytest.mark.parametrize("name", SPACES)
def test_a_term_holds_if_some_further_objects_make_its_atoms_hold(name):
    domains, bindings = SPACES[name]
    space, matrix = TermSpace(WORDS, domains), StateMatrix(len(WORDS.atoms))
    rows = np.array(matrix.rows(random_states(60)))
    for binding in bindings:
        values = space.values(matrix, binding, rows)
        for i, term in enumerate(space.terms):
            naive = [naive_value(term, binding, matrix.states[row]) for row in rows]
            assert values[:, i].tolist() == naive, term
            assert space.values(matrix, binding, rows, [i])[:, 0].tolist() == naive, term


@pytest.mark.parametrize("name", SPACES)
def test_a_plain_term_is_asked_of_several_objects_at_once(name):
    domains, bindings = SPACES[name]
    space, matrix = TermSpace(WORDS, domains), StateMatrix(len(WORDS.atoms))
    rows = np.array(matrix.rows(random_states(60)))
    which = np.arange(len(rows)) % len(bindings)
    for i in filter(space.plain, range(len(space.terms))):
        one_by_one = [
            space.values(matrix, bindings[b], rows[[j]])[0, i] for j, b in enumerate(which)
        ]
        assert space.holding(matrix, i, bindings, which, rows).tolist() == one_by_one


def test_terms_are_distinct_and_short_ones_of_one_atom_come_first():
    space = TermSpace(WORDS, [BLOCKS, BLOCKS])
    assert len(set(space.terms)) == len(space.terms)
    assert [space.place[term] for term in space.terms] == list(range(len(space.terms)))
    plain = [t for t in space.terms if len(t.atoms) == 1 and ANY not in t.atoms[0][1]]
    assert list(space.terms[: len(plain)]) == plain
    assert {t.atoms[0] for t in plain} == {
        *[("on", (0, 1)), ("on", (1, 0)), ("clear", (0,)), ("clear", (1,)), ("tired", ())]
    }


def test_a_term_may_ask_for_one_object_in_two_atoms():
    space = TermSpace(WORDS, [BLOCKS])
    assert Term((("on", (SAME, 0)), ("clear", (SAME,)))) in space.place


def test_a_term_means_the_same_whatever_the_objects_are_called():
    names = {"a": "b", "b": "c", "c": "a", "red": "blue", "blue": "red"}
    space, matrix = TermSpace(WORDS, [BLOCKS, BOXES]), StateMatrix(len(WORDS.atoms))
    for state in random_states(40):
        renamed = WORDS.state(
            f"{atom.predicate}({','.join(names[o] for o in atom.arguments)})"
            for atom in WORDS.holding(state)
        )
        here, there = matrix.rows([state, renamed])
        one = space.values(matrix, ("a", "red"), np.array([here]))
        other = space.values(matrix, ("b", "blue"), np.array([there]))
        assert (one == other).all()


def test_a_longer_term_is_larger_than_its_parts():
    whole = Term((("on", (SAME, 0)), ("clear", (SAME,))))
    parts = [Term((("on", (ANY, 0)),)), Term((("clear", (ANY,)),)), Term((("clear", (0,)),))]
    assert [whole.size, *(part.size for part in parts)] == [4, 2, 2, 1]
