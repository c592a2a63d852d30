"""The graph of transitions: each question against a naive search or simulation."""

import itertools
import random
from collections import Counter

import numpy as np
import pytest

from capscope.logic import Intent, Vocabulary
from capscope.model import LearnedModel, StateGraph
from capscope.model.transitions import (
    FAR,
    DistancesFromStart,
    KnownPaths,
    SeenTransitions,
    breadth_first,
    predicted_transitions,
)
from support.chance_worlds import ASKED, DONE, NOTHING, ChanceWorld, succeeds
from support.pursuing_agents import (
    DELIVERY,
    INTENTS,
    PURSUED,
    STATES,
    drawn_pairs,
    graph_of,
    permuted,
    transitions,
)
from support.tiny_models import random_models

# Seen transitions.


def successors(nodes):
    return {
        i: {
            nodes.index(after)
            for pair in node.pairs
            if pair is not None
            for after in pair.successors
            if after is not node
        }
        for i, node in enumerate(nodes)
    }


@pytest.mark.parametrize("seed", range(15))
def test_distances_are_those_of_a_search_from_each_state(seed):
    rng = random.Random(seed)
    nodes = list(random_models(rng, share=0.4).nodes.values())
    goal = np.array([rng.random() < 0.3 for _ in nodes])
    steps, after = SeenTransitions(nodes), successors(nodes)
    found, reach = steps.distances(goal), steps.reaching(goal)
    for i in range(len(nodes)):
        edge, seen, length = {i}, set(), 0
        while edge and not any(goal[j] for j in edge):
            seen |= edge
            edge = {k for j in edge for k in after[j]} - seen
            length += 1
        assert reach[i] == bool(edge)
        assert found[i] == (length if edge else FAR)


def test_a_search_goes_breadth_first_and_says_how_each_node_was_reached():
    steps = {1: [("a", 2), ("b", 3)], 2: [("c", 4), ("d", 1)], 3: [("e", 4)], 4: []}
    found = list(breadth_first(1, lambda node: steps[node]))
    assert found == [(1, None), (2, (1, "a")), (3, (1, "b")), (4, (2, "c"))]


# Predicted transitions.


def predicted(model, states):
    rows = np.array(model.matrix.rows(states))
    types = [model.experts.believed(c, rows)[0] for c in range(len(model.capabilities))]
    return predicted_transitions(model.matrix, model.types, rows, np.array(types))


def visits_of(truth, states=STATES):
    model = LearnedModel.fitted(graph_of(transitions(truth, PURSUED)))
    start = np.array([float(state == DELIVERY.start) for state in states])
    return predicted(model, states).visits(start, 40, 0.9)


def naive_visits(truth, start, steps=40, discount=0.9):
    """Follow the distribution over states, request by request."""
    now, visits = {start: 1.0}, Counter({start: 1.0})
    for _ in range(steps):
        after = Counter()
        for state, share in now.items():
            for intent in INTENTS:
                after[truth[state, intent]] += discount * share / len(INTENTS)
        now = after
        visits.update(now)
    return visits


ALL_VISITS = (1 - 0.9**41) / (1 - 0.9)


@pytest.mark.parametrize("truth", [PURSUED, permuted()], ids=["pursuing", "permuted"])
def test_predicted_visits_are_those_of_random_requests_if_all_is_known(truth):
    found, expected = visits_of(truth), naive_visits(truth, DELIVERY.start)
    assert found == pytest.approx([expected[state] for state in STATES])
    assert found.sum() == pytest.approx(ALL_VISITS)


def test_chance_outcomes_are_visited_by_their_odds():
    world = ChanceWorld(lambda state, rng: succeeds(0.7), 1, 200, seed=0)
    (state,) = world.states
    done = world.counts[state][DONE] / 200
    model = LearnedModel.fitted(world.graph)
    now = predicted(model, [state, DONE.apply(state)]).step(np.array([1.0, 0.0]))
    assert now.tolist() == pytest.approx([1 - done, done])
    row = np.array([model.matrix.row[state]])
    assert NOTHING in model.types.odds[model.experts.believed(0, row)[0][0]]
    assert model.predict(state, ASKED)[state] == pytest.approx(1 - done)


