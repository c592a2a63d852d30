"""How long queries take: medians over many starts, and ratios within one run.

Machines are noisy, so the numbers that matter are ratios of times measured in turn: of a query as
the dataset grows tenfold, and of MCQS-E to MCQS-S.
"""

from __future__ import annotations

import random
import statistics
import time
from collections import Counter

from capscope.journal.execution_table import Transition
from capscope.journal.settings import Settings
from capscope.logic import State
from capscope.model import ExtremeModels, StateGraph
from capscope.problem import KnownTruth, Problem
from capscope.problems import load_problem
from capscope.strategy.paper.mcqs_e import mcqs_exact
from capscope.strategy.paper.mcqs_s import mcqs_sampled
from capscope_experiments.bench import Bench, Section
from capscope_experiments.result_rows import write_rows
from capscope_experiments.table import markdown_table

PROBLEM = "first-responders"
_STARTS = 30
_TEXT = """
Medians over many starts on {problem}, with all iterations of every search. The
ratios are of times measured in turn, so that a slow moment of the machine affects both.
"""


def speed(bench: Bench) -> Section:
    """Measure the time of queries on half-known models, and how it grows with the data."""
    numbers = measure_speed(load_problem(PROBLEM), bench.settings) if bench.cases else {}
    rows = write_rows(bench, "speed.csv", ["measured", "value"], numbers.items())
    shown = [[row["measured"], f"{float(row['value']):.3f}"] for row in rows]
    text = _TEXT.format(problem=PROBLEM).strip()
    body = f"{text}\n\n{markdown_table(['measured', ''], shown)}"
    return Section("Speed of the search", body, ("speed.csv",))


def measure_speed(problem: Problem, settings: Settings) -> dict[str, float]:
    """Return milliseconds per query at half coverage, and how they grow with the data."""
    if problem.truth is None:
        raise ValueError(f"{problem.name} has no known truth")
    states = list(problem.truth.reachable_states())
    starts = random.Random(1).choices(states, k=_STARTS)
    half = sampled_graph(problem, problem.truth, share=0.5, draws=25)
    tenfold = sampled_graph(problem, problem.truth, share=0.5, draws=250)
    all_iterations = settings.as_in_paper()
    numbers: dict[str, float] = {}
    for name in ("mcqs-s", "mcqs-e"):
        # Alternate between the two graphs, so that a slow moment of the machine affects both.
        times: dict[str, list[float]] = {"half": [], "tenfold": []}
        for i, start in enumerate(starts):
            for label, graph in (("half", half), ("tenfold", tenfold)):
                times[label].append(_query_seconds(name, graph, start, all_iterations, i))
        numbers[f"{name}: milliseconds per query at half coverage"] = 1e3 * statistics.median(
            times["half"]
        )
        numbers[f"{name}: time ratio, ten times the transitions"] = statistics.median(
            times["tenfold"]
        ) / statistics.median(times["half"])
    s, e = (numbers[f"{n}: milliseconds per query at half coverage"] for n in ("mcqs-s", "mcqs-e"))
    return {**numbers, "mcqs-e as a multiple of mcqs-s": e / s}


def _query_seconds(
    name: str, graph: StateGraph, start: State, settings: Settings, seed: int
) -> float:
    search = mcqs_sampled if name == "mcqs-s" else mcqs_exact
    models = ExtremeModels(graph)
    started = time.perf_counter()
    search(models, start, 0.0, random.Random(seed), settings)
    return time.perf_counter() - started


def sampled_graph(problem: Problem, truth: KnownTruth, share: float, draws: int) -> StateGraph:
    """Return a graph with `draws` observations of a random share of all pairs."""
    rng = random.Random(0)
    intents = list(truth.intents())
    graph = StateGraph(problem.vocabulary, intents)
    for state in truth.reachable_states():
        for capability, intent in enumerate(intents):
            if rng.random() < share:
                outcomes = truth.outcomes(state, intent)
                ends = random.Random(state ^ capability).choices(
                    list(outcomes), list(outcomes.values()), k=draws
                )
                graph.update(Counter(Transition(state, capability, end) for end in ends))
    return graph
