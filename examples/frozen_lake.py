"""Assess a Gymnasium agent: a planner on the slippery ice of FrozenLake.

capscope check examples/frozen_lake.py:problem
capscope assess examples/frozen_lake.py:problem --max-executions 5000
capscope show runs/frozen_lake-problem-adaptive-0 'at(r3c3)'

On ice, one move in three goes where it should; the others slip to either side.
"""

from functools import cache

import gymnasium as gym

from capscope import Predicate, Vocabulary
from capscope.adapters.gymnasium import gymnasium_problem

LAKE = gym.make("FrozenLake-v1").unwrapped
CELLS = [f"r{row}c{column}" for row in range(LAKE.nrow) for column in range(LAKE.ncol)]
VOCABULARY = Vocabulary(
    [Predicate("at", ("cell",)), Predicate("drowned")],
    dict.fromkeys(CELLS, "cell"),
    distinct_types=["cell"],  # neighbours matter: no cell is like another
)


def label(cell):
    """Return the atoms that hold: the cell, and whether it is a hole."""
    here = [f"at({CELLS[cell]})"]
    return [*here, "drowned"] if LAKE.desc.flat[cell] == b"H" else here


@cache
def plan(intent):
    """Find the best action in each cell by value iteration: the agent knows the ice."""
    wanted = {cell for cell in LAKE.P if intent.holds(VOCABULARY.state(label(cell)), VOCABULARY)}
    values = dict.fromkeys(LAKE.P, 0.0)

    def worth(cell, action):
        return sum(
            p * (1.0 if to in wanted else 0.0 if over else 0.99 * values[to])
            for p, to, _, over in LAKE.P[cell][action]
        )

    for _ in range(50):
        values = {cell: max(worth(cell, action) for action in range(4)) for cell in LAKE.P}
    return {cell: max(range(4), key=lambda action: worth(cell, action)) for cell in LAKE.P}


def problem():
    """Make the problem; an attempt ends when the agent has reached another cell."""
    return gymnasium_problem(
        make=lambda: gym.make("FrozenLake-v1", is_slippery=True),
        vocabulary=VOCABULARY,
        label=label,
        policy=lambda observation, intent: plan(intent)[observation],
        restore="replay",
    )