def test_what_leaves_the_chosen_states_is_lost():
    visits = visits_of(PURSUED, STATES[:10])
    assert len(visits) == 10
    assert 1.0 < visits.sum() < ALL_VISITS
    assert not visits_of(PURSUED, [s for s in STATES if s != DELIVERY.start]).any()


# Paths.

LAMPS = Vocabulary.of_atoms(["p", "q", "r"])
WISHES = [Intent.parse(name) for name in ("p", "q", "r")]


def small_graph(moves):
    graph = StateGraph(LAMPS, WISHES)
    graph.node(0)
    graph.update(moves)
    return graph


def test_the_path_to_a_beginning_is_empty_and_to_an_unreached_state_unknown():
    paths = KnownPaths(small_graph({(0, 0, 1): 1, (6, 1, 7): 1}), [0])
    assert paths.to(0) == ()
    assert paths.to(7) is None
    assert paths.length(7) is None


def test_of_the_shortest_paths_the_most_probable_is_taken():
    paths = KnownPaths(
        small_graph({(0, 0, 1): 1, (0, 0, 2): 3, (1, 1, 3): 1, (2, 2, 3): 1, (2, 2, 2): 1}), [0]
    )
    path = paths.to(3)
    assert path is not None
    assert [(step.state, step.after) for step in path] == [(0, 2), (2, 3)]
    assert [step.probability for step in path] == [0.75, 0.5]


@pytest.mark.parametrize("seed", range(20))
def test_paths_are_those_of_a_search_over_all_sequences(seed):
    rng = random.Random(seed)
    moves = {
        (rng.randrange(8), rng.randrange(3), rng.randrange(8)): rng.randint(1, 5) for _ in range(14)
    }
    graph = small_graph(moves)
    totals = {}
    for (state, capability, _), count in moves.items():
        totals[state, capability] = totals.get((state, capability), 0) + count
    paths = KnownPaths(graph, [0])
    for goal in range(1, 8):
        best = None
        for length in range(1, 5):
            for steps in itertools.product(moves, repeat=length):
                joined = all(a[2] == b[0] for a, b in itertools.pairwise(steps))
                if steps[0][0] == 0 and steps[-1][2] == goal and joined:
                    chance = 1.0
                    for state, capability, after in steps:
                        chance *= moves[state, capability, after] / totals[state, capability]
                    best = max(best or (-length, 0.0), (-length, chance))
            if best:
                break
        path = paths.to(goal) if goal in graph.nodes else None
        if best is None:
            assert path is None or len(path) > 4
        else:
            assert path is not None
            found = 1.0
            for step in path:
                found *= step.probability
            assert (-len(path), found) == pytest.approx(best)


# Distances.


def naive_distances(graph, initial):
    """Search breadth-first, over what was seen."""
    found, edge = dict.fromkeys(initial, 0), list(initial)
    while edge:
        reached = []
        for state in edge:
            for pair in graph.nodes[state].pairs:
                for effect in () if pair is None else pair.counts:
                    after = effect.apply(state)
                    if after not in found:
                        found[after] = found[state] + 1
                        reached.append(after)
        edge = reached
    return found


@pytest.mark.parametrize("seed", range(3))
def test_distances_are_those_of_a_breadth_first_search_at_any_time(seed):
    graph = graph_of({})
    graph.node(STATES[30])
    initial = [DELIVERY.start, STATES[30]]
    distances = DistancesFromStart(graph, initial)
    for pair in drawn_pairs(400, seed):
        seen = transitions(PURSUED, [pair])
        graph.update(seen)
        distances.observe([(s, c) for s, c, _ in seen])
        assert distances.of == naive_distances(graph, initial)
    assert max(distances.of.values()) > 3


def test_pairs_observed_together_count_as_if_they_came_one_by_one():
    graph, pairs = graph_of({}), drawn_pairs(300)
    distances = DistancesFromStart(graph, [DELIVERY.start])
    for first in range(0, 300, 25):
        seen = transitions(PURSUED, pairs[first : first + 25])
        graph.update(seen)
        distances.observe([(s, c) for s, c, _ in seen])
        assert distances.of == naive_distances(graph, [DELIVERY.start])
