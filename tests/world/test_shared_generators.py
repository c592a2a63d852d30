import random

import numpy as np
import pytest

from capscope.world import check_problem
from capscope.world.shared_generators import SharedGenerators
from support import toy_worlds as toy


@pytest.mark.parametrize(
    ("draw", "named"),
    [
        (random.random, ["Python's global random"]),
        (np.random.random, ["NumPy's global np.random"]),
        (random.Random(0).random, []),
        (np.random.default_rng(0).random, []),
    ],
)
def test_only_a_draw_from_a_shared_generator_shows(draw, named):
    before = SharedGenerators.now()
    draw()
    assert SharedGenerators.now().drawn_since(before) == named


class BoardWithGlobalChance(toy.Board):
    def step(self, action):
        return super().step(action if random.random() < 0.5 else "wait")


class Fidgety(toy.Presser):
    def begin(self, intent, seed):
        return super().begin(intent, seed) if random.random() < 0.5 else toy.Reading(toy.Scripted())


def test_a_world_with_global_chance_is_told_from_where_it_draws():
    (finding,) = check_problem(toy.board_problem(BoardWithGlobalChance()))
    assert finding.check == "chance"
    assert "draws from Python's global random" in finding.message


def test_an_agent_with_global_chance_is_told_from_where_it_draws():
    # Chance that nobody seeds may happen to repeat itself, and then there is nothing to find.
    random.seed(1)
    (finding,) = check_problem(toy.board_problem(agent=Fidgety()))
    assert finding.check == "agent"
    assert "it draws from Python's global random" in finding.message
