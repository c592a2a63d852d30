"""What a Gymnasium environment hides is found, and named so that its author can mend it."""

import pytest

pytest.importorskip("gymnasium")

import gymnasium as gym
import numpy as np
from gymnasium import wrappers

from capscope.environments.gymnasium import Native, Options, gymnasium_problem
from capscope.world import check_problem, notes_on
from support import odd_environments as odd
from support.odd_environments import corridor_problem

HARMLESS = [
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


@pytest.mark.parametrize(("make", "restore"), HARMLESS)
def test_nothing_is_found_where_nothing_is_wrong(make, restore):
    assert check_problem(corridor_problem(make, restore=restore)) == []


def long_corridor():
    return odd.CorridorWithACounterLeftOut(ends=False)


def lying_wrapper():
    return odd.Grudge(odd.CorridorWithState(slip=0.0, ends=False))


def normalised():
    return wrappers.NormalizeObservation(gym.make("CartPole-v1"))


LIES = [
    (odd.CorridorWithACounterLeftOut, "native", "restore", "LeftOut.steps was "),
    # Whoever leaves out what matters is told so by what comes of it.
    (long_corridor, Native.of("cell", ignore=["steps"]), "chance", "LeftOut.steps; "),
    (odd.CorridorWithWindLeftOut, "native", "restore", "LeftOut.wind.blows was "),
    (odd.CorridorWithWindLeftOut, "native", "restore", "must cover everything that changes"),
    (odd.CorridorOfObjects, "native", "walk", "odd_environments.Wind, which cannot be saved"),
    (odd.CorridorThatRemembersEpisodes, "replay", "restore", "Episodes.tired; replaying needs"),
    (odd.CorridorWithHiddenDice, "replay", "restore", "draw all randomness from self.np_random"),
    (odd.CorridorWithHiddenDice, Native.of("cell"), "chance", "Options(reseed=lambda env, seed"),
    (odd.CorridorWithEntropy, "replay", "restore", "draw all randomness from self.np_random"),
    (odd.CorridorWithEntropy, "copy", "restore", "a position is replayed before it is copied"),
    (odd.CorridorWithGlobalRandom, "replay", "chance", "draws from Python's global random"),
    (odd.CorridorWithGlobalNumpy, "replay", "chance", "draws from NumPy's global np.random"),
    (odd.CorridorWhereDiceAppear, "replay", "chance", "Appear.dice[0] takes no heed of restore()"),
    (odd.SharedCorridor, "copy", "chance", "copy.deepcopy must copy all of it"),
    (lying_wrapper, "replay", "restore", "not as it was: Grudge.wind.blows"),
    (lying_wrapper, "native", "chance", "nothing may outlast it; not as it was: Grudge.wind.blows"),
]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("make", "restore", "check", "words"), LIES)
def test_what_is_hidden_is_found_and_named(make, restore, check, words, seed):
    (finding,) = check_problem(corridor_problem(make, restore=restore), seed)
    assert finding.check == check
    assert words in finding.message


def test_a_wrapper_that_learns_from_all_episodes_is_found_by_what_it_shows():
    problem = gymnasium_problem(normalised, odd.WORDS, lambda _: [], lambda _: 0)
    (finding,) = check_problem(problem)
    assert finding.check == "restore"
    assert "the observation was array(" in finding.message
    assert "not as it was: NormalizeObservation.obs_rms.mean" in finding.message


def test_what_is_not_found_can_be_reseeded_by_its_author():
    def reseed(env, seed):
        hidden = env.chance.__closure__[0].cell_contents
        hidden.bit_generator.state = np.random.PCG64(seed).state

    for restore in ("replay", Native.of("cell")):
        problem = corridor_problem(
            odd.CorridorWithHiddenDice, restore=restore, options=Options(reseed=reseed)
        )
        assert check_problem(problem) == []


def test_an_attribute_that_does_not_matter_can_be_left_out_by_name():
    def findings(**ignore):
        way_back = Native.of("s", **ignore)
        return check_problem(
            gymnasium_problem(
                "FrozenLake-v1", odd.WORDS, lambda _: [], lambda _: 0, restore=way_back
            )
        )

    (finding,) = findings()
    assert "FrozenLakeEnv.lastaction was " in finding.message
    assert findings(ignore=["lastaction"]) == []


@pytest.mark.parametrize(
    "name", ["FrozenLake-v1", "CliffWalking-v1", "Blackjack-v1", "CartPole-v1", "Pendulum-v1"]
)
def test_nothing_is_found_in_environments_that_come_with_gymnasium(name):
    def label(seen):
        number = float(np.ravel(seen)[0])
        return ["at(left)"] if number < 0.01 else ["at(right)"]

    policy = gym.make(name).action_space

    def act(seen, intent, rng):
        policy.seed(rng.randrange(2**31))
        return policy.sample()

    assert check_problem(gymnasium_problem(name, odd.WORDS, label, act)) == []


def test_a_policy_with_a_memory_is_found():
    visits = []

    def policy(cell):
        visits.append(cell)
        return len(visits) % 2

    problem = corridor_problem(lambda: odd.Corridor(0.0), policy)
    (finding,) = check_problem(problem)
    assert finding.check == "agent"


def test_notes_say_what_may_surprise_and_nothing_else():
    assert notes_on(corridor_problem()) == []
    constant = gymnasium_problem(odd.Corridor, odd.WORDS, lambda _: [], lambda _, intent: 0)
    assert "never changed the symbolic state" in notes_on(constant)[0]
    lake = gymnasium_problem("FrozenLake-v1", odd.WORDS, lambda _: [], lambda _: 0)
    assert "the time limit of 100 steps was removed" in notes_on(lake)[0]
    pendulum = gymnasium_problem("Pendulum-v1", odd.WORDS, lambda _: [], lambda _: [0.0])
    assert "16 actions sampled from Box" in notes_on(pendulum)[1]
    assert "12 resets began in 12 different positions" in notes_on(pendulum)[4]


class Model:
    """The least of a Stable-Baselines3 model."""

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        return 1, state


@pytest.mark.parametrize(
    ("policy", "deaf"),
    [
        (lambda cell: 1, True),
        (lambda: 1, True),
        (Model(), True),
        (lambda cell, table=(): 1, True),
        (lambda cell, intent: 1, False),
        (lambda cell, intent, rng: 1, False),
        (lambda *seen: 1, False),
        ({"at(c3)": lambda cell: 1}, False),
    ],
)
def test_a_policy_that_takes_no_intent_is_noted(policy, deaf):
    notes = notes_on(corridor_problem(policy=policy))
    assert [note for note in notes if "does the same whatever it is asked for" in note] == notes
    assert len(notes) == deaf


def test_a_policy_whose_actions_there_are_not_is_found():
    (finding,) = check_problem(corridor_problem(policy=lambda cell: 7))
    assert finding.check == "agent"
    assert "not available (7 is no action of Discrete(2))" in finding.message
