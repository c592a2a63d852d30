"""How much faster are compiled operators than interpreting the domain at each step?

A random walk through first responders, three times: with the simulator as it is, with its memory of
applicable operators switched off, and with plado's own generation of applicable actions and
successors. A step lists the applicable actions, picks one, and draws its successor.
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

from capscope.environments.pddl import PddlSimulator, load_task, shipped_files

PROBLEM = "first-responders"
WALK = 1000


def measure(seconds: float = 1.0) -> dict[str, float]:
    """Return steps per second of each way and the ratios to plado, measured in turns."""
    task = load_task(*shipped_files(PROBLEM))
    walks = {
        "remembering": compiled_walk(PddlSimulator(task)),
        "without cache": compiled_walk(PddlSimulator(task, cached_states=0)),
        "plado": plado_walk(),
    }
    steps = dict.fromkeys(walks, 0)
    spent = dict.fromkeys(walks, 0.0)
    # In turns, so that a slow moment of the machine hits all three.
    seed = 0
    while min(spent.values()) < seconds:
        for name, walk in walks.items():
            if spent[name] < seconds:
                begun = time.perf_counter()
                steps[name] += walk(seed)
                spent[name] += time.perf_counter() - begun
        seed += 1
    rate = {name: steps[name] / spent[name] for name in walks}
    return {
        "steps_per_second": rate["remembering"],
        "steps_per_second_without_memory": rate["without cache"],
        "plado_steps_per_second": rate["plado"],
        "ratio": rate["remembering"] / rate["plado"],
        "ratio_without_memory": rate["without cache"] / rate["plado"],
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
    task = Task(*parse_and_normalize(str(files.domain), str(files.problem), skip_checks=True))
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


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name:34} {value:12,.1f}")
