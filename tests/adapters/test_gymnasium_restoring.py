"""A Gymnasium environment goes back to a position, and its randomness is reseeded."""

import copy
import importlib
import random
import re
import sys
from collections import Counter

import pytest

pytest.importorskip("gymnasium")

import gymnasium as gym
import numpy as np
from gymnasium import wrappers

from capscope.adapters.gymnasium import Copy, Native, Options, Replay, gymnasium_problem
from capscope.errors import ProblemError, install_hint
from capscope.problem import plain_values
from capscope.problem.checks import check_problem
from support import odd_environments as odd
from support.odd_environments import corridor_problem

WAYS_BACK = ("replay", "copy", "native")
KEPT = Options(keep_time_limit=True)


def lake(**given):
    return gymnasium_problem(
        "FrozenLake-v1", odd.VOCABULARY, lambda _: [], lambda _: 0, **given
    ).simulator


def walk(simulator, steps, seed=0):
    """Take random steps; return the position and what was seen of it."""
    rng = random.Random(seed)
    seen = simulator.reset(seed)
    for _ in range(steps):
        if not simulator.actions():
            break
        seen = simulator.step(rng.choice(simulator.actions()))
    return simulator.snapshot(), seen


@pytest.mark.parametrize("restore", ["replay", "copy", Native.of("s", "lastaction")], ids=WAYS_BACK)
def test_three_hundred_draws_on_ice_differ(restore):
    simulator = lake(restore=restore)
    simulator.reset(0)
    snapshot = simulator.snapshot()
    ends = Counter()
    for draw in range(300):
        simulator.restore(snapshot, draw)
        ends[simulator.step(1).observation] += 1
    # From the corner: a third to the right, a third down, a third against the wall.
    assert set(ends) == {0, 1, 4}
    assert min(ends.values()) > 70


def test_a_copy_without_reseeding_would_be_one_draw_three_hundred_times():
    env = gym.make("FrozenLake-v1")
    env.reset(seed=0)
    assert len({copy.deepcopy(env).step(1)[0] for _ in range(300)}) == 1


@pytest.mark.parametrize("restore", WAYS_BACK)
def test_a_position_is_restored_whatever_happened_since(restore):
    make = odd.CorridorWithState if restore == "native" else odd.Corridor
    simulator = corridor_problem(lambda: make(ends=False), restore=restore).simulator
    known = [walk(simulator, steps, steps) for steps in range(0, 20, 3)]
    for snapshot, seen in [*known, *reversed(known)]:
        again = simulator.restore(snapshot, 5)
        assert again == seen
        simulator.step(1)


@pytest.mark.parametrize("restore", WAYS_BACK)
def test_the_end_of_an_episode_is_restored(restore):
    make = odd.CorridorWithState if restore == "native" else odd.Corridor
    simulator = corridor_problem(make, restore=restore).simulator
    snapshot, seen = walk(simulator, 200)
    assert seen.terminated
    simulator.reset(1)
    assert simulator.actions()
    assert simulator.restore(snapshot, 2).terminated
    assert not simulator.actions()


@pytest.mark.parametrize("restore", ["replay", "copy", Native.of("s", "lastaction")], ids=WAYS_BACK)
def test_the_step_count_of_a_time_limit_is_restored(restore):
    simulator = lake(restore=restore, options=KEPT)
    simulator.reset(3)
    for _ in range(2):
        simulator.step(0)
    snapshot = simulator.snapshot()
    assert simulator.env._elapsed_steps == 2
    simulator.step(0)
    simulator.reset(4)
    simulator.restore(snapshot, 0)
    assert simulator.env._elapsed_steps == 2


def test_a_time_limit_is_removed_wherever_it_is_unless_the_option_keeps_it():
    def make():
        return wrappers.RecordEpisodeStatistics(gym.make("CliffWalking-v1", max_episode_steps=3))

    def simulator(**given):
        return gymnasium_problem(make, odd.VOCABULARY, lambda _: [], lambda _: 0, **given).simulator

    free, kept = simulator(), simulator(options=KEPT)
    for _ in range(3):
        assert not free.step(0).truncated
        seen = kept.step(0)
    assert seen.truncated
    assert not seen.terminated
    assert not kept.actions()
    assert free.actions()
    assert "TimeLimit" not in str(free.env)
    assert "the time limit of 3 steps was removed" in free.notes()[0]
    assert kept.notes() == []


@pytest.mark.parametrize(
    "wrap",
    [
        lambda env: wrappers.StickyAction(env, 0.5),
        lambda env: wrappers.FrameStackObservation(env, 3),
        lambda env: wrappers.DelayObservation(env, 2),
        lambda env: wrappers.TimeAwareObservation(wrappers.TimeLimit(env, 9), flatten=False),
        wrappers.RecordEpisodeStatistics,
        lambda env: wrappers.TimeLimit(env, 12),
    ],
)
@pytest.mark.parametrize("restore", ["replay", "native"])
def test_values_held_by_wrappers_are_restored(wrap, restore):
    problem = gymnasium_problem(
        lambda: wrap(odd.CorridorWithState(ends=False)),
        odd.VOCABULARY,
        lambda seen, env: [f"at({odd.CELLS[env.cell]})"],
        lambda seen, intent, rng: rng.randrange(2),
        restore=restore,
        options=KEPT,
    )
    assert check_problem(problem) == []


def test_another_environment_replays_a_recipe_to_the_same_position():
    here, there = corridor_problem().simulator, corridor_problem(restore="copy").simulator
    snapshot, seen = walk(here, 3)
    for draw in range(20):  # a chain of restores, each with its own seed
        here.restore(snapshot, draw)
        if not here.actions():
            break
        seen = here.step(draw % 2)
        snapshot = here.snapshot()
    assert there.restore(snapshot, 0) == seen
    assert there.inspect().parts == here.inspect().parts


