"""How fast is the MiniGrid adapter, and how much cheaper are its snapshots than deep copies?

A random walk through the four quadrants, by the adapter with its abstraction and by plain minigrid,
which renders the agent's view at each step; snapshot and restore against `copy.deepcopy` of
minigrid's environment; and the actions of the learned agent.
"""

from __future__ import annotations

import copy
import random
import time
from collections.abc import Callable

from minigrid.minigrid_env import MiniGridEnv

from capscope.logic import Intent
from capscope.problem import Position, Problem
from capscope.problem.attempt import pursue
from capscope.problems import load_problem
from capscope_worlds.minigrid.simulator import GridSimulator, GridWorld

WALK = 5000


class PlainWorld(GridWorld):
    """Plain minigrid."""

    gen_obs = MiniGridEnv.gen_obs
    front_pos = MiniGridEnv.front_pos


def measure(rounds: int = 5) -> dict[str, float]:
    """Return rates and costs, each the best of several rounds."""
    problem = load_problem("minigrid-q")
    simulator = problem.simulator
    assert isinstance(simulator, GridSimulator)
    plain = PlainWorld(simulator.layout)
    plain.reset(seed=0)
    simulator.reset(0)
    snapshot = simulator.snapshot()
    variants: dict[str, Callable[[int], int]] = {
        "step": lambda seed: walk(problem, seed),
        "plain step": lambda seed: plain_walk(plain, seed),
        "snapshot": lambda _: repeat(2000, simulator.snapshot),
        "restore": lambda _: repeat(2000, lambda: simulator.restore(snapshot, 0)),
        "deepcopy": lambda _: repeat(50, lambda: copy.deepcopy(simulator.world)),
        "action": lambda seed: act(problem, seed),
    }
    best = dict.fromkeys(variants, float("inf"))
    # In turn, so that a slow moment of the machine affects all of them.
    for seed in range(rounds):
        for name, variant in variants.items():
            started = time.process_time()
            done = variant(seed)
            best[name] = min(best[name], (time.process_time() - started) / done)
    return {
        "minigrid: steps per second": 1 / best["step"],
        "minigrid: steps per second of plain minigrid": 1 / best["plain step"],
        "minigrid: snapshot, µs": 1e6 * best["snapshot"],
        "minigrid: restore, µs": 1e6 * best["restore"],
        "minigrid: deep copy, µs": 1e6 * best["deepcopy"],
        "minigrid: deep copy to snapshot, ratio": best["deepcopy"] / best["snapshot"],
        "minigrid: deep copy to restore, ratio": best["deepcopy"] / best["restore"],
        "minigrid: steps per second of the learned agent": 1 / best["action"],
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


def plain_walk(world: PlainWorld, seed: int) -> int:
    pick = random.Random(seed).random
    world.reset(seed=seed)
    for _ in range(WALK // 20):
        # Left, right, forward, pickup, toggle.
        if world.step((0, 1, 2, 3, 5)[int(pick() * 5)])[2]:
            world.reset(seed=seed)
    return WALK // 20


def act(problem: Problem, seed: int) -> int:
    """Pursue a distant intent: each step is one of agent, simulator and abstraction."""
    steps, intent = 0, Intent.parse("agent-at(south-east)")
    while steps < WALK:
        seen = problem.simulator.reset(0)
        start = Position(seen, problem.abstraction(seen))
        steps += pursue(problem, intent, start, seed + steps)[0].simulator_steps
    return steps
