import random

import numpy as np
import pytest

from capscope.insight.findings.known_steps import FAR, KnownSteps
from support.tiny_models import random_models


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
    goal, allowed = (np.array([rng.random() < p for _ in nodes]) for p in (0.3, 0.7))
    steps, after = KnownSteps(nodes), successors(nodes)
    found, reach = steps.distances(goal, allowed), steps.can_reach(goal)
    for i in range(len(nodes)):
        for distance, may in ((found[i], allowed), (None, np.ones(len(nodes), dtype=bool))):
            edge, seen, length = {i} if may[i] else set(), set(), 0
            while edge and not any(goal[j] for j in edge):
                seen |= edge
                edge = {k for j in edge for k in after[j] if may[k]} - seen
                length += 1
            if distance is None:
                assert reach[i] == bool(edge)
            else:
                assert distance == (length if edge else FAR)


@pytest.mark.parametrize("seed", range(5))
def test_visits_are_those_of_random_requests_from_the_beginning(seed):
    rng = random.Random(seed)
    graph = random_models(rng, share=0.8)
    nodes = list(graph.nodes.values())
    expected = np.zeros(len(nodes))
    now = {nodes[0]: 1.0}
    for _ in range(5):
        after = {}
        for node, share in now.items():
            expected[nodes.index(node)] += share / 5
            for pair in node.pairs:
                part = share / len(node.pairs)
                if pair is None:
                    after[node] = after.get(node, 0) + part
                    continue
                for effect, n in pair.counts.items():
                    end = graph.nodes[effect.apply(node.state)]
                    after[end] = after.get(end, 0) + part * n / pair.total
        now = after
    assert KnownSteps(nodes).visits([nodes[0].state], 5) == pytest.approx(expected)