def test_seeds_without_actions_are_not_recorded():
    simulator = corridor_problem().simulator
    snapshot, _ = walk(simulator, 1)
    for seed in range(5):
        simulator.restore(snapshot, seed)
    assert simulator.snapshot() == snapshot[:-1] + b",[4]]"
    for seed in range(5):
        simulator.restore(simulator.snapshot(), seed)
    assert simulator.snapshot() == snapshot[:-1] + b",[4]]"


class CountingCorridor(odd.Corridor):
    steps = 0

    def step(self, action):
        CountingCorridor.steps += 1
        return super().step(action)


def test_a_copy_is_replayed_once_and_then_kept():
    simulator = corridor_problem(lambda: CountingCorridor(ends=False), restore=Copy(2)).simulator
    positions = [walk(simulator, 10, seed)[0] for seed in range(3)]

    def replayed(position):
        before = CountingCorridor.steps
        simulator.restore(position, 7)
        return CountingCorridor.steps - before

    assert [replayed(positions[0]) for _ in range(3)] == [10, 0, 0]
    simulator.step(0)
    further = simulator.snapshot()
    assert replayed(further) == 1  # from the copy of where it began
    assert replayed(positions[1]) == 10
    assert replayed(positions[2]) == 10
    assert replayed(positions[0]) == 10  # two are kept, and this one was used least recently


def test_steps_after_a_restore_do_not_change_the_copy():
    simulator = corridor_problem(lambda: odd.CorridorThatHandsOutItself(), restore="copy").simulator
    snapshot, _ = walk(simulator, 0)
    for _ in range(3):
        seen = simulator.restore(snapshot, 1)
        assert (seen.observation, simulator.env.unwrapped.trail) == (2, [2])
        simulator.step(1)


def test_a_native_state_that_the_environment_modifies_later_is_restored():
    simulator = corridor_problem(odd.CorridorThatHandsOutItself, restore="native").simulator
    simulator.reset(0)
    snapshot = simulator.snapshot()
    simulator.step(0)
    assert simulator.restore(snapshot, 0).observation == 2


class Uncopied(odd.Corridor):
    def __deepcopy__(self, memo):
        raise TypeError("cannot pickle 'Surface' object")


class Boxes(odd.CorridorWithState):
    """Observations and states of many kinds."""

    def get_state(self):
        return {"cell": np.int64(self.cell), "map": np.eye(3), "bag": ({"a"}, None), 1: [2.5]}


def test_a_native_state_may_be_any_plain_value():
    simulator = corridor_problem(Boxes, restore="native").simulator
    snapshot, seen = walk(simulator, 1)
    simulator.reset(9)
    assert simulator.restore(snapshot, 0) == seen
    assert plain_values.from_bytes(snapshot.removeprefix(b"state "))[0]["bag"] == (
        {"a"},
        None,
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"restore": "pickle"}, "restore must be 'replay' or 'native' or 'copy', not 'pickle'"),
        ({"make": odd.Corridor()}, "give a function that makes the environment"),
        ({"make": odd.OldCorridor}, r"odd_environments.OldCorridor, which is not a gymnasium.Env"),
        ({"policy": 7}, "'int' is not a policy; give a function of"),
        ({"policy": lambda a, b, c, d: 0}, "the policy takes a, b, c, d; it must take observation"),
    ],
)
def test_a_wrong_argument_is_refused_with_a_helpful_message(given, message):
    with pytest.raises(ProblemError, match=message):
        corridor_problem(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"restore": "native"}, r"needs Corridor to have get_state\(\).*Native.of"),
        (
            {"restore": "native", "make": odd.CorridorOfObjects},
            "holds a support.odd_environments.Wind",
        ),
    ],
)
def test_a_missing_native_state_is_refused_with_a_helpful_message(given, message):
    simulator = corridor_problem(**given).simulator
    with pytest.raises(ProblemError, match=message):
        simulator.snapshot()


def test_an_environment_that_cannot_be_copied_is_refused_with_a_helpful_message():
    simulator = corridor_problem(Uncopied, restore="copy").simulator
    with pytest.raises(ProblemError, match=r"cannot be copied .* declare restore=\"replay\""):
        simulator.restore(simulator.snapshot(), 0)


def test_native_needs_both_get_and_put():
    with pytest.raises(ProblemError, match="both get and put"):
        Native(get=lambda env: env.cell)


def test_a_snapshot_of_another_kind_is_refused():
    native = corridor_problem(odd.CorridorWithState, restore="native").simulator
    replaying = corridor_problem(restore=Replay()).simulator
    with pytest.raises(ProblemError, match="does not hold a recipe; was `restore` changed"):
        replaying.restore(native.snapshot(), 0)
    with pytest.raises(ProblemError, match="does not hold a state; was `restore` changed"):
        native.restore(replaying.snapshot(), 0)


def test_the_fingerprint_depends_on_environment_and_restore():
    def made(restore="replay", **given):
        return corridor_problem(lambda: gym.make("FrozenLake-v1", **given), restore=restore)

    prints = [made(), made("copy"), made(is_slippery=False), made(map_name="8x8")]
    assert len({problem.fingerprint for problem in prints}) == 4
    assert made().fingerprint == prints[0].fingerprint
    assert made().name == "FrozenLake-v1"
    assert corridor_problem().name == "Corridor"


def test_without_gymnasium_the_extra_is_named(monkeypatch):
    home = "capscope.adapters.gymnasium"
    for name in [n for n in sys.modules if n == home or n.startswith(f"{home}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(ProblemError, match=re.escape(install_hint("gymnasium"))):
        importlib.import_module(home)
