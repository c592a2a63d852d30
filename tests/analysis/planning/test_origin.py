from contextlib import closing

import pytest

from capscope.analysis.planning.origin import states_described, where_it_began
from capscope.assessment import RunDirectory, RunSpec
from capscope.errors import CapscopeError, RunError
from capscope.record.execution_table import Transition
from support.tiny_models import learned
from support.toy_worlds import board_problem

MODELS = learned({Transition(0, 0, 1): 3, Transition(1, 1, 3): 9, Transition(3, 2, 3): 2})


def test_a_description_gives_every_state_seen_that_fits_the_most_visited_first():
    assert states_described("p", MODELS) == (1, 3)
    assert states_described("not p or q", MODELS) == (0, 3)


def test_a_number_gives_that_state():
    assert states_described(" 0x3 ", MODELS) == (3,)
    assert states_described("0X1", MODELS) == (1,)


def test_what_was_never_seen_is_no_place_to_begin():
    with pytest.raises(CapscopeError, match="in no state that was seen does r"):
        states_described("r", MODELS)
    with pytest.raises(CapscopeError, match="state 0x7 was never seen"):
        states_described("0x7", MODELS)


def test_a_run_that_has_asked_nothing_began_nowhere(tmp_path):
    with closing(RunDirectory.create(tmp_path / "run", RunSpec(board_problem(), "board").meta())):
        pass
    with pytest.raises(RunError, match="has asked nothing yet"):
        where_it_began(tmp_path / "run")
