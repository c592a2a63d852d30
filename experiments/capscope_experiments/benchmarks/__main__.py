"""Run the speed benchmarks, or those that are named, and print their numbers."""

import sys
from collections.abc import Callable

from capscope import Settings
from capscope.problems import load_problem
from capscope_experiments.benchmarks import (
    backend_speedup,
    graph_updates,
    minigrid_steps,
    pddl_steps,
    worker_speedup,
)
from capscope_experiments.suites.speed import PROBLEM, measure_speed

BENCHMARKS: dict[str, Callable[[], dict[str, float]]] = {
    "pddl_steps": pddl_steps.measure,
    "graph_updates": graph_updates.measure,
    "minigrid_steps": minigrid_steps.measure,
    "worker_speedup": worker_speedup.measure,
    "backend_speedup": backend_speedup.measure,
    "search": lambda: measure_speed(load_problem(PROBLEM), Settings()),
}


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"no benchmark {unknown[0]!r}; choose from {', '.join(BENCHMARKS)}")
    for name in names or BENCHMARKS:
        for measured, value in BENCHMARKS[name]().items():
            print(f"{measured:<66} {value:12,.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
