import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from capscope.logic import Effect, LiteralTest
from capscope.model.state_graph import Goals, StateMatrix

WIDTH = 11
STATES = st.integers(0, 2**WIDTH - 1)


def matrix_of(states, width=WIDTH):
    matrix = StateMatrix(width)
    matrix.rows(states)
    return matrix


@given(st.lists(STATES))
def test_each_state_has_one_row_and_keeps_it(states):
    matrix = StateMatrix(WIDTH)
    given_rows = [matrix.add(state) for state in states]
    assert matrix.rows(states) == given_rows
    assert matrix.states == list(dict.fromkeys(states))
    assert [matrix.states[row] for row in given_rows] == states
    assert len(matrix) == len(set(states)) == len(matrix.bits)


@given(st.lists(STATES))
def test_column_i_of_a_row_is_bit_i_of_its_state(states):
    matrix = matrix_of(states)
    for state, row in matrix.row.items():
        assert matrix.bits[row].tolist() == [state >> i & 1 for i in range(WIDTH)]


@given(st.lists(STATES), STATES, STATES)
def test_literals_hold_in_the_rows_of_the_states_in_which_they_hold(states, required, forbidden):
    matrix = matrix_of(states)
    assert matrix.holding(required, forbidden).tolist() == [
        state & required == required and not state & forbidden for state in matrix.states
    ]


def test_more_states_than_were_made_room_for_change_no_row():
    matrix = matrix_of(range(500))
    assert matrix.bits.shape == (500, WIDTH)
    assert [sum(1 << i for i in row.nonzero()[0].tolist()) for row in matrix.bits] == [*range(500)]


def test_a_world_of_hundreds_of_atoms_fits():
    far = 1 << 299
    matrix = matrix_of([0, far, far | 1], width=300)
    assert matrix.holding(far).tolist() == [False, True, True]
    assert matrix.holding(far, forbidden=1).tolist() == [False, True, False]


def test_a_world_without_atoms_has_one_state():
    matrix = matrix_of([0, 0], width=0)
    assert matrix.bits.shape == (1, 0)
    assert matrix.holding(0).tolist() == [True]


@given(st.lists(STATES, min_size=1), STATES, STATES, st.data())
def test_some_rows_are_answered_as_among_all(states, required, forbidden, data):
    matrix = matrix_of(states)
    rows = np.array(data.draw(st.lists(st.sampled_from(range(len(matrix))))), dtype=np.int64)
    assert matrix.holding(required, forbidden, rows).tolist() == [
        matrix.holding(required, forbidden)[row] for row in rows
    ]
    assert np.array_equal(matrix.part(rows), matrix.bits[rows])


def test_consecutive_rows_are_not_copied():
    matrix = matrix_of(range(9))
    assert np.shares_memory(matrix.part(np.arange(2, 7)), matrix.bits)


EFFECTS = st.builds(Effect, STATES, STATES)


@given(st.lists(STATES, min_size=1), st.lists(EFFECTS, min_size=1), STATES, st.data())
def test_the_row_after_an_effect_is_that_of_the_state_it_leads_to(states, effects, more, data):
    matrix = matrix_of([*states, *(effect.apply(states[0]) for effect in effects[::2])])
    for _ in range(2):
        pairs = st.tuples(st.sampled_from(range(len(matrix))), st.sampled_from(range(len(effects))))
        rows, which = np.array(data.draw(st.lists(pairs)), dtype=np.int64).reshape(-1, 2).T
        assert matrix.rows_after(rows, effects, which).tolist() == [
            matrix.row.get(effects[place].apply(matrix.states[row]), -1)
            for row, place in zip(rows, which, strict=True)
        ]
        matrix.add(more)  # rows that are added later are found, too


@given(
    st.lists(STATES),
    st.lists(st.lists(st.builds(LiteralTest, STATES, STATES), min_size=1)),
)
def test_a_goal_holds_where_one_of_its_conjunctions_does(states, goals):
    matrix = matrix_of(states)
    held = matrix.holding_any(Goals(goals, WIDTH))
    assert held.tolist() == [
        [any(test(state) for test in tests) for state in matrix.states] for tests in goals
    ]
