"""The predicates of the table, at poses written down by hand."""

import numpy as np
import pytest

from capscope.errors import ProblemError
from capscope_worlds.tabletop import TableAbstraction, table_vocabulary
from capscope_worlds.tabletop.poses import THINGS, from_snapshot, random_layout, to_snapshot
from capscope_worlds.tabletop.predicates import atoms_of

APART = {
    "red": (-0.1, -0.1), "blue": (-0.1, 0.1), "green": (0.05, -0.1), "yellow": (0.05, 0.1),
    "cup": (0, 0),
}  # fmt: skip


def table(**moved):
    """Return poses in which everything stands apart on the table, but for what is moved."""
    rows = [(*APART[name], 0.0 if name == "cup" else 0.02, 1, 0, 0, 0) for name in THINGS]
    poses = np.array(rows, dtype=float)
    for name, pose in moved.items():
        poses[THINGS.index(name), : len(pose)] = pose
    return poses


def said(poses, *predicates):
    return {str(atom) for atom in atoms_of(poses) if atom.predicate in predicates}


def test_blocks_that_stand_apart_are_on_the_table_and_everything_is_clear():
    assert {str(atom) for atom in atoms_of(table())} == {
        *(f"on-table({name})" for name in THINGS[:-1]),
        *(f"clear({name})" for name in THINGS),
    }


def test_a_block_above_another_is_on_it_and_the_other_is_not_clear():
    poses = table(green=(0.055, 0.11, 0.061))
    assert said(poses, "on") == {"on(green,yellow)"}
    assert "clear(yellow)" not in said(poses, "clear")
    assert "on-table(green)" not in said(poses, "on-table")


def test_of_two_blocks_below_the_nearer_one_counts():
    poses = table(red=(0.0, 0.0, 0.06), cup=(-0.1, 0), blue=(-0.015, 0), yellow=(0.025, 0))
    assert said(poses, "on") == {"on(red,blue)"}


@pytest.mark.parametrize("offset", [(0.031, 0, 0.04), (0, 0, 0.06), (0, 0, 0.02)])
def test_a_block_that_is_too_far_aside_or_at_another_height_is_not_on_the_other(offset):
    assert said(table(red=(-0.1 + offset[0], 0.1 + offset[1], 0.02 + offset[2])), "on") == set()


def test_a_block_in_the_cup_is_on_it_also_if_the_cup_was_turned():
    turned = (0, 0, 0, np.cos(0.4), 0, 0, np.sin(0.4))
    for cup in ((0, 0, 0), turned):
        poses = table(red=(0.005, 0, 0.026), cup=cup)
        assert said(poses, "on") == {"on(red,cup)"}
        assert "on-table(red)" not in said(poses, "on-table")
        assert "clear(cup)" not in said(poses, "clear")


def test_a_block_on_the_rim_of_the_cup_is_nowhere():
    poses = table(red=(0.034, 0, 0.066))
    assert "red" not in " ".join(said(poses, "on", "on-table"))


def test_a_block_that_leans_on_another_is_on_the_table():
    tilted = (np.cos(np.pi / 8), 0, np.sin(np.pi / 8), 0)
    poses = table(red=(-0.1, 0.145, 0.0283, *tilted))
    assert "on-table(red)" in said(poses, "on-table")


def test_what_fell_off_is_gone_and_neither_clear_nor_on_anything():
    poses = table(red=(0.4, 0, -0.2), cup=(0.4, 0.1, -3))
    assert said(poses, "gone") == {"gone(red)", "gone(cup)"}
    assert not {"clear(red)", "clear(cup)", "on-table(red)"} & {str(a) for a in atoms_of(poses)}


def test_a_snapshot_is_small_and_leads_back_to_itself():
    for seed in range(20):
        snapshot = to_snapshot(random_layout(seed))
        assert len(snapshot) < 500
        assert to_snapshot(from_snapshot(snapshot)) == snapshot


def test_wherever_a_thing_fell_its_position_is_the_same():
    one, other = (to_snapshot(table(red=(x, 0.3, -x))) for x in (0.4, 2.7))
    assert one == other


def test_a_snapshot_of_something_else_is_refused():
    with pytest.raises(ProblemError, match="a snapshot of 7 bytes is not of this table"):
        from_snapshot(b"1234567")


def test_layouts_keep_everything_apart_and_vary_with_the_seed():
    layouts = [random_layout(seed) for seed in range(50)]
    assert len({to_snapshot(poses) for poses in layouts}) == 50
    for poses in layouts:
        gaps = np.linalg.norm(poses[:, None, :2] - poses[None, :, :2], axis=2)
        assert np.min(gaps[~np.eye(len(THINGS), dtype=bool)]) > 0.1
        assert not said(poses, "on", "gone")


def test_the_abstraction_sets_the_bits_of_the_atoms_that_hold():
    class Seen:
        snapshot = to_snapshot(table(green=(0.05, 0.1, 0.06)))

    state = TableAbstraction()(Seen())
    assert set(table_vocabulary().holding(state)) == set(atoms_of(from_snapshot(Seen.snapshot)))
