"""What a Gymnasium environment hides is found, and named so that its author can fix it."""

import pytest

pytest.importorskip("gymnasium")

import gymnasium as gym
import numpy as np
from gymnasium import wrappers

from capscope.adapters.gymnasium import Native, Options, gymnasium_problem
from capscope.problem.checks import check_problem, notes_on
from support import odd_environments as odd
from support.odd_environments import corridor_problem

CORRECT = [
    (odd.Corridor, "replay"),
    (odd.Corridor, "copy"),
    (odd.CorridorWithState, "native"),
    (odd.CorridorThatHandsOutItself, "native"),
    (odd.CorridorThatHandsOutItsGenerator, "native"),
    (odd.CorridorWithAGeneratorOfItsOwn, "replay"),
    (odd.CorridorWithAGeneratorOfItsOwn, "copy"),
    (odd.CorridorThatSeedsNothing, "replay"),
    (odd.CorridorWithACounterLeftOut, "replay"),
    (odd.CorridorWithACounterLeftOut, Native.of("cell", "steps")),
    (odd.CorridorWithWindLeftOut, "copy"),
]


@pytest.mark.parametrize(("make", "restore"), CORRECT)
def test_a_correct_environment_passes(make, restore):
    assert check_problem(corridor_problem(make, restore=restore)) == []


def long_corridor():
    return odd.CorridorWithACounterLeftOut(ends=False)


def wrapper_with_memory():
    return odd.Grudge(odd.CorridorWithState(slip=0.0, ends=False))


def normalised():
    return wrappers.NormalizeObservation(gym.make("CartPole-v1"))


DEFECTS = [
    (odd.CorridorWithACounterLeftOut, "native", "restore", "LeftOut.steps was "),
    # Ignoring an attribute that matters shows in the futures.
    (long_corridor, Native.of("cell", ignore=["steps"]), "randomness", "LeftOut.steps; "),
    (odd.CorridorWithWindLeftOut, "native", "restore", "LeftOut.wind.blows was "),
    (odd.CorridorWithWindLeftOut, "native", "restore", "must cover everything that changes"),
    (odd.CorridorOfObjects, "native", "walk", "odd_environments.Wind, which cannot be saved"),
    (odd.CorridorThatRemembersEpisodes, "replay", "restore", "Episodes.tired; replaying needs"),
    (odd.CorridorWithHiddenDice, "replay", "restore", "draw all randomness from self.np_random"),
    (
        odd.CorridorWithHiddenDice,
        Native.of("cell"),
        "randomness",
        "Options(reseed=lambda env, seed",
    ),
    (odd.CorridorWithEntropy, "replay", "restore", "draw all randomness from self.np_random"),
    (odd.CorridorWithEntropy, "copy", "restore", "a position is replayed before it is copied"),
    (odd.CorridorWithGlobalRandom, "replay", "randomness", "draws from Python's global random"),
    (odd.CorridorWithGlobalNumpy, "replay", "randomness", "draws from NumPy's global np.random"),
    (odd.CorridorWhereDiceAppear, "replay", "randomness", "Appear.dice[0] ignores restore()"),
    (odd.SharedCorridor, "copy", "randomness", "copy.deepcopy must copy all of it"),
    (wrapper_with_memory, "replay", "restore", "changed: Grudge.wind.blows"),
    (
        wrapper_with_memory,
        "native",
        "randomness",
        "reset everything else; changed: Grudge.wind.blows",
    ),
]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("make", "restore", "check", "message"), DEFECTS)
def test_a_hidden_defect_is_found_and_named(make, restore, check, message, seed):
    (failure,) = check_problem(corridor_problem(make, restore=restore), seed)
    assert failure.check == check
    assert message in failure.message


def test_a_wrapper_that_learns_across_episodes_is_found():
    problem = gymnasium_problem(normalised, odd.VOCABULARY, lambda _: [], lambda _: 0)
    (failure,) = check_problem(problem)
    assert failure.check == "restore"
    assert "the observation was array(" in failure.message
    assert "changed: NormalizeObservation.obs_rms.mean" in failure.message


def test_a_hidden_generator_can_be_reseeded_by_the_user():
    def reseed(env, seed):
        hidden = env.draw.__closure__[0].cell_contents
        hidden.bit_generator.state = np.random.PCG64(seed).state

    for restore in ("replay", Native.of("cell")):
        problem = corridor_problem(
            odd.CorridorWithHiddenDice, restore=restore, options=Options(reseed=reseed)
        )
        assert check_problem(problem) == []


def test_an_irrelevant_attribute_can_be_ignored():
    def failures(**ignore):
        way_back = Native.of("s", **ignore)
        return check_problem(
            gymnasium_problem(
                "FrozenLake-v1", odd.VOCABULARY, lambda _: [], lambda _: 0, restore=way_back
            )
        )

    (failure,) = failures()
    assert "FrozenLakeEnv.lastaction was " in failure.message
    assert failures(ignore=["lastaction"]) == []


@pytest.mark.parametrize(
    "name", ["FrozenLake-v1", "CliffWalking-v1", "Blackjack-v1", "CartPole-v1", "Pendulum-v1"]
)
def test_environments_of_gymnasium_pass(name):
    def label(seen):
        number = float(np.ravel(seen)[0])
        return ["at(left)"] if number < 0.01 else ["at(right)"]

    policy = gym.make(name).action_space

    def act(seen, intent, rng):
        policy.seed(rng.randrange(2**31))
        return policy.sample()

    assert check_problem(gymnasium_problem(name, odd.VOCABULARY, label, act)) == []


def test_a_policy_with_a_memory_is_found():
    visits = []

    def policy(cell):
        visits.append(cell)
        return len(visits) % 2

    problem = corridor_problem(lambda: odd.Corridor(0.0), policy)
    (failure,) = check_problem(problem)
    assert failure.check == "agent"


def test_notes_report_what_may_surprise():
    assert notes_on(corridor_problem()) == []
    constant = gymnasium_problem(odd.Corridor, odd.VOCABULARY, lambda _: [], lambda _, intent: 0)
    assert "never changed the symbolic state" in notes_on(constant)[0]
    lake = gymnasium_problem("FrozenLake-v1", odd.VOCABULARY, lambda _: [], lambda _: 0)
    assert "the time limit of 100 steps was removed" in notes_on(lake)[0]
    pendulum = gymnasium_problem("Pendulum-v1", odd.VOCABULARY, lambda _: [], lambda _: [0.0])
    assert "16 actions sampled from Box" in notes_on(pendulum)[1]
    assert "12 resets led to 12 different positions" in notes_on(pendulum)[4]


class Model:
    """A minimal Stable-Baselines3 model."""

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return 1, state


@pytest.mark.parametrize(
    ("policy", "ignores"),
    [
        (lambda cell: 1, True),
        (lambda: 1, True),
        (Model(), True),
        (lambda cell, table=(): 1, True),
        (lambda cell, intent: 1, False),
        (lambda cell, intent, rng: 1, False),
        (lambda *seen: 1, False),
        ({"at(right)": lambda cell: 1}, False),
    ],
)
def test_a_policy_that_ignores_the_intent_is_noted(policy, ignores):
    notes = notes_on(corridor_problem(policy=policy))
    assert [note for note in notes if "does the same whatever it is asked for" in note] == notes
    assert len(notes) == ignores


def test_a_policy_with_invalid_actions_is_found():
    (failure,) = check_problem(corridor_problem(policy=lambda cell: 7))
    assert failure.check == "agent"
    assert "not available (7 is not an action of Discrete(2))" in failure.message
