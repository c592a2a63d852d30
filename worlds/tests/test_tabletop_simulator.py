"""The physics of the table: what the primitive takes along, and that positions repeat exactly."""

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from capscope.errors import ProblemError
from capscope.problem import InvalidAction
from capscope.problems import restore_elsewhere
from capscope_worlds import install_hint
from capscope_worlds.tabletop import SKILLS, THINGS, TableAbstraction, tabletop_simulator
from capscope_worlds.tabletop.gripper import Gripper, table_model
from capscope_worlds.tabletop.poses import from_snapshot, random_layout, to_snapshot
from capscope_worlds.tabletop.predicates import atoms_of
from support.processes import SECONDS

SIMULATOR = tabletop_simulator()
ABSTRACTION = TableAbstraction()
GRIPPER = Gripper(table_model())


def standing(poses):
    return {str(atom) for atom in atoms_of(poses) if atom.predicate in ("on", "gone")}


def moved(poses, block, target, miss=(0, 0)):
    """Pick at the true place of one thing and place at that of another."""
    places = {name: tuple(poses[i, :2]) for i, name in enumerate(THINGS)}
    place = tuple(np.add(places[target], miss)) if isinstance(target, str) else target
    after = GRIPPER.pick_and_place(poses, places[block], place)
    return from_snapshot(to_snapshot(after))


def test_a_block_is_put_on_another():
    outcomes = Counter(
        frozenset(standing(moved(random_layout(seed), "green", "yellow"))) for seed in range(12)
    )
    assert outcomes[frozenset({"on(green,yellow)"})] >= 11


def test_a_block_is_put_into_the_cup():
    assert standing(moved(random_layout(1), "red", "cup")) == {"on(red,cup)"}


@pytest.mark.parametrize("asked", ["green", "yellow"])
def test_a_block_on_or_under_another_comes_with_its_tower(asked):
    lifted = 0
    for seed in range(8):
        stacked = moved(random_layout(seed), "green", "yellow")
        lifted += standing(moved(stacked, asked, "red")) == {"on(green,yellow)", "on(yellow,red)"}
    assert lifted >= 7


def test_a_block_placed_half_beyond_the_edge_falls_off_and_is_gone():
    assert standing(moved(random_layout(2), "blue", (0.232, 0.0))) == {"gone(blue)"}


def test_a_block_placed_carelessly_at_the_edge_falls_or_pushes_another_off():
    at_edge = moved(random_layout(2), "blue", (0.205, 0.0))
    assert standing(at_edge) == set()
    assert {"gone(red)", "gone(blue)"} & standing(moved(at_edge, "red", "blue", (0.024, 0.0)))


def test_picking_where_nothing_is_moves_nothing():
    poses = from_snapshot(to_snapshot(GRIPPER.settle(random_layout(3))))
    after = GRIPPER.pick_and_place(poses, (0.2, -0.2), (0.2, 0.2))
    assert np.abs(after - poses).max() < 1e-4


def test_what_lies_still_stays_where_it_is():
    poses = GRIPPER.settle(moved(random_layout(4), "green", "yellow"))
    for _ in range(5):
        again = from_snapshot(to_snapshot(GRIPPER.settle(poses)))
        assert np.abs(again - poses).max() < 2e-4
        poses = again


def walk(simulator, seed, steps):
    """Return the snapshots of a random walk."""
    rng = random.Random(seed)
    simulator.reset(seed)
    snapshots = [simulator.snapshot()]
    for _ in range(steps):
        simulator.step(rng.choice(simulator.actions()))
        snapshots.append(simulator.snapshot())
    return snapshots


def test_a_restored_position_repeats_bit_for_bit():
    for number, snapshot in enumerate(walk(SIMULATOR, 7, 12)):
        skill = random.Random(number).choice(list(SKILLS))
        ends = []
        for detour in (0, 2):
            walk(SIMULATOR, number, detour)
            SIMULATOR.restore(snapshot, 5)
            seen = SIMULATOR.step(skill)
            ends.append((seen.snapshot, seen.view.tobytes(), tuple(seen.affordances.items())))
        assert ends[0] == ends[1]


def test_another_process_walks_the_same_way():
    code = (
        "from test_tabletop_simulator import *\n"
        "print(b''.join(walk(tabletop_simulator(), 3, 10)).hex())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        # The rest of the environment may choose the kernels of NumPy, whose last digits differ.
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)]),
        },
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == b"".join(walk(SIMULATOR, 3, 10)).hex()


def test_snapshots_can_be_restored_in_another_process():
    snapshots = walk(SIMULATOR, 4, 6)
    states = [ABSTRACTION(SIMULATOR.restore(snapshot, 0)) for snapshot in snapshots]
    assert restore_elsewhere("tabletop-affordance", snapshots) == states


def test_the_seed_of_a_restore_changes_the_view_and_where_the_hand_goes():
    SIMULATOR.reset(0)
    start = SIMULATOR.snapshot()
    views, ends = set(), set()
    for seed in range(4):
        views.add(SIMULATOR.restore(start, seed).view.tobytes())
        assert SIMULATOR.snapshot() == start
        ends.add(SIMULATOR.step("put the red block on the blue block").snapshot)
    assert len(views) == len(ends) == 4


def test_an_unknown_skill_is_an_invalid_action():
    SIMULATOR.reset(0)
    with pytest.raises(InvalidAction, match="'fly' is not a skill; one is 'put the red block"):
        SIMULATOR.step("fly")


def test_a_picture_is_a_png_and_leaves_the_simulator_where_it_is():
    there = walk(SIMULATOR, 1, 2)[-1]
    SIMULATOR.reset(9)
    here = SIMULATOR.snapshot()
    picture = SIMULATOR.picture(there)
    assert picture.startswith(b"\x89PNG")
    assert picture != SIMULATOR.picture(here)
    assert SIMULATOR.snapshot() == here


def test_without_mujoco_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    for name in ("simulator", "camera", "gripper"):
        monkeypatch.delitem(sys.modules, f"capscope_worlds.tabletop.{name}", raising=False)
    with pytest.raises(ProblemError) as raised:
        tabletop_simulator()
    assert install_hint("tabletop") in str(raised.value)
