import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capscope.logic import Literal, Vocabulary
from capscope.logic.shortest_condition import bit_matrix, conditions_apart, shortest_condition

VOCABULARY = Vocabulary.of_atoms("pqrs")
ALL = range(2 ** len(VOCABULARY.atoms))
WIDE = Vocabulary.of_atoms(f"p{i}" for i in range(60))


@st.composite
def examples(draw):
    """Draw two disjoint lists of states, each state inside, outside or free."""
    kinds = draw(st.lists(st.sampled_from("+-?"), min_size=len(ALL), max_size=len(ALL)))
    on = [state for state, kind in zip(ALL, kinds, strict=True) if kind == "+"]
    off = [state for state, kind in zip(ALL, kinds, strict=True) if kind == "-"]
    return draw(st.permutations(on)), draw(st.permutations(off))


def holds(term, state, vocabulary=VOCABULARY):
    required, forbidden = vocabulary.literal_masks(term)
    return state & required == required and not state & forbidden


def assert_fits_and_is_irredundant(terms, on, off, vocabulary):
    assert all(any(holds(term, state, vocabulary) for term in terms) for state in on)
    assert not any(holds(term, state, vocabulary) for term in terms for state in off)
    for term in terms:
        for literal in term:
            shorter = [other for other in term if other != literal]
            assert any(holds(shorter, state, vocabulary) for state in off), "a literal too many"
        others = [other for other in terms if other is not term]
        assert not all(any(holds(t, s, vocabulary) for t in others) for s in on), "a term too many"


@given(examples())
def test_a_condition_fits_the_examples_and_has_no_redundant_part(drawn):
    on, off = drawn
    assert_fits_and_is_irredundant(shortest_condition(on, off, VOCABULARY), on, off, VOCABULARY)


@given(examples(), st.randoms(use_true_random=False))
def test_a_repeated_example_changes_nothing(drawn, rng):
    on, off = drawn
    if on:
        terms = shortest_condition([*on, on[0]], [*off, *off], VOCABULARY)
        assert_fits_and_is_irredundant(terms, on, off, VOCABULARY)


@given(st.sets(st.sampled_from(ALL), min_size=1), st.sampled_from(range(4)), st.booleans())
def test_a_single_literal_that_separates_the_examples_is_the_condition(states, i, sign):
    bit = 1 << i
    on = sorted({state | bit if sign else state & ~bit for state in states})
    off = sorted({state ^ bit for state in on})
    assert len(shortest_condition(on, off, VOCABULARY).terms[0]) >= 1
    everything_else = [state for state in ALL if bool(state & bit) is not sign]
    assert shortest_condition(on, everything_else, VOCABULARY).terms == (
        (Literal(VOCABULARY.atoms[i], sign),),
    )


def test_no_state_inside_is_never():
    assert shortest_condition([], [1, 2], VOCABULARY).terms == ()
    assert shortest_condition([], [], VOCABULARY).terms == ()


def test_no_state_outside_is_always():
    assert shortest_condition([3], [], VOCABULARY).terms == ((),)


def test_without_atoms_there_are_only_always_and_never():
    assert shortest_condition([0], [], Vocabulary([], {})).terms == ((),)
    assert shortest_condition([], [0], Vocabulary([], {})).terms == ()


def test_parity_needs_every_state():
    on = [state for state in ALL if state.bit_count() % 2]
    off = [state for state in ALL if not state.bit_count() % 2]
    terms = shortest_condition(on, off, VOCABULARY)
    assert len(terms) == 8
    assert all(len(term) == 4 for term in terms)


def test_literals_of_a_term_follow_the_vocabulary():
    (term,) = shortest_condition([0b0101], [state for state in ALL if state != 0b0101], VOCABULARY)
    assert list(map(str, term)) == ["p()", "not q()", "r()", "not s()"]


def test_a_state_both_inside_and_outside_is_refused():
    with pytest.raises(ValueError, match="both inside and outside"):
        shortest_condition([1, 2], [2], VOCABULARY)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 150), st.integers(1, 150))
def test_sixty_atoms_and_random_states_are_fitted_too(seed, inside, outside):
    rng = random.Random(seed)
    states = list(dict.fromkeys(rng.getrandbits(60) for _ in range(inside + outside)))
    on, off = states[:inside], states[inside:]
    assert_fits_and_is_irredundant(shortest_condition(on, off, WIDE), on, off, WIDE)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
def test_a_hidden_conjunction_of_sixty_atoms_is_found(seed):
    rng = random.Random(seed)
    chosen = rng.sample(range(60), 3)
    required = sum(1 << i for i in chosen)
    states = {rng.getrandbits(60) | required * rng.randrange(2) for _ in range(2000)}
    on = [state for state in states if state & required == required]
    off = [state for state in states if state & required != required]
    ((*term,),) = shortest_condition(on, off, WIDE)
    assert set(term) == {Literal(WIDE.atoms[i]) for i in chosen}


@given(st.lists(st.integers(0, 2**60 - 1)), st.integers(60, 70))
def test_a_bit_matrix_has_a_row_for_each_state_and_a_column_for_each_atom(states, width):
    expected = [[bool(state >> i & 1) for i in range(width)] for state in states]
    matrix = bit_matrix(states, width)
    assert matrix.shape == (len(states), width)
    assert matrix.dtype == np.bool_
    assert matrix.tolist() == expected


def test_every_pair_of_small_sets_is_fitted():
    vocabulary = Vocabulary.of_atoms("pq")
    for kinds in itertools.product("+-?", repeat=4):
        on = [state for state in range(4) if kinds[state] == "+"]
        off = [state for state in range(4) if kinds[state] == "-"]
        assert_fits_and_is_irredundant(shortest_condition(on, off, vocabulary), on, off, vocabulary)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 15), unique=True), min_size=1, max_size=4))
def test_groups_have_the_same_conditions_as_one_by_one(groups):
    met: set[int] = set()
    apart = []
    for group in groups:
        apart.append([state for state in group if state not in met])
        met.update(group)
    one_by_one = [
        shortest_condition(
            own, [s for other in apart if other is not own for s in other], VOCABULARY
        )
        for own in apart
    ]
    assert conditions_apart(apart, VOCABULARY) == one_by_one


def test_groups_that_share_a_state_are_refused():
    with pytest.raises(ValueError, match="both inside and outside"):
        conditions_apart([[1, 2], [2]], VOCABULARY)
