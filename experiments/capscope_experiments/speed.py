"""How long queries take: medians over many starts, and ratios inside one run.

Machines are noisy, so the numbers that matter are ratios of things measured side by side: the time
of a query as 𝒟 grows tenfold, and the time of MCQS-E as a multiple of MCQS-S. Searches are made to
run all their iterations (discount 1): otherwise most would end at once, having found the best.
"""

from __future__ import annotations

import random
import statistics
import time
from collections import Counter
from dataclasses import replace

from capscope.model import StateGraph
from capscope.record.execution_table import Transition
from capscope.record.settings import Settings
from capscope.strategy import strategy_named
from capscope.symbolic import State
from capscope.world import KnownTruth, Problem

_STARTS = 30


def measure_speed(problem: Problem, settings: Settings) -> dict[str, float]:
    """Return milliseconds per query at half coverage, and how they grow with 𝒟."""
    if problem.truth is None:
        raise ValueError(f"{problem.name} does not know its truth")
    states = list(problem.truth.reachable_states())
    starts = random.Random(1).choices(states, k=_STARTS)
    half = covered_models(problem, problem.truth, share=0.5, draws=25)
    tenfold = covered_models(problem, problem.truth, share=0.5, draws=250)
    endless = replace(settings, discount=1.0)
    numbers: dict[str, float] = {}
    for name in ("mcqs-s", "mcqs-e"):
        # Alternate between the two models, so that a slow moment of the machine hits both.
        times: dict[str, list[float]] = {"half": [], "tenfold": []}
        for i, start in enumerate(starts):
            for label, graph in (("half", half), ("tenfold", tenfold)):
                times[label].append(_query_seconds(name, graph, start, endless, i))
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
    strategy = strategy_named(name)(settings)
    begun = time.perf_counter()
    strategy.choose(graph, start, 0.0, random.Random(seed))
    return time.perf_counter() - begun


def covered_models(problem: Problem, truth: KnownTruth, share: float, draws: int) -> StateGraph:
    """Return models that have seen a random share of all pairs, each so many times."""
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
