"""Anything that maps observations to actions can be asked for an intent."""

import sys
from types import SimpleNamespace

import pytest

pytest.importorskip("gymnasium")

import numpy as np

from capscope.adapters.gymnasium import ByIntent, GymnasiumObservation, Options, StableBaselines
from capscope.logic import Intent
from capscope.problem import Ending, Position
from capscope.problem.attempt import pursue
from capscope.problem.checks import check_problem
from support import odd_environments as odd
from support.odd_environments import corridor_problem

RIGHT, LEFT = Intent.parse("at(right)"), Intent.parse("at(left)")
MIDDLE, FAR = Intent.parse("at(middle)"), Intent.parse("at(pit-right)")


def attempt(policy, intent=RIGHT, make=lambda: odd.Corridor(0.0), seed=0, **given):
    given.setdefault("limits", odd.Limits(temporal_length=None, horizon=20))
    problem = corridor_problem(make, policy, **given)
    seen = problem.simulator.reset(0)
    return pursue(problem, intent, Position(seen, seen.state), seed)[0]


@pytest.mark.parametrize(
    "policy",
    [
        lambda cell: 1,
        lambda cell, intent: int("right" in str(intent)),
        lambda cell, intent, rng: 1 if rng.random() < 2 else 0,
        lambda cell: np.int64(1),
        lambda cell: np.array(1),
        lambda cell: np.array([1]),
        {"at(right)": lambda cell: 1, "at(left)": lambda cell: 0},
        {RIGHT: lambda cell: 1},
        ByIntent(lambda intent: (lambda cell: 1) if intent == RIGHT else None),
        SimpleNamespace(predict=lambda cell, state, episode_start, deterministic: (1, None)),
    ],
)
def test_policies_of_all_kinds_walk_to_the_right_and_stop_there(policy):
    walked = attempt(policy)
    assert (walked.simulator_steps, walked.ending) == (1, Ending.STOPPED)
    assert walked.trajectory[-1] == odd.VOCABULARY.state(["at(right)"])


def test_a_policy_stops_at_once_if_the_intent_holds():
    assert attempt(lambda cell: 1, MIDDLE).simulator_steps == 0
    assert attempt(lambda cell: 1, Intent.parse("not at(right)")).simulator_steps == 0


def test_a_policy_that_ignores_the_intent_continues_until_the_episode_is_over():
    walked = attempt(lambda cell: 1, LEFT)
    assert (walked.simulator_steps, walked.ending) == (2, Ending.WORLD_ENDED)


def test_a_policy_that_ignores_the_intent_continues_until_the_horizon():
    walked = attempt(lambda cell: 1, LEFT, lambda: odd.Corridor(0.0, ends=False))
    assert (walked.simulator_steps, walked.ending) == (20, Ending.HORIZON)


def test_a_function_may_stop_by_returning_none():
    walked = attempt(lambda cell: None, FAR)
    assert (walked.simulator_steps, walked.ending) == (0, Ending.STOPPED)


def test_an_agent_with_a_policy_for_each_goal_stops_without_one():
    assert attempt({"at(left)": lambda cell: 0}).ending is Ending.STOPPED


@pytest.mark.parametrize("action", [2, -1, 1.0, "right", None, [1, 1], np.array([0, 1])])
def test_an_action_outside_the_space_fails_the_attempt(action):
    walked = attempt(lambda cell: action if action is not None else "", FAR)
    assert walked.ending is Ending.INVALID_ACTION
    assert "is not an action of Discrete(2)" in walked.detail


def test_a_policy_that_raises_fails_the_attempt():
    assert "ZeroDivisionError" in attempt(lambda cell: 1 // 0, FAR).detail


class Recurrent:
    """Has the `predict` of Stable-Baselines3; its state makes it go right every second step."""

    def __init__(self):
        self.asked = []

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        self.asked.append((state, episode_start.tolist(), deterministic))
        steps = np.zeros(1, int) if state is None or episode_start[0] else state[0]
        return np.array(int(steps[0] % 2 == 0)), (steps + 1,)


def test_a_recurrent_state_is_kept_between_steps_and_not_between_attempts():
    model = Recurrent()
    for _ in range(2):
        attempt(model, FAR, limits=odd.Limits(temporal_length=None, horizon=3))
    first, second = model.asked[:4], model.asked[4:]
    assert str(first) == str(second)
    assert first[0] == (None, [True], True)
    assert [start for _, start, _ in first] == [[True], [False], [False], [False]]
    assert [int(state[0][0]) for state, _, _ in first[1:]] == [1, 2, 3]
    assert check_problem(corridor_problem(policy=model)) == []


def test_a_stochastic_model_is_seeded_for_each_attempt_with_torch(monkeypatch):
    dice = np.random.RandomState(0)
    torch = SimpleNamespace(manual_seed=dice.seed)
    monkeypatch.setitem(sys.modules, "torch", torch)

    class Drawing(Recurrent):
        def predict(self, observation, state=None, episode_start=None, deterministic=False):
            assert not deterministic
            return dice.randint(2), None

    model = StableBaselines(Drawing(), deterministic=False)
    walks = [attempt(model, FAR, seed=seed).trajectory for seed in (1, 2, 3, 1, 2, 3)]
    assert walks[:3] == walks[3:]
    assert len(set(walks)) > 1


def test_a_maskable_model_receives_the_mask():
    masks = []

    class Maskable:
        def predict(self, observation, state=None, episode_start=None, deterministic=False,
                    action_masks=None):  # fmt: skip
            masks.append(action_masks.tolist())
            return int(np.argmax(action_masks)), None

    walked = attempt(Maskable(), FAR, odd.MaskedCorridor, options=Options(action_mask="mask"))
    assert walked.ending is Ending.WORLD_ENDED
    assert masks == [[0, 1], [0, 1]]


def test_another_kind_of_predict_is_refused():
    model = SimpleNamespace(predict=lambda cell, state, episode_start, deterministic: 1)
    assert "Stable-Baselines3's returns (action, state)" in attempt(model, FAR).detail


class Agent:
    """An agent with `begin`: it sees the whole observation and decides when to stop."""

    def begin(self, intent, seed):
        self.seen = []
        return self

    def act(self, seen):
        self.seen.append(seen)
        return 1 if len(self.seen) < 2 else None


def test_an_agent_with_begin_observes_everything_and_decides_when_to_stop():
    agent = Agent()
    walked = attempt(agent, MIDDLE)
    assert walked.simulator_steps == 1
    assert agent.seen[0] == GymnasiumObservation(2, odd.VOCABULARY.state(["at(middle)"]))
    assert agent.seen[1] == GymnasiumObservation(3, odd.VOCABULARY.state(["at(right)"]), reward=1.0)
