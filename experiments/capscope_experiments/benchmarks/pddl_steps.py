"""How much faster are compiled operators than interpreting the domain at each step?

A random walk through first responders, three times: with the simulator as it is, without its cache
of applicable operators, and with plado's own generators of applicable actions and successors. A
step lists the applicable actions, picks one, and samples its successor.
"""

from __future__ import annotations

import bisect
import itertools
import random
import time
from collections.abc import Callable
from typing import Any

from plado.parser import parse_and_normalize
from plado.semantics.applicable_actions_generator import ApplicableActionsGenerator
from plado.semantics.successor_generator import SuccessorGenerator
from plado.semantics.task import Task

from capscope.adapters.pddl import PddlSimulator, load_task, shipped_files

PROBLEM = "first-responders"
WALK = 1000


def measure(seconds: float = 1.0) -> dict[str, float]:
    """Return steps per second of each variant and the ratios to plado, measured in turn."""
    task = load_task(*shipped_files(PROBLEM))
    walks = {
        "cached": compiled_walk(PddlSimulator(task)),
        "uncached": compiled_walk(PddlSimulator(task, cached_states=0)),
        "plado": plado_walk(),
    }
    steps = dict.fromkeys(walks, 0)
    spent = dict.fromkeys(walks, 0.0)
    # In turn, so that a slow moment of the machine affects all three.
    seed = 0
    while min(spent.values()) < seconds:
        for name, walk in walks.items():
            if spent[name] < seconds:
                started = time.perf_counter()
                steps[name] += walk(seed)
                spent[name] += time.perf_counter() - started
        seed += 1
    rate = {name: steps[name] / spent[name] for name in walks}
    return {
        "pddl: steps per second": rate["cached"],
        "pddl: steps per second without cache": rate["uncached"],
        "pddl: steps per second of plado": rate["plado"],
        "pddl: times faster than plado": rate["cached"] / rate["plado"],
        "pddl: times faster than plado without cache": rate["uncached"] / rate["plado"],
    }


def compiled_walk(simulator: PddlSimulator) -> Callable[[int], int]:
    def walk(seed: int) -> int:
        pick = random.Random(seed).random
        simulator.reset(seed)
        for step in range(WALK):
            actions = simulator.actions()
            if not actions:
                return step
            simulator.step(actions[int(pick() * len(actions))])
        return WALK

    return walk


def plado_walk() -> Callable[[int], int]:
    files = shipped_files(PROBLEM)
    task = Task(*parse_and_normalize(*map(str, files), skip_checks=True))
    applicable, successors = ApplicableActionsGenerator(task), SuccessorGenerator(task)

    def walk(seed: int) -> int:
        pick = random.Random(seed).random
        state = task.initial_state.duplicate()
        for step in range(WALK):
            actions = list(applicable(state))
            if not actions:
                return step
            state = draw(successors(state, actions[int(pick() * len(actions))]), pick)
        return WALK

    return walk


def draw(outcomes: list[tuple[Any, float]], pick: Callable[[], float]) -> Any:
    if len(outcomes) == 1:
        return outcomes[0][0]
    states, probabilities = zip(*outcomes, strict=True)
    limits = itertools.accumulate(probabilities)
    return states[bisect.bisect([float(limit) for limit in limits][:-1], pick())]
