"""The adapter against minigrid's own environment, deep-copied and inspected object by object."""

import copy
import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from minigrid.core.actions import Actions
from minigrid.minigrid_env import MiniGridEnv

from capscope.errors import ProblemError
from capscope.logic import Atom
from capscope.problem import InvalidAction
from capscope.problems import restore_elsewhere
from capscope_worlds import install_hint
from capscope_worlds.minigrid import (
    ACTIONS,
    FOUR_QUADRANTS,
    Cell,
    GridAbstraction,
    grid_simulator,
    read_layout,
)
from support.processes import SECONDS

LAYOUT = read_layout(FOUR_QUADRANTS)
SIMULATOR = grid_simulator(LAYOUT)
VOCABULARY = GridAbstraction(LAYOUT)

TO_THE_KEY = "face_south " + "move_forward " * 5 + "face_west pickup"
TO_THE_BLUE_DOOR = "face_north " + "move_forward " * 5 + "face_east move_forward"
WAYS = {
    "start": "",
    "beside the key": TO_THE_KEY.removesuffix(" pickup"),
    "key": TO_THE_KEY,
    "locked door": f"{TO_THE_KEY} {TO_THE_BLUE_DOOR}",
    "open door": f"{TO_THE_KEY} {TO_THE_BLUE_DOOR} toggle",
    "closed door": f"{TO_THE_KEY} {TO_THE_BLUE_DOOR} toggle toggle",
    "doorway": f"{TO_THE_KEY} {TO_THE_BLUE_DOOR} toggle move_forward",
    "lava": "face_south " + "move_forward " * 4 + "face_west move_forward",
}


def go(simulator, way):
    """Take the actions of a way from the start; return the last observation."""
    seen = simulator.reset(0)
    for action in way.split():
        seen = simulator.step(action)
    return seen


def atoms(seen):
    return {str(atom) for atom in VOCABULARY.vocabulary.holding(VOCABULARY(seen))}


def test_the_key_opens_the_blue_door_and_can_close_it_again():
    assert "blue-door-locked()" in atoms(go(SIMULATOR, WAYS["locked door"]))
    opened = go(SIMULATOR, WAYS["open door"])
    assert atoms(opened) == {
        "agent-at(north-west)",
        "carrying-blue-key()",
        "blue-door-open()",
        "green-door-locked()",
    }
    closed = go(SIMULATOR, WAYS["closed door"])
    assert atoms(closed) == atoms(opened) - {"blue-door-open()"} | {"blue-door-closed()"}


def test_a_locked_door_does_not_open_without_its_key():
    at_blue = "face_east move_forward toggle move_forward"
    assert go(SIMULATOR, at_blue).position == Cell(3, 4)
    assert "blue-door-locked()" in atoms(go(SIMULATOR, at_blue))
    at_green = f"{TO_THE_KEY} face_north move_forward face_east move_forward toggle move_forward"
    seen = go(SIMULATOR, at_green)
    assert seen.position == Cell(7, 4)
    assert {"green-door-locked()", "carrying-blue-key()"} <= atoms(seen)


def test_lava_kills_and_leaves_no_actions():
    seen = go(SIMULATOR, WAYS["lava"])
    assert seen.dead
    assert {"is-dead()", "agent-at(south-west)"} <= atoms(seen)
    assert list(SIMULATOR.actions()) == []
    with pytest.raises(InvalidAction, match="the agent is dead"):
        SIMULATOR.step("face_north")
    dead = SIMULATOR.snapshot()
    assert SIMULATOR.reset(0).dead is False
    assert SIMULATOR.actions() == ACTIONS
    assert SIMULATOR.restore(dead, 0).dead
    assert list(SIMULATOR.actions()) == []


def test_a_key_cannot_be_dropped():
    go(SIMULATOR, WAYS["key"])
    with pytest.raises(InvalidAction, match="'drop' is not an action"):
        SIMULATOR.step("drop")
    chooser = random.Random(3)
    while SIMULATOR.actions():
        assert SIMULATOR.step(chooser.choice(SIMULATOR.actions())).carrying == "blue"


@pytest.mark.parametrize("action", ["done", "left", "", 2, None, ["toggle"]])
def test_anything_else_is_an_invalid_action_and_changes_nothing(action):
    before = go(SIMULATOR, WAYS["doorway"])
    snapshot = SIMULATOR.snapshot()
    with pytest.raises(InvalidAction, match="is not an action"):
        SIMULATOR.step(action)
    assert SIMULATOR.restore(snapshot, 0) == before


def look_into(env):
    """Return the atoms that hold according to minigrid's own objects."""
    atoms = set()
    for x in range(env.width):
        for y in range(env.height):
            thing = env.grid.get(x, y)
            room = LAYOUT.room_of.get(Cell(y + 1, x + 1))
            if (x, y) == tuple(env.agent_pos):
                atoms.add(Atom("agent-at", (room,)))
                if thing is not None and thing.type == "lava":
                    atoms.add(Atom("is-dead"))
            if thing is not None and thing.type == "key":
                atoms.add(Atom(f"{thing.color}-key-at", (room,)))
            if thing is not None and thing.type == "door":
                state = "open" if thing.is_open else "locked" if thing.is_locked else "closed"
                atoms.add(Atom(f"{thing.color}-door-{state}"))
    if env.carrying is not None:
        atoms.add(Atom(f"carrying-{env.carrying.color}-key"))
    return atoms


