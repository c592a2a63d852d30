"""Assess a policy of your own in Crafter: it walks in circles, whatever it is asked for.

capscope check examples/walker.py:problem
capscope assess examples/walker.py:problem --max-executions 500
"""

from capscope import Limits, Problem
from capscope_worlds.crafter import (
    CrafterAbstraction,
    crafter_simulator,
    read_map,
    shipped_maps,
)


class Walker:
    """Walks in circles and cuts every tree that it meets, whatever it is asked for."""

    def begin(self, intent, seed):
        return self

    def act(self, observation):
        (dx, dy), x, y = observation.facing, observation.x, observation.y
        if observation.material(x + dx, y + dy) == "tree":
            return "do"
        if observation.material(x + dx, y + dy) in ("grass", "sand", "path"):
            return {(1, 0): "move_right", (-1, 0): "move_left", (0, 1): "move_down"}.get(
                observation.facing, "move_up"
            )
        return {(1, 0): "move_down", (0, 1): "move_left", (-1, 0): "move_up"}.get(
            observation.facing, "move_right"
        )


def problem():
    meadow = read_map(shipped_maps()["meadow"])
    return Problem(
        name="walker",
        simulator=crafter_simulator(meadow),
        agent=Walker(),
        abstraction=CrafterAbstraction(meadow),
        limits=Limits(temporal_length=1, horizon=15),
    )
