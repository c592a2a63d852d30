import itertools
import random

import pytest

from capscope.insight.ways import KnownWays
from capscope.logic import Intent, Vocabulary
from capscope.model import StateGraph

VOCABULARY = Vocabulary.of_atoms(["p", "q", "r"])
INTENTS = [Intent.parse(name) for name in ("p", "q", "r")]


def graph_of(transitions: dict[tuple[int, int, int], int]) -> StateGraph:
    graph = StateGraph(VOCABULARY, INTENTS)
    graph.node(0)
    graph.update(transitions)
    return graph


def test_the_way_to_a_beginning_is_empty_and_to_an_unreached_state_unknown() -> None:
    ways = KnownWays(graph_of({(0, 0, 1): 1, (6, 1, 7): 1}), [0])
    assert ways.to(0) == ()
    assert ways.to(7) is None
    assert ways.length(7) is None


def test_of_the_shortest_ways_the_most_probable_is_taken() -> None:
    ways = KnownWays(
        graph_of({(0, 0, 1): 1, (0, 0, 2): 3, (1, 1, 3): 1, (2, 2, 3): 1, (2, 2, 2): 1}), [0]
    )
    way = ways.to(3)
    assert way is not None
    assert [(step.state, step.after) for step in way] == [(0, 2), (2, 3)]
    assert [step.probability for step in way] == [0.75, 0.5]


@pytest.mark.parametrize("seed", range(20))
def test_ways_are_those_of_a_search_over_all_sequences(seed: int) -> None:
    rng = random.Random(seed)
    transitions = {
        (rng.randrange(8), rng.randrange(3), rng.randrange(8)): rng.randint(1, 5) for _ in range(14)
    }
    graph = graph_of(transitions)
    totals: dict[tuple[int, int], int] = {}
    for (state, capability, _), count in transitions.items():
        totals[state, capability] = totals.get((state, capability), 0) + count
    ways = KnownWays(graph, [0])
    for goal in range(1, 8):
        best: tuple[int, float] | None = None
        for length in range(1, 5):
            for steps in itertools.product(transitions, repeat=length):
                joined = all(a[2] == b[0] for a, b in itertools.pairwise(steps))
                if steps[0][0] == 0 and steps[-1][2] == goal and joined:
                    chance = 1.0
                    for state, capability, after in steps:
                        chance *= transitions[state, capability, after] / totals[state, capability]
                    best = max(best or (-length, 0.0), (-length, chance))
            if best:
                break
        way = ways.to(goal) if goal in graph.nodes else None
        if best is None:
            assert way is None or len(way) > 4
        else:
            assert way is not None
            found = 1.0
            for step in way:
                found *= step.probability
            assert (-len(way), found) == pytest.approx(best)
