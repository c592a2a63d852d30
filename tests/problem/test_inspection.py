import random

import numpy as np
import pytest

from capscope.problem.checks import check_problem
from capscope.problem.inspection import drawn_since, global_generators
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
def test_only_draws_from_global_generators_are_reported(draw, named):
    before = global_generators()
    draw()
    assert drawn_since(before) == named


class BoardWithGlobalRandomness(toy.Board):
    def step(self, action):
        return super().step(action if random.random() < 0.5 else "wait")


class SometimesIdle(toy.Presser):
    def begin(self, intent, seed):
        return super().begin(intent, seed) if random.random() < 0.5 else toy.Reading(toy.Scripted())


def test_the_global_generator_that_a_simulator_uses_is_named():
    (failure,) = check_problem(toy.board_problem(BoardWithGlobalRandomness()))
    assert failure.check == "randomness"
    assert "draws from Python's global random" in failure.message


def test_the_global_generator_that_an_agent_uses_is_named():
    # Without a fixed seed the draws might repeat by accident, and nothing would be found.
    random.seed(1)
    (failure,) = check_problem(toy.board_problem(agent=SometimesIdle()))
    assert failure.check == "agent"
    assert "it draws from Python's global random" in failure.message
