"""Ways through random worlds, against twins that compute every cost in every sweep."""

import numpy as np
import pytest

from capscope.model import shortest_paths
from capscope.model.shortest_paths import (
    FARTHEST,
    UNKNOWN,
    Edges,
    expected_executions,
    first_steps,
    ties_of,
)

SEEDS = range(12)
NOTHING = 0


def random_world(seed, rows=40, intents=5, types=9):
    """Draw edges with one to three ends, some of them unknown, and where each intent holds."""
    rng = np.random.default_rng(seed)
    row, number = np.nonzero(rng.random((rows, types)) < 0.4)
    odds = np.zeros((types, 3))
    for own in odds:
        several = rng.integers(1, 4)
        own[:several] = rng.dirichlet(np.ones(several))
    ends = rng.integers(-1, rows, size=(len(row), 3))
    return Edges(row, number, ends, odds[number]), rng.random((intents, rows)) < 0.06


def begun(holds):
    """Return the bounds that value iteration begins with."""
    return np.where(holds, 0.0, FARTHEST)


def cost(edges, edge, distances):
    """Return the expected executions if an edge comes first; `distances` are to one intent."""
    total = 1.0
    for end, share in zip(edges.end[edge], edges.odds[edge], strict=True):
        if share:
            total += (FARTHEST if end == UNKNOWN else distances[end]) * share
    return total


def naive_distances(edges, holds):
    """Sweep over all edges until nothing changes by more than a thousandth of an execution."""
    distance = np.where(holds, 0.0, FARTHEST)
    for _ in range(60):
        after = distance.copy()
        for intent in range(len(holds)):
            for edge in range(len(edges)):
                row = edges.row[edge]
                after[intent, row] = min(after[intent, row], cost(edges, edge, distance[intent]))
        change = np.abs(after - distance).max()
        distance = after
        if change < 1e-3:
            break
    return distance


def naive_ties(edges, distance, row, intent):
    """List the edges that begin a shortest way."""
    costs = {e: cost(edges, e, distance[intent]) for e in range(len(edges)) if edges.row[e] == row}
    least = min(costs.values(), default=FARTHEST)
    return [e for e, own in costs.items() if own < least + 0.1 and least < FARTHEST - 1]


@pytest.mark.parametrize("few", [0.0, 0.1, 2.0])
def test_distances_are_those_of_sweeps_over_all_edges(few, monkeypatch):
    monkeypatch.setattr(shortest_paths, "_FEW", few)
    for seed in SEEDS:
        edges, holds = random_world(seed)
        assert np.array_equal(
            expected_executions(edges, begun(holds)), naive_distances(edges, holds)
        )


def test_ties_are_all_edges_that_begin_a_shortest_way():
    for seed in SEEDS:
        edges, holds = random_world(seed)
        distance = expected_executions(edges, begun(holds))
        intents, rows = np.indices(holds.shape).reshape(2, -1)
        edge, place = ties_of(edges, distance, rows, intents)
        for i, (row, intent) in enumerate(zip(rows, intents, strict=True)):
            assert edge[place == i].tolist() == naive_ties(edges, distance, row, intent)


@pytest.mark.parametrize("block", [1, 60, 10_000])
def test_the_first_step_is_the_tie_of_the_highest_rank(block, monkeypatch):
    monkeypatch.setattr(shortest_paths, "_BLOCK", block)
    for seed in SEEDS:
        edges, holds = random_world(seed)
        distance = expected_executions(edges, begun(holds))
        rank = np.random.default_rng(seed).choice([0.5, 1.0, 2.0], size=9)
        steps, shares = first_steps(edges, distance, rank, NOTHING)
        for place, row in enumerate(edges.row[edges.begins]):
            for intent in range(len(holds)):
                types = edges.type[naive_ties(edges, distance, row, intent)]
                wanted = max(types, key=lambda t: (rank[t], -t)) if len(types) else NOTHING
                assert steps[intent, place] == wanted
                share = rank[wanted] / rank[types].sum() if len(types) else 1.0
                assert shares[intent, place] == pytest.approx(share)


def test_distances_may_begin_with_what_was_planned_before():
    for seed in SEEDS:
        edges, holds = random_world(seed)
        once = expected_executions(edges, begun(holds))
        again = expected_executions(edges, once)
        assert np.allclose(again, once, atol=0.02)
        assert (again <= once).all()


def test_without_edges_only_what_holds_is_reached():
    edges, holds = random_world(0, types=0)[0], np.array([[True, False]])
    assert expected_executions(edges, begun(holds)).tolist() == [[0.0, FARTHEST]]
    steps, shares = first_steps(edges, np.zeros((1, 2)), np.ones(1), NOTHING)
    assert steps.shape == shares.shape == (1, 0)
