"""Does an update after a query cost the same at any size? Target: ratio at most 1.5.

Two state graphs, one with 5,000 transitions of first responders and one with 50,000, are updated
with the same further queries in turn; the medians are compared.
"""

import random
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from capscope.journal.execution_table import Transition
from capscope.logic import Intent
from capscope.model import StateGraph
from capscope.problem import KnownTruth
from capscope.problems import load_problem

DRAWS, LENGTH = 25, 4


def random_queries(
    truth: KnownTruth, intents: Sequence[Intent], count: int, seed: int
) -> Iterator[Counter[Transition]]:
    """Yield the transitions of random queries: a short sequence with 25 draws."""
    states = truth.reachable_states()
    for query in range(count):
        rng = random.Random(seed * 1_000_003 + query)
        start = rng.choice(states)
        sequence = [rng.randrange(len(intents)) for _ in range(LENGTH)]
        seen: Counter[Transition] = Counter()
        for _ in range(DRAWS):
            state = start
            for capability in sequence:
                outcomes = truth.outcomes(state, intents[capability])
                after = rng.choices(list(outcomes), list(outcomes.values()))[0]
                seen[Transition(state, capability, after)] += 1
                state = after
        yield seen


def measure(queries: int = 300) -> dict[str, float]:
    problem = load_problem("first-responders")
    truth = problem.truth
    assert truth is not None
    intents = list(truth.intents())
    compared: dict[int, tuple[StateGraph, list[float]]] = {}
    for size in (5_000, 50_000):
        graph = StateGraph(problem.vocabulary, intents)
        for seen in random_queries(truth, intents, size // (DRAWS * LENGTH), seed=1):
            graph.update(seen)
        compared[size] = (graph, [])
    for seen in random_queries(truth, intents, queries, seed=2):
        for graph, times in compared.values():
            started = time.perf_counter()
            graph.update(seen)
            times.append(time.perf_counter() - started)
    small, large = (statistics.median(times) for _, times in compared.values())
    return {
        "update after a query at 5,000 transitions, µs": small * 1e6,
        "update after a query at 50,000 transitions, µs": large * 1e6,
        "update: ratio, 50,000 to 5,000 transitions (target ≤ 1.5)": large / small,
    }
