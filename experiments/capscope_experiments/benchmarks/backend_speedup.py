"""How much faster are two workers if the agent computes, and what does a worker cost per draw?

The robot on the tabletop computes: an execution is some hundred steps of physics and as many looks
by a camera. The same run is made by one thread, by two processes and by a Ray cluster on this
machine, in turns; the fastest round of each counts, because other programs can only slow one down.
The cluster is started once, and has some time to start what it keeps in reserve: otherwise that is
what is measured. Targets on two idle cores: processes 1.7 times as fast as one worker, Ray 1.5
times. What is added to a draw that computes nothing (median): 3 ms for a process, 5 ms for an
actor.

Choosing what to ask is not shared, so a strategy that takes long for it is helped less:

    python -m capscope_experiments.benchmarks.backend_speedup [STRATEGY] [EXECUTIONS] [ROUNDS]

Cores are rarely idle, so the ratio is also computed from processor times: what the loop takes for
an execution cannot be shared, the rest of what one thread takes can be halved.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from pathlib import Path

from capscope import Budget, Event, Intent, Problem, Settings, Vocabulary, WorkerSettings, assess
from capscope.assessment.ask import Query
from capscope.assessment.remote_workers import MakeProblem
from capscope.assessment.worker_links import RayCluster
from capscope.assessment.workers import start_workers
from capscope.journal.draws import Start
from capscope.logic import State
from capscope.problem import Allowance
from capscope.problem.positions import save_position
from capscope.strategy.base import SequencePolicy, Task
from capscope_experiments.benchmarks.tabulated_world import tabulated_problem

PROBLEM = "tabletop-affordance"
SWITCHES = ("a", "b")
INTENTS = tuple(f"{sign}{name}()" for name in SWITCHES for sign in ("", "not "))
SETTINGS = Settings(audit=0.0).with_batch_for(2)  # the same batch for one worker
SECONDS_TO_SETTLE = 20.0


def measure(
    strategy: str = "exhaustive",
    executions: int = 400,
    rounds: int = 3,
    backends: str = "processes,ray",
    problem: str | MakeProblem = PROBLEM,
) -> dict[str, float]:
    """Return the executions per second of each backend, and their ratios to one thread's."""
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))  # for the nodes of Ray
    compared = {"threads": WorkerSettings(1)}
    compared |= {name: WorkerSettings(2, name) for name in backends.split(",")}
    fastest, least = dict.fromkeys(compared, 0.0), dict.fromkeys(compared, inf)
    with _cluster("ray" in compared):
        for _ in range(rounds):
            for name, workers in compared.items():
                speed, loop = _speed(problem, workers, strategy, executions)
                fastest[name], least[name] = max(fastest[name], speed), min(least[name], loop)
        alone = _seconds_per_draw(WorkerSettings(1))
        added = {
            name: _seconds_per_draw(WorkerSettings(1, name)) - alone
            for name in compared
            if name != "threads"
        }
    numbers = {f"{name}, executions/s": speed for name, speed in fastest.items()}
    numbers["ms of one thread for an execution"] = 1000 * least["threads"]
    for name, seconds in added.items():
        numbers[f"2 workers, {name}: times faster than 1"] = fastest[name] / fastest["threads"]
        loop = least[name]
        computed = least["threads"] / (loop + (least["threads"] - loop) / 2)
        numbers[f"2 workers, {name}: times faster, by processor time"] = computed
        numbers[f"{name}: ms of the loop for an execution"] = 1000 * loop
        numbers[f"{name}: ms added to a draw (median)"] = 1000 * seconds
    return numbers


@contextmanager
def _cluster(wanted: bool) -> Iterator[None]:
    """Start a cluster that all runs use, and wait until it has started its spare workers."""
    if not wanted:
        yield
        return
    cluster = RayCluster(None, 2)
    try:
        time.sleep(SECONDS_TO_SETTLE)
        yield
    finally:
        cluster.close()


def idle_problem() -> Problem:
    """Return a world of switches whose agent computes next to nothing."""
    vocabulary = Vocabulary.of_atoms(SWITCHES)
    asked = [*map(Intent.parse, INTENTS)]
    return replace(tabulated_problem("idle", vocabulary, 0, asked, _outcomes), intents=INTENTS)


def _outcomes(state: State, intent: Intent) -> Mapping[State, float]:
    (literal,) = intent.literals
    bit = 1 << SWITCHES.index(literal.atom.predicate)
    wanted = state | bit if literal.positive else state & ~bit
    return {wanted: 0.8, state: 0.2} if wanted != state else {state: 1.0}


def _speed(
    problem: str | MakeProblem, workers: WorkerSettings, strategy: str, executions: int
) -> tuple[float, float]:
    """Return executions per second, and this process's processor time for an execution."""
    processor: list[float] = []

    def listen(event: Event) -> None:
        processor.append(time.process_time())

    budget = Budget(executions=executions)
    run = assess(
        problem, strategy=strategy, settings=SETTINGS, budget=budget, workers=workers,
        listener=listen,
    )  # fmt: skip
    queries = run.executions.queries
    made = int(queries.executions[1:].sum())  # the first query ends when the clock is started
    return run.usage.executions / run.usage.seconds, (processor[-1] - processor[0]) / made


def _seconds_per_draw(workers: WorkerSettings, draws: int = 200) -> float:
    """Return the median time of a draw that computes nothing."""
    problem = idle_problem()
    state = problem.abstraction(problem.simulator.reset(0))
    task = Task(Start(state, save_position(problem.simulator)), SequencePolicy((0,)))
    query = Query(0, [task] * draws, 0)
    seconds = []
    with start_workers(workers, problem, idle_problem) as started:
        intents = [Intent.parse(INTENTS[0])]
        for index in range(draws):
            begun = time.perf_counter()
            started.draw(query.order(index, Budget()), intents, Allowance())
            seconds.append(time.perf_counter() - begun)
    return statistics.median(seconds)


if __name__ == "__main__":
    # What is defined in `__main__` cannot travel to other processes.
    from capscope_experiments.benchmarks.backend_speedup import measure

    strategy, executions, rounds = [*sys.argv[1:], *("exhaustive", "400", "3")[len(sys.argv) - 1 :]]
    for measured, value in measure(strategy, int(executions), int(rounds)).items():
        print(f"{measured:<66} {value:12,.2f}", flush=True)
