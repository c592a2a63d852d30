import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.problem.actions import UnknownAction, read_action, written
from capscope.problem.tool_calls import ToolCall

PLAIN = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.binary()),
    lambda inner: st.one_of(
        st.lists(inner), st.tuples(inner, inner), st.dictionaries(st.text(), inner)
    ),
)


@given(PLAIN)
def test_a_plain_action_is_made_again(action):
    assert read_action(written(action), list) == action


@given(st.text(), st.dictionaries(st.text(), PLAIN), st.text())
def test_a_tool_call_is_made_again_with_its_arguments(tool, arguments, error):
    call = ToolCall(tool, arguments, error)
    assert read_action(written(call), list) == call


def test_a_number_of_numpy_is_written_as_a_number_and_an_array_as_it_is():
    assert written(np.int64(3)) == 3
    made = read_action(written(np.array([0.5, 2.0], np.float32)), list)
    assert made.dtype == np.float32 and made.tolist() == [0.5, 2.0]


class Push:
    def __str__(self):
        return "push"


def test_any_other_action_is_found_again_by_its_text():
    push = Push()
    assert read_action(written(Push()), lambda: ["pull", push]) is push
    with pytest.raises(UnknownAction, match="push"):
        read_action(written(push), lambda: ["pull"])


def test_an_action_that_contains_itself_is_written_by_its_type():
    endless = []
    endless.append(endless)
    assert written(endless) == {"named": "list"}
