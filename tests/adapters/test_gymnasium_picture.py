"""Positions of an environment that renders to pixels can be drawn."""

import io

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from capscope.problem import picture_of
from capscope.problem.positions import png
from support import odd_environments as odd
from support.odd_environments import corridor_problem


def read_back(data):
    pygame = pytest.importorskip("pygame")
    surface = pygame.image.load(io.BytesIO(data), "it.png")
    return pygame.surfarray.array3d(surface).swapaxes(0, 1)


@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (64, 64)])
def test_a_picture_shows_the_pixels(shape):
    pixels = np.random.default_rng(0).integers(0, 256, (*shape, 3), np.uint8)
    np.testing.assert_array_equal(read_back(png(pixels)), pixels)


@pytest.mark.parametrize("restore", ["replay", "copy", "native"])
def test_a_position_is_drawn_without_disturbing_the_run(restore):
    simulator = corridor_problem(odd.DrawnCorridor, restore=restore).simulator
    snapshots = {}
    for seed in range(20):
        seen = simulator.reset(seed)
        for action in (0, 1):
            if simulator.actions():
                seen = simulator.step(action)
        snapshots[seen.observation] = simulator.snapshot()
    before = simulator.inspect()
    for cell, snapshot in snapshots.items():
        lit = np.flatnonzero(read_back(simulator.picture(snapshot))[0, :, 0])
        assert lit.tolist() == [cell]
    assert simulator.inspect() == before
    assert len(snapshots) > 2


def test_an_environment_without_rgb_rendering_has_no_picture():
    assert picture_of(corridor_problem()) is None
    assert picture_of(corridor_problem(odd.DrawnCorridor)) is not None


def test_frozen_lake_can_be_drawn():
    pytest.importorskip("pygame")

    def make():
        return odd.gym.make("FrozenLake-v1", render_mode="rgb_array")

    for restore in ("replay", "copy"):
        simulator = corridor_problem(make, restore=restore).simulator
        pictures = set()
        for seed in range(10):
            simulator.reset(seed)
            simulator.step(1)
            pictures.add(simulator.picture(simulator.snapshot()))
            simulator.restore(simulator.snapshot(), 0)
        assert len(pictures) == 3
