import random
from collections import Counter

import numpy as np
import pytest

from capscope.model import LearnedModel
from capscope.strategy.relevance import VISITS, Distances, Flow
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


def flow_of(graph, states):
    model = LearnedModel.fitted(graph)
    rows = np.array(model.matrix.rows(states))
    types = [model.experts.believed(c, rows)[0] for c in range(len(graph.capabilities))]
    return Flow(model, rows, np.array(types)), model


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


# Visits.


@pytest.mark.parametrize("truth", [PURSUED, permuted()], ids=["pursuing", "permuted"])
def test_visits_are_those_of_random_requests_if_all_is_known(truth):
    flow, model = flow_of(graph_of(transitions(truth, PURSUED)), STATES)
    found = flow.expected_visits([model.matrix.row[DELIVERY.start]])
    expected = naive_visits(truth, DELIVERY.start)
    assert found == pytest.approx([expected[state] for state in STATES])
    assert found.sum() == pytest.approx(VISITS)


def test_visits_are_those_of_simulated_requests():
    flow, model = flow_of(graph_of(transitions(PURSUED, PURSUED)), STATES)
    found = flow.expected_visits([model.matrix.row[DELIVERY.start]])
    rng, walks, counted = random.Random(0), 600, Counter()
    for _ in range(walks):
        state, weight = DELIVERY.start, 1.0
        for _ in range(41):
            counted[state] += weight / walks
            state, weight = PURSUED[state, rng.choice(INTENTS)], 0.9 * weight
    assert sum(abs(found[i] - counted[s]) for i, s in enumerate(STATES)) < 0.1 * VISITS


def test_chance_outcomes_are_visited_by_their_odds():
    world = ChanceWorld(lambda state, rng: succeeds(0.7), 1, 200, seed=0)
    (state,) = world.states
    done = world.counts[state][DONE] / 200
    flow, model = flow_of(world.graph, [state, DONE.apply(state)])
    row = model.matrix.row[state]
    now = flow.step(flow.start([row]))
    assert now.tolist() == pytest.approx([1 - done, done])
    assert NOTHING in model.types.odds[model.experts.believed(0, np.array([row]))[0][0]]
    assert model.predict(state, ASKED)[state] == pytest.approx(1 - done)


def test_several_beginnings_are_equally_likely():
    flow, model = flow_of(graph_of(transitions(PURSUED, PURSUED)), STATES)
    both = [model.matrix.row[state] for state in STATES[:2]]
    each = [flow.expected_visits([row]) for row in both]
    assert flow.expected_visits(both) == pytest.approx(sum(each) / 2)


def test_what_leaves_the_chosen_states_is_lost():
    flow, model = flow_of(graph_of(transitions(PURSUED, PURSUED)), STATES[:10])
    visits = flow.expected_visits([model.matrix.row[DELIVERY.start]])
    assert len(visits) == 10
    assert 1.0 < visits.sum() < VISITS


def test_without_the_beginning_nothing_is_visited():
    flow, model = flow_of(graph_of(transitions(PURSUED, PURSUED)), STATES[1:])
    assert not flow.expected_visits([model.matrix.row[STATES[0]]]).any()


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
    distances = Distances(graph, initial)
    for pair in drawn_pairs(400, seed):
        seen = transitions(PURSUED, [pair])
        graph.update(seen)
        distances.observe([(s, c) for s, c, _ in seen])
        assert distances.of == naive_distances(graph, initial)
    assert max(distances.of.values()) > 3


def test_pairs_observed_together_count_as_if_they_came_one_by_one():
    graph, pairs = graph_of({}), drawn_pairs(300)
    distances = Distances(graph, [DELIVERY.start])
    for first in range(0, 300, 25):
        seen = transitions(PURSUED, pairs[first : first + 25])
        graph.update(seen)
        distances.observe([(s, c) for s, c, _ in seen])
        assert distances.of == naive_distances(graph, [DELIVERY.start])
