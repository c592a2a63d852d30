"""How fast is a grid through the adapter, and how much cheaper are its snapshots than deep copies?

A random walk through the four quadrants, by the adapter with its words and by minigrid as it comes,
which draws the agent's view at each step; snapshot and restore against `copy.deepcopy` of
minigrid's environment; and the actions of the learned agent.
"""

from __future__ import annotations

import copy
import random
import time
from collections.abc import Callable

from minigrid.minigrid_env import MiniGridEnv

from capscope.environments.minigrid.simulator import GridSimulator, GridWorld
from capscope.problems import load_problem
from capscope.symbolic import Intent
from capscope.world import Position, Problem
from capscope.world.attempt import pursue

ROUNDS = 5
WALK = 5000


class DrawnWorld(GridWorld):
    """minigrid as it comes."""

    gen_obs = MiniGridEnv.gen_obs
    front_pos = MiniGridEnv.front_pos


def measure() -> dict[str, float]:
    """Return rates and costs, each the best of several rounds taken in turns."""
    problem = load_problem("minigrid-q")
    simulator = problem.simulator
    assert isinstance(simulator, GridSimulator)
    drawn = DrawnWorld(simulator.layout)
    drawn.reset(seed=0)
    simulator.reset(0)
    snapshot = simulator.snapshot()
    ways: dict[str, Callable[[int], int]] = {
        "step": lambda seed: walk(problem, seed),
        "drawn step": lambda seed: drawn_walk(drawn, seed),
        "snapshot": lambda _: repeat(2000, simulator.snapshot),
        "restore": lambda _: repeat(2000, lambda: simulator.restore(snapshot, 0)),
        "deepcopy": lambda _: repeat(50, lambda: copy.deepcopy(simulator.world)),
        "action": lambda seed: act(problem, seed),
    }
    best = dict.fromkeys(ways, float("inf"))
    # In turns, so that a slow moment of the machine hits all of them.
    for seed in range(ROUNDS):
        for name, way in ways.items():
            begun = time.process_time()
            done = way(seed)
            best[name] = min(best[name], (time.process_time() - begun) / done)
    return {
        "grid_steps_per_second": 1 / best["step"],
        "grid_steps_per_second_of_minigrid_as_it_comes": 1 / best["drawn step"],
        "grid_snapshot_microseconds": 1e6 * best["snapshot"],
        "grid_restore_microseconds": 1e6 * best["restore"],
        "grid_deepcopy_microseconds": 1e6 * best["deepcopy"],
        "grid_deepcopy_over_snapshot": best["deepcopy"] / best["snapshot"],
        "grid_deepcopy_over_restore": best["deepcopy"] / best["restore"],
        "grid_agent_steps_per_second": 1 / best["action"],
    }


def repeat(times: int, do: Callable[[], object]) -> int:
    for _ in range(times):
        do()
    return times


def walk(problem: Problem, seed: int) -> int:
    pick, simulator = random.Random(seed).random, problem.simulator
    simulator.reset(seed)
    for _ in range(WALK):
        actions = simulator.actions()
        if not actions:
            simulator.reset(seed)
            actions = simulator.actions()
        problem.abstraction(simulator.step(actions[int(pick() * len(actions))]))
    return WALK


def drawn_walk(world: DrawnWorld, seed: int) -> int:
    pick = random.Random(seed).random
    world.reset(seed=seed)
    for _ in range(WALK // 20):
        # Left, right, forward, pickup, toggle.
        if world.step((0, 1, 2, 3, 5)[int(pick() * 5)])[2]:
            world.reset(seed=seed)
    return WALK // 20


def act(problem: Problem, seed: int) -> int:
    """Pursue what takes long, from the beginning: a step of the agent, the world and the words."""
    steps, intent = 0, Intent.parse("agent-at(south-east)")
    while steps < WALK:
        seen = problem.simulator.reset(0)
        start = Position(seen, problem.abstraction(seen))
        steps += pursue(problem, intent, start, seed + steps)[0].simulator_steps
    return steps


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name:46} {value:12,.1f}")
