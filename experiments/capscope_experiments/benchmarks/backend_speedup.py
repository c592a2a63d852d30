"""How much faster are two workers if the agent computes, and what does a worker cost per draw?

One attempt of the agent takes a fixed amount of computation, as a planner or a step of physics
does. The same run is made by one thread, by two processes and by a Ray cluster on this machine, in
turns; the fastest round of each counts, because other programs can only slow one down. Targets on
two idle cores: processes 1.7 times as fast as one worker, Ray 1.5 times. What is added to a draw
that computes nothing (median): 3 ms for a process, 5 ms for an actor.

Cores are rarely idle, so the ratio is also computed from processor times: what the loop takes for
an execution cannot be shared, the rest of what one thread takes can be halved.
"""

from __future__ import annotations

import hashlib
import os
import statistics
import time
from collections.abc import Mapping
from math import inf
from pathlib import Path

from capscope import Budget, Event, Intent, Problem, Settings, Vocabulary, WorkerSettings, assess
from capscope.assessment.ask import Query
from capscope.assessment.workers import start_workers
from capscope.record.journal import Start
from capscope.strategy.base import Task
from capscope.strategy.random_query import SequencePolicy
from capscope.symbolic import State
from capscope.world import Allowance
from capscope.world.positions import save_position
from capscope_experiments.benchmarks.tabulated_world import tabulated_problem

SWITCHES = ("a", "b", "c", "d", "e")
ROUNDS_OF_WORK = "CAPSCOPE_BENCH_WORK"
"""Rounds of hashing per attempt, for workers too; 40,000 take about 20 ms."""
INTENTS = tuple(f"{sign}{name}()" for name in SWITCHES for sign in ("", "not "))
SETTINGS = Settings(batch=8, audit=0.0, intents=INTENTS)


def measure(
    executions: int = 200, work: int = 40_000, rounds: int = 3, backends: str = "processes,ray"
) -> dict[str, float]:
    """Return the executions per second of each backend, and their ratios to one thread's."""
    os.environ[ROUNDS_OF_WORK] = str(work)
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))  # for the nodes of Ray
    compared = {"threads": WorkerSettings(1)}
    compared |= {name: WorkerSettings(2, name) for name in backends.split(",")}
    fastest, least = dict.fromkeys(compared, 0.0), dict.fromkeys(compared, inf)
    for _ in range(rounds):
        for name, workers in compared.items():
            speed, loop = _speed(workers, executions)
            fastest[name], least[name] = max(fastest[name], speed), min(least[name], loop)
    numbers = {f"{name}, executions/s": speed for name, speed in fastest.items()}
    alone = _seconds_per_draw(WorkerSettings(1))
    for name in list(compared)[1:]:
        numbers[f"2 workers, {name}: times faster than 1"] = fastest[name] / fastest["threads"]
        loop = least[name]
        computed = least["threads"] / (loop + (least["threads"] - loop) / 2)
        numbers[f"2 workers, {name}: times faster, by processor time"] = computed
        numbers[f"{name}: ms of the loop for an execution"] = 1000 * loop
        added = _seconds_per_draw(WorkerSettings(1, name)) - alone
        numbers[f"{name}: ms added to a draw (median)"] = 1000 * added
    return numbers


def busy_problem() -> Problem:
    """Return a world of switches; the agent computes before it presses one."""
    vocabulary = Vocabulary.of_atoms(SWITCHES)
    return tabulated_problem("busy", vocabulary, 0, [*map(Intent.parse, INTENTS)], _outcomes)


def _outcomes(state: State, intent: Intent) -> Mapping[State, float]:
    digest = str(intent).encode()
    for _ in range(int(os.environ[ROUNDS_OF_WORK])):
        digest = hashlib.sha256(digest).digest()
    (literal,) = intent.literals
    bit = 1 << SWITCHES.index(literal.atom.predicate)
    wanted = state | bit if literal.positive else state & ~bit
    return {wanted: 0.8, state: 0.2} if wanted != state else {state: 1.0}


def _speed(workers: WorkerSettings, executions: int) -> tuple[float, float]:
    """Return executions per second, and this process's processor time for an execution."""
    processor: list[float] = []

    def listen(event: Event) -> None:
        processor.append(time.process_time())

    budget = Budget(executions=executions)
    run = assess(busy_problem, settings=SETTINGS, budget=budget, workers=workers, listener=listen)
    queries = run.executions.queries
    made = int(queries.executions[1:].sum())  # the first query ends when the clock is started
    return run.usage.executions / run.usage.seconds, (processor[-1] - processor[0]) / made


def _seconds_per_draw(workers: WorkerSettings, draws: int = 200) -> float:
    """Return the median time of a draw that computes nothing."""
    before, os.environ[ROUNDS_OF_WORK] = os.environ[ROUNDS_OF_WORK], "0"
    problem = busy_problem()
    state = problem.abstraction(problem.simulator.reset(0))
    task = Task(Start(state, save_position(problem.simulator)), SequencePolicy((0,)))
    query = Query(0, [task] * draws, 0)
    seconds = []
    with start_workers(workers, problem, busy_problem) as started:
        intents = [Intent.parse(INTENTS[0])]
        for index in range(draws):
            begun = time.perf_counter()
            started.draw(query.order(index, Budget()), intents, Allowance())
            seconds.append(time.perf_counter() - begun)
    os.environ[ROUNDS_OF_WORK] = before
    return statistics.median(seconds)
