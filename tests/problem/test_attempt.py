import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.errors import ConversationRefused, ProblemError
from capscope.logic import Intent
from capscope.problem import Ending, InvalidAction, Limits, Position
from capscope.problem.attempt import pursue
from support import toy_worlds as toy
from support.toy_worlds import Scripted, board_problem

INTENT = Intent.parse("lit(a) and lit(b)")


def attempt(problem, intent=INTENT, **options):
    """Pursue an intent on a dark board; return the attempt and the position at the end."""
    start = Position(problem.simulator.restore(b"\0", 0), 0)
    return pursue(problem, intent, start, 0, **options)


def test_an_attempt_ends_when_the_agent_stops():
    done, position = attempt(board_problem(temporal_length=5))
    assert done.ending is Ending.STOPPED
    assert done.trajectory == (0b000, 0b001, 0b011)
    assert done.simulator_steps == 2
    assert position.state == position.observation == 0b011


def test_an_agent_that_stops_at_once_has_made_no_step():
    done, position = attempt(board_problem(agent=Scripted()))
    assert done == ((0,), 0, Ending.STOPPED, 0, "", "", ())
    assert position == (0, 0)


def test_an_attempt_ends_when_the_state_has_changed_as_often_as_allowed():
    done, _ = attempt(board_problem(agent=Scripted("wait", "a", "b", "c"), temporal_length=2))
    assert done.ending is Ending.CHANGED
    assert done.trajectory == (0b000, 0b001, 0b011)
    assert done.simulator_steps == 3


def test_one_change_ends_an_attempt_by_default():
    done, _ = attempt(board_problem())
    assert done.ending is Ending.CHANGED
    assert done.trajectory == (0b000, 0b001)


def test_changes_do_not_end_an_attempt_without_a_temporal_length():
    agent = Scripted(*["a"] * 50)
    done, _ = attempt(board_problem(agent=agent, temporal_length=None))
    assert done.ending is Ending.STOPPED
    assert len(done.trajectory) == 51


def test_an_agent_that_loops_ends_at_the_horizon():
    done, _ = attempt(board_problem(agent=Scripted(forever="wait"), horizon=7))
    assert (done.ending, done.simulator_steps) == (Ending.HORIZON, 7)
    assert done.trajectory == (0,)


def test_an_agent_that_stops_after_the_last_allowed_step_has_stopped():
    done, _ = attempt(board_problem(agent=Scripted(*["wait"] * 7), horizon=7))
    assert (done.ending, done.simulator_steps) == (Ending.STOPPED, 7)


def test_an_attempt_ends_when_no_action_is_available():
    board = toy.Board(ends_at=0b001)
    done, _ = attempt(board_problem(board, Scripted(forever="a"), temporal_length=9))
    assert done.ending is Ending.WORLD_ENDED
    assert done.trajectory == (0b000, 0b001)


def test_no_step_is_taken_without_actions():
    done, _ = attempt(board_problem(toy.Board(ends_at=0), Scripted(forever="a")))
    assert (done.ending, done.simulator_steps) == (Ending.WORLD_ENDED, 0)


def test_an_agent_that_raises_when_it_begins_has_failed():
    done, _ = attempt(board_problem(agent=toy.RaisesAtOnce()))
    assert done.ending is Ending.AGENT_RAISED
    assert done.detail == f"RuntimeError ({toy.RAISES_HERE}): no idea"
    assert done.trajectory == (0,)


def test_an_agent_that_raises_after_some_steps_has_failed_in_that_state():
    agent = Scripted("a", ValueError("lost"), tokens=12)
    done, position = attempt(board_problem(agent=agent, temporal_length=3))
    assert done[:4] == ((0b000, 0b001), 1, Ending.AGENT_RAISED, 12)
    assert re.fullmatch(r"ValueError \(toy_worlds.py, line \d+\): lost", done.detail)
    assert position.state == 0b001


def test_the_transcript_is_kept_however_the_attempt_ends():
    done, _ = attempt(board_problem(agent=toy.Diarist("dear diary"), horizon=1))
    assert done.transcript.startswith("dear diary\nwanted: ")
    assert attempt(board_problem())[0].transcript == ""
    assert attempt(board_problem(agent=toy.RaisesAtOnce()))[0].transcript == ""


