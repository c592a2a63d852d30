"""Actions of all kinds of spaces, for random walks and for policies."""

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from gymnasium import spaces

from capscope.adapters.gymnasium import Options
from capscope.adapters.gymnasium.simulator import Actions
from capscope.errors import ProblemError
from capscope.problem import InvalidAction
from support import odd_environments as odd
from support.odd_environments import corridor_problem


@pytest.mark.parametrize(
    ("space", "listed"),
    [
        (spaces.Discrete(3), [0, 1, 2]),
        (spaces.Discrete(2, start=5), [5, 6]),
        (spaces.MultiBinary(2), [[0, 0], [0, 1], [1, 0], [1, 1]]),
        (spaces.MultiDiscrete([2, 2]), [[0, 0], [0, 1], [1, 0], [1, 1]]),
        (spaces.MultiDiscrete([1, 2], start=[3, 0]), [[3, 0], [3, 1]]),
        (spaces.MultiDiscrete([[1, 2]]), [[[0, 0]], [[0, 1]]]),
    ],
)
def test_a_small_space_is_listed(space, listed):
    actions = Actions(space, samples=4)
    assert [np.asarray(action).tolist() for action in actions.listed] == listed
    assert not actions.sampled
    assert all(actions.admit(action) in space for action in actions.listed)


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(-1, 1, (2,)),
        spaces.MultiDiscrete([100, 100]),
        spaces.Tuple([spaces.Discrete(2), spaces.Box(0, 1)]),
        spaces.Dict(a=spaces.Discrete(2)),
    ],
)
def test_a_large_space_is_sampled_reproducibly(space):
    actions = Actions(space, samples=4)
    assert actions.sampled
    assert len(actions.listed) == 4
    assert all(actions.admit(action) in space for action in actions.listed)
    space.sample()
    assert str(Actions(space, samples=4).listed) == str(actions.listed)


@pytest.mark.parametrize(
    ("space", "action"),
    [
        (spaces.Discrete(2), np.array([1])),
        (spaces.Discrete(2), True),
        (spaces.Box(-1, 1, (1,)), 0.5),
        (spaces.Box(-1, 1, (1,)), np.array([0.5], np.float64)),
        (spaces.Box(-1, 1, (1,)), [0]),
        (spaces.MultiDiscrete([2, 3]), [1, 2]),
        (spaces.MultiBinary(2), np.array([1, 0], np.int64)),
    ],
)
def test_an_action_in_another_form_is_converted(space, action):
    assert Actions(space, 2).admit(action) in space


@pytest.mark.parametrize(
    ("space", "action"),
    [
        (spaces.Discrete(2), 2),
        (spaces.Discrete(2), 1.0),
        (spaces.Discrete(2), "1"),
        (spaces.Box(-1, 1, (1,)), [1.5]),
        (spaces.Box(-1, 1, (1,)), [0.1, 0.2]),
        (spaces.Box(-1, 1, (1,)), [np.nan]),
        (spaces.MultiDiscrete([2, 3]), [1.5, 2]),
        (spaces.MultiDiscrete([2, 3]), [1]),
        (spaces.Dict(a=spaces.Discrete(2)), {"b": 1}),
    ],
)
def test_an_action_that_the_space_does_not_contain_is_refused(space, action):
    with pytest.raises(InvalidAction, match="is not an action of"):
        Actions(space, 2).admit(action)


def test_an_environment_cannot_modify_the_policys_array():
    space = spaces.Box(-1, 1, (1,))
    mine = np.zeros(1, np.float32)
    Actions(space, 2).admit(mine)[0] = 1
    assert mine[0] == 0


def test_a_mask_hides_actions_if_the_option_is_set():
    masked = corridor_problem(odd.MaskedCorridor, options=Options(action_mask="mask")).simulator
    assert masked.reset(0).mask.tolist() == [0, 1]
    assert masked.actions() == [1]
    with pytest.raises(InvalidAction, match=r"0 is not valid here; the mask allows \[1\]"):
        masked.step(0)
    snapshot = masked.snapshot()
    masked.step(1)
    assert masked.restore(snapshot, 0).mask.tolist() == [0, 1]
    everything = corridor_problem(odd.MaskedCorridor).simulator
    assert everything.reset(0).mask is None
    assert everything.actions() == [0, 1]


def test_a_mask_of_another_size_is_refused():
    class Wrong(odd.MaskedCorridor):
        mask = (1, 1, 1)

    simulator = corridor_problem(Wrong, options=Options(action_mask="mask")).simulator
    with pytest.raises(ProblemError, match="has a number for each action"):
        simulator.actions()
