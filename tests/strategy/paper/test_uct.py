"""The search itself, on a game of its own: a tree of given rewards, no models in sight."""

import random
from math import inf, log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.strategy.paper.uct import Edge, Node, best_edge, search


def edge(visits, value, capability=0):
    made = Edge(capability)
    made.visits, made.value = visits, value
    return made


def bound_twin(an_edge, visits, exploration):
    """UCT(s, c) = Q(s, c) + λ √(ln N(s) / N(s, c)), without limit where N(s, c) = 0."""
    if not an_edge.visits:
        return inf
    return an_edge.value + exploration * sqrt(log(max(visits, 1)) / an_edge.visits)


EDGES = st.lists(st.builds(edge, st.integers(0, 50), st.floats(0.0, 1.0)), min_size=1, max_size=8)


@given(EDGES, st.floats(0.0, 5.0), st.integers(0, 5))
def test_the_best_edge_has_the_highest_upper_confidence_bound(edges, exploration, unfinished):
    # A node may have been visited more often than its edges say, never less often.
    visits = sum(e.visits for e in edges) + unfinished
    chosen = best_edge(edges, visits, exploration)
    highest = max(bound_twin(e, visits, exploration) for e in edges)
    if highest == inf:
        assert chosen.visits == 0
    else:
        assert bound_twin(chosen, visits, exploration) == pytest.approx(highest)


@pytest.mark.parametrize("exploration", [0.0, 0.1, sqrt(2), 100.0])
@pytest.mark.parametrize("visits", [0, 1, 2, 1000])
def test_an_edge_never_followed_comes_first_whatever_the_others_promise(exploration, visits):
    new = edge(0, 0.0)
    for edges in ([edge(visits, 1.0), new], [new, edge(visits, 1.0)]):
        assert best_edge(edges, visits, exploration).visits == 0


def test_without_exploration_the_highest_value_wins_and_then_the_first():
    edges = [edge(9, 0.25), edge(1, 0.5, 1), edge(90, 0.5, 2)]
    assert best_edge(edges, 100, 0.0) is edges[1]


def test_the_more_exploration_the_more_seldom_followed_edges_count():
    often, rarely = edge(99, 0.9), edge(1, 0.5)
    assert best_edge([often, rarely], 100, 0.1) is often
    assert best_edge([often, rarely], 100, 1.0) is rarely


class Ladder:
    """A game of numbers: capability c leads from n to 4n + c + 1; the worth of a node is given.

    The values are the best seen, as in MCQS-E, and every call is noted.
    """

    def __init__(self, worth, depth=3, width=3, per_visit=1, enough=inf):
        self.worth = worth
        self.depth = depth
        self.width = width
        self.per_visit = per_visit
        self.enough = enough
        self.evaluated = []

    def node(self, number, depth):
        return Node(number, depth, list(range(self.width)), final=depth >= self.depth)

    def settled(self, root):
        return root.value >= self.enough

    def grow(self, node, rng):
        for _ in range(min(self.per_visit, len(node.left))):
            node.edges.append(Edge(node.left.pop(0)))

    def follow(self, node, an_edge, rng):
        new = not an_edge.children
        if new:
            number = 4 * node.content + an_edge.capability + 1
            an_edge.children[None] = self.node(number, node.depth + 1)
        return an_edge.children[None], new

    def evaluate(self, node, rng):
        self.evaluated.append(node.content)
        node.value = self.worth(node.content)
        return node.value

    def backup(self, path, value):
        for node, an_edge, _ in reversed(path):
            node.visits += 1
            an_edge.visits += 1
            an_edge.value = max(an_edge.value, value)
            value = node.value = max(node.value, an_edge.value)


def climbed(game, iterations):
    return search(game.node(0, 0), game, iterations, sqrt(2), random.Random(0))


def nodes_below(node):
    yield node
    for an_edge in node.edges:
        for child in an_edge.children.values():
            yield from nodes_below(child)


@given(st.integers(0, 120), st.integers(1, 3), st.integers(0, 4), st.randoms())
def test_each_iteration_passes_the_root_once_and_evaluates_at_most_one_node(
    iterations, per_visit, depth, rng
):
    worth = {}
    game = Ladder(lambda n: worth.setdefault(n, rng.random()), depth, per_visit=per_visit)
    root = climbed(game, iterations)
    assert root.visits == (iterations if depth else 0)
    assert len(game.evaluated) == len(set(game.evaluated)) <= iterations
    for node in nodes_below(root):
        assert node.visits == sum(e.visits for e in node.edges)
        assert node.depth <= depth
        assert len({e.capability for e in node.edges}) == len(node.edges)


def test_a_search_long_enough_finds_the_one_leaf_that_is_worth_something():
    # 4·(4·(4·0 + 3) + 3) + 3: the last capability each time.
    game = Ladder(lambda number: float(number == 63))
    root = climbed(game, 200)
    assert root.value == 1.0
    assert best_edge(root.edges, root.visits, 0.0).capability == 2


def test_a_search_ends_once_nothing_better_can_be_found():
    game = Ladder(lambda number: float(number == 63), enough=1.0)
    root = climbed(game, 10_000)
    assert root.value == 1.0
    assert game.evaluated[-1] == 63
    assert root.visits < 200


def test_visits_go_where_values_are():
    game = Ladder(lambda number: 0.9 if number == 1 else 0.1, depth=1)
    root = climbed(game, 300)
    visits = {e.capability: e.visits for e in root.edges}
    assert visits[0] > 2 * max(visits[1], visits[2])
    assert min(visits.values()) > 5


def test_edges_are_added_as_a_node_is_visited_and_unvisited_ones_are_followed_in_turn():
    game = Ladder(lambda number: 0.5, per_visit=2)
    root = climbed(game, 1)
    assert [(e.capability, e.visits) for e in root.edges] == [(0, 1), (1, 0)]
    root = climbed(game, 3)
    assert [(e.capability, e.visits) for e in root.edges] == [(0, 1), (1, 1), (2, 1)]
    assert all(not e.children[None].edges for e in root.edges)


def test_a_game_without_choices_leaves_the_root_as_it_was():
    game = Ladder(lambda number: 1.0, width=0)
    root = climbed(game, 10)
    assert (root.visits, root.value, root.edges) == (0, 0.0, [])


def test_a_final_node_is_visited_again_without_being_evaluated_again():
    game = Ladder(lambda number: 0.5, depth=1, width=1)
    root = climbed(game, 7)
    assert game.evaluated == [1]
    assert root.edges[0].visits == 7
