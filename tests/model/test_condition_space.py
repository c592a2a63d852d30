import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.logic import Literal, Vocabulary
from support.condition_space import ConditionSpace

VOCABULARY = Vocabulary.of_atoms("pqrst")
SPACE = ConditionSpace(VOCABULARY)
ALL = range(2 ** len(VOCABULARY.atoms))
SETS = st.frozensets(st.sampled_from(ALL))

WIDE_WORDS = Vocabulary.of_atoms(f"p{i}" for i in range(60))
WIDE = ConditionSpace(WIDE_WORDS)


def states_of(condition):
    return {state for state in ALL if condition.holds(state)}


@given(SETS)
def test_a_condition_holds_in_its_states_and_no_other(states):
    condition = SPACE.of_states(states)
    assert states_of(condition) == states
    assert condition.count() == len(states)


@given(SETS, SETS)
def test_conditions_combine_as_sets_of_states_do(one, other):
    left, right = SPACE.of_states(one), SPACE.of_states(other)
    assert states_of(left & right) == one & other
    assert states_of(left | right) == one | other
    assert states_of(~left) == set(ALL) - one
    assert left.implies(right) is (one <= other)
    assert (left == right) is (one == other)


@given(SETS, st.randoms(use_true_random=False))
def test_equivalent_conditions_are_equal_however_they_were_made(states, rng):
    parts = sorted(states)
    rng.shuffle(parts)
    joined = SPACE.nothing
    for state in parts:
        joined = joined | SPACE.of_states([state, state])
    assert joined == SPACE.of_states(states) == ~SPACE.of_states(set(ALL) - states)
    assert hash(joined) == hash(SPACE.of_states(states))


@given(
    st.lists(
        st.dictionaries(st.sampled_from(VOCABULARY.atoms), st.booleans()),
        max_size=4,
    )
)
def test_terms_are_disjunctions_of_conjunctions(terms):
    condition = SPACE.of_terms([Literal(a, sign) for a, sign in term.items()] for term in terms)
    expected = {
        state
        for state in ALL
        if any(
            all((a in VOCABULARY.holding(state)) is sign for a, sign in t.items()) for t in terms
        )
    }
    assert states_of(condition) == expected


def test_anything_and_nothing_are_the_extremes():
    assert states_of(SPACE.anything) == set(ALL)
    assert SPACE.nothing.count() == 0
    assert SPACE.of_states([]) == SPACE.nothing == ~SPACE.anything
    assert SPACE.of_terms([[]]) == SPACE.anything
    assert SPACE.of_terms([]) == SPACE.nothing


def test_counting_is_exact_beyond_what_a_float_can_hold():
    rng = random.Random(0)
    states = {rng.getrandbits(60) for _ in range(500)}
    condition = WIDE.of_states(states)
    assert WIDE.anything.count() == 2**60
    assert condition.count() == len(states)
    assert (~condition).count() == 2**60 - len(states)


def test_sixty_atoms_are_distinguished():
    rng = random.Random(1)
    states = [rng.getrandbits(60) for _ in range(300)]
    condition = WIDE.of_states(states)
    assert all(condition.holds(state) for state in states)
    flipped = [state ^ (1 << rng.randrange(60)) for state in states]
    assert not any(condition.holds(state) for state in flipped if state not in set(states))


def test_a_vocabulary_without_atoms_has_one_state():
    space = ConditionSpace(Vocabulary([], {}))
    assert space.of_states([0]) == space.anything
    assert space.anything.count() == 1
    assert space.anything.holds(0)


def test_conditions_of_different_spaces_cannot_be_combined():
    for combine in (lambda a, b: a & b, lambda a, b: a | b, lambda a, b: a.implies(b)):
        with pytest.raises(ValueError, match="make both in one"):
            combine(SPACE.anything, WIDE.anything)


def test_a_condition_does_not_equal_other_objects():
    assert SPACE.anything != True  # noqa: E712
    assert len({SPACE.anything, SPACE.nothing, ~SPACE.nothing}) == 2
    assert all(a == b for a, b in itertools.pairwise([SPACE.anything] * 2))