def test_the_actions_of_an_attempt_are_those_that_were_taken():
    done, _ = attempt(board_problem(agent=Scripted("a", "wait", "fly"), temporal_length=None))
    assert done.ending is Ending.INVALID_ACTION
    assert done.actions == ("a", "wait")


def test_an_action_that_is_not_available_fails_the_attempt():
    done, position = attempt(board_problem(agent=Scripted("a", "z"), temporal_length=3))
    assert done.ending is Ending.INVALID_ACTION
    assert done.detail == "there is no switch z"
    assert (done.simulator_steps, position.state) == (1, 0b001)


def test_an_agent_may_raise_invalid_action_itself():
    done, _ = attempt(board_problem(agent=Scripted(InvalidAction("cannot parse"))))
    assert (done.ending, done.detail) == (Ending.INVALID_ACTION, "cannot parse")


def test_a_refused_conversation_ends_the_attempt_in_the_state_that_was_reached():
    agent = Scripted("a", ConversationRefused("too long"))
    done, position = attempt(board_problem(agent=agent, temporal_length=3))
    assert (done.ending, done.detail) == (Ending.REFUSED, "too long")
    assert (done.simulator_steps, position.state) == (1, 0b001)


def test_a_budget_cuts_an_attempt_short():
    problem = board_problem(agent=Scripted(forever="wait"), horizon=7)
    done, _ = attempt(problem, max_steps=3)
    assert (done.ending, done.simulator_steps) == (Ending.CUT, 3)


def test_without_budget_an_agent_can_still_stop():
    assert attempt(board_problem(agent=Scripted()), max_steps=0)[0].ending is Ending.STOPPED
    assert attempt(board_problem(agent=Scripted("a")), max_steps=0)[0].ending is Ending.CUT


@pytest.mark.parametrize("max_steps", [7, 8])
def test_a_budget_no_tighter_than_the_horizon_cuts_nothing(max_steps):
    problem = board_problem(agent=Scripted(forever="wait"), horizon=7)
    assert attempt(problem, max_steps=max_steps)[0].ending is Ending.HORIZON


@pytest.mark.parametrize("broken", ["step", "actions"])
def test_a_broken_simulator_is_an_error_that_names_the_problem(broken):
    problem = board_problem(toy.BrokenBoard(broken))
    with pytest.raises(ProblemError, match="board raised ZeroDivisionError: gears jammed"):
        attempt(problem)


def test_a_broken_abstraction_is_an_error_that_names_the_problem():
    with pytest.raises(ProblemError, match=r"abstraction of board raised LookupError.*lit\(a\)"):
        attempt(board_problem(abstraction=toy.BrokenSight()))


@given(
    st.lists(st.sampled_from([*toy.SWITCHES, "wait", "z"]), max_size=12),
    st.one_of(st.none(), st.integers(1, 5)),
    st.integers(1, 10),
    st.one_of(st.none(), st.integers(0, 10)),
    st.integers(0, 100),
)
def test_a_trajectory_has_no_repeats_and_keeps_all_limits(script, theta, horizon, most, seed):
    problem = board_problem(
        toy.Board(slip=0.4), Scripted(*script), temporal_length=theta, horizon=horizon
    )
    start = Position(problem.simulator.restore(b"\0", seed), 0)
    done, position = pursue(problem, INTENT, start, seed, most)
    assert all(s != t for s, t in zip(done.trajectory, done.trajectory[1:], strict=False))
    assert done.trajectory[0] == 0
    assert done.trajectory[-1] == position.state == problem.simulator.lit
    assert done.simulator_steps <= min(horizon, len(script), horizon if most is None else most)
    assert theta is None or len(done.trajectory) - 1 <= theta


@pytest.mark.parametrize("name", ["temporal_length", "horizon", "reset_every"])
def test_a_limit_below_one_is_refused(name):
    with pytest.raises(ValueError, match=f"{name} must be at least 1, not 0"):
        Limits(**{name: 0})
