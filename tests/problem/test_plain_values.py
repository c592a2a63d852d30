from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.problem import plain_values

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
SCALARS |= st.floats(allow_nan=False) | st.binary(max_size=3)
HASHABLE = SCALARS | st.tuples(SCALARS, SCALARS) | st.frozensets(SCALARS, max_size=3)
VALUES = st.recursive(
    HASHABLE,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(HASHABLE, inner, max_size=3)
        | st.sets(HASHABLE, max_size=3)
    ),
    max_leaves=6,
)


@given(VALUES)
def test_a_plain_value_is_decoded_as_it_was(value):
    back = plain_values.from_bytes(plain_values.to_bytes(value))
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.int8).reshape(2, 3),
        np.array(2.5, dtype=np.float32),
        np.zeros((0, 3)),
        np.array([[True], [False]]),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.array([b"S", b"G"], dtype="c"),
    ],
)
def test_an_array_keeps_its_type_and_shape_and_is_writable(array):
    back = plain_values.from_bytes(plain_values.to_bytes([array]))[0]
    np.testing.assert_array_equal(back, array)
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    back.fill(0)


def test_a_numpy_number_keeps_its_type():
    back = plain_values.from_bytes(plain_values.to_bytes(np.int16(7)))
    assert back == 7
    assert type(back) is np.int16


def test_a_deque_keeps_its_maximum_length():
    back = plain_values.from_bytes(plain_values.to_bytes(deque([1, 2], maxlen=2)))
    back.append(3)
    assert list(back) == [2, 3]


def test_equal_sets_have_equal_bytes():
    assert plain_values.to_bytes({"a", "b", "c"}) == plain_values.to_bytes({"c", "b", "a"})


@pytest.mark.parametrize("value", [object(), print, [object()], {"a": object()}, np.array([{}])])
def test_anything_else_is_refused_by_name(value):
    with pytest.raises(plain_values.NotPlain, match=r"object|builtin"):
        plain_values.to_bytes(value)