def turned(env, facing):
    """Turn a deep copy to a direction by minigrid's own actions."""
    env = copy.deepcopy(env)
    while env.agent_dir != facing:
        env.step(Actions.right)
    return env


class TwinWorld(type(SIMULATOR.world)):
    """minigrid's environment unchanged: with rendered views and its own `front_pos`."""

    gen_obs = MiniGridEnv.gen_obs
    front_pos = MiniGridEnv.front_pos


OWN = {
    "move_forward": Actions.forward,
    "pickup": Actions.pickup,
    "toggle": Actions.toggle,
}


@given(st.sampled_from(sorted(WAYS)), st.lists(st.sampled_from(ACTIONS), max_size=25))
def test_every_step_does_what_minigrid_does(way, actions):
    simulator = grid_simulator(LAYOUT)
    twin = TwinWorld(LAYOUT)
    twin.reset(seed=0)
    seen = simulator.reset(0)
    for action in [*WAYS[way].split(), *actions]:
        if not simulator.actions():
            break
        seen = simulator.step(action)
        if action in OWN:
            _, _, terminated, _, _ = twin.step(OWN[action])
            assert terminated == (not simulator.actions())
        else:
            direction = ["face_east", "face_south", "face_west", "face_north"].index(action)
            twin = turned(twin, direction)
    assert set(VOCABULARY.vocabulary.holding(VOCABULARY(seen))) == look_into(twin)
    assert seen.position == (twin.agent_pos[1] + 1, twin.agent_pos[0] + 1)
    assert seen.facing == ["east", "south", "west", "north"][twin.agent_dir]
    assert simulator.world.grid == twin.grid


@given(
    st.sampled_from(sorted(WAYS)),
    st.lists(st.sampled_from(ACTIONS), max_size=15),
    st.lists(st.sampled_from(ACTIONS), max_size=15),
    st.integers(0, 2**64 - 1),
)
def test_a_restored_snapshot_has_the_future_of_a_deep_copy(way, before, after, seed):
    simulator = grid_simulator(LAYOUT)
    there = go(simulator, WAYS[way])
    for action in before:
        if simulator.actions():
            there = simulator.step(action)
    snapshot, twin = simulator.snapshot(), copy.deepcopy(simulator)
    go(simulator, WAYS[("start", "open door")[seed % 2]])
    assert simulator.restore(snapshot, seed) == there
    assert simulator.snapshot() == snapshot
    for action in after:
        assert simulator.actions() == twin.actions()
        if simulator.actions():
            assert simulator.step(action) == twin.step(action)
    assert simulator.world.grid == twin.world.grid
    assert simulator.snapshot() == twin.snapshot()


def test_a_snapshot_takes_a_few_bytes_and_another_process_restores_it():
    visits = {}
    for name, way in WAYS.items():
        state = VOCABULARY(go(SIMULATOR, way))
        visits[name] = (SIMULATOR.snapshot(), state)
    snapshots = [snapshot for snapshot, _ in visits.values()]
    assert {len(snapshot) for snapshot in snapshots} == {7}
    assert len(set(snapshots)) == len(WAYS)
    states = [state for _, state in visits.values()]
    assert restore_elsewhere("minigrid-q", snapshots) == states


def test_a_snapshot_of_another_grid_is_refused():
    with pytest.raises(
        ProblemError, match="a snapshot of 3 bytes does not belong to four-quadrants"
    ):
        SIMULATOR.restore(b"\1\1\0", 0)


def test_a_picture_is_rendered_by_minigrid_and_does_not_change_the_position():
    pygame = pytest.importorskip("pygame")
    go(SIMULATOR, WAYS["lava"])
    dead = SIMULATOR.snapshot()
    here = go(SIMULATOR, WAYS["open door"])
    picture = SIMULATOR.picture(dead, tile_pixels=16)
    assert SIMULATOR.restore(SIMULATOR.snapshot(), 0) == here
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert picture == SIMULATOR.picture(dead, tile_pixels=16)
    assert picture != SIMULATOR.picture(SIMULATOR.snapshot(), tile_pixels=16)
    import io

    shown = pygame.surfarray.array3d(pygame.image.load(io.BytesIO(picture), "dead.png"))
    env = copy.deepcopy(SIMULATOR.world)
    env.agent_pos, env.agent_dir, env.carrying = (1, 6), 2, None
    for door in env.doors:
        door.is_open, door.is_locked = False, True
    env.put_obj(env.keys[0], 1, 7)
    assert (shown.swapaxes(0, 1) == env.get_full_render(highlight=False, tile_size=16)).all()


def test_layouts_and_vocabularies_do_not_need_minigrid():
    code = """
import sys
sys.modules["minigrid"] = None
from capscope_worlds.minigrid import *
from capscope.errors import ProblemError
from capscope_worlds import install_hint
import capscope_worlds.grid_q, capscope.problems
layout = read_layout(FOUR_QUADRANTS)
assert len(GridAbstraction(layout).vocabulary.atoms) == 16
try:
    grid_simulator(layout)
except ProblemError as error:
    print(error)
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS)
    assert done.stdout.strip() == f"grids need minigrid: {install_hint('minigrid')}"
