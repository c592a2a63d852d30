"""MCQS-S against expectimax, and its policy graph against sampled worlds."""

import random
from collections import Counter
from math import log, sqrt
from textwrap import indent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capscope.journal.execution_table import Transition
from capscope.journal.settings import Settings
from capscope.model import ExtremeModels
from capscope.strategy.base import SequencePolicy
from capscope.strategy.paper.mcqs_s import SampledGame, draw_successor, mcqs_sampled
from capscope.strategy.paper.uct import Edge, Node, TreePolicy, search
from support.tiny_models import (
    ALL,
    INTENTS,
    TWO,
    everything_tried,
    learned,
    nodes_below,
    random_models,
    random_world,
    replayed,
)


def searched(graph, start, config, xi=0.0, seed=0):
    """Search as the strategy does and hand out the tree."""
    game = SampledGame(graph, config.depth, xi)
    rng = random.Random(seed)
    return search(game.root(start), game, config.iterations, config.exploration, rng), game


def best_policy_twin(graph, state, depth, xi=0.0):
    """Return the best chance of meeting an untried pair, by trying every policy to its end."""
    if not depth:
        return 0.0
    values = []
    for capability, intent in enumerate(graph.capabilities):
        pair = graph.pair(state, capability)
        if pair is None:
            values.append(1.0)
            continue
        beyond = sum(
            probability * best_policy_twin(graph, successor, depth - 1, xi)
            for successor, probability in ExtremeModels(graph)
            .pessimistic.predict(state, intent)
            .items()
        )
        missing = xi / (1 + pair.total)
        values.append(missing + (1 - missing) * beyond)
    return max(values)


def dump(node):
    """Write a tree as text: state (visits, value), below it capability (visits, value)."""
    lines = [f"{node.content.state:02b} ({node.visits}, {node.value:.4g})"]
    for edge in node.edges:
        lines.append(f"  {'abc'[edge.capability]} ({edge.visits}, {edge.value:.4g})")
        lines += [indent(dump(child), "    ") for child in edge.children.values()]
    return "\n".join(lines)


# Golden trees.


def test_golden_tree_of_a_stochastic_step_towards_something_untried():
    graph = learned(
        {
            Transition(0b00, 0, 0b01): 3,
            Transition(0b00, 0, 0b00): 1,
            Transition(0b00, 1, 0b00): 4,
            Transition(0b01, 0, 0b00): 4,
        },
        TWO,
    )
    root, _ = searched(graph, 0, Settings(depth=2, iterations=8), seed=1)
    assert dump(root) == GOLDEN_STEP.strip()


def test_golden_tree_of_a_bonus_where_everything_was_tried():
    root, _ = searched(everything_tried(), 0, Settings(depth=2, iterations=8), xi=0.5)
    assert dump(root) == GOLDEN_BONUS.strip()


GOLDEN_STEP = """
00 (8, 0.875)
  a (8, 0.875)
    01 (7, 1)
      b (5, 1)
      a (2, 0)
        00 (0, 0)
    00 (0, 0)
"""
GOLDEN_BONUS = """
00 (8, 0.4375)
  b (4, 0.4375)
    00 (4, 0.25)
      b (2, 0.25)
        00 (0, 0)
      a (2, 0.25)
        01 (0, 0)
  a (4, 0.375)
    01 (4, 0.1667)
      a (2, 0.1667)
        00 (0, 0)
      b (2, 0.1667)
        01 (0, 0)
"""


# What the search finds, against trying every policy.


def test_with_enough_iterations_the_value_of_the_root_is_that_of_the_best_policy():
    for seed in range(25):
        rng = random.Random(seed)
        graph = random_models(rng, rng.choice([0.7, 0.8, 0.9, 0.95]))
        depth, start = rng.randint(1, 3), rng.choice(ALL)
        root, _ = searched(graph, start, Settings(depth=depth, iterations=2000))
        assert root.value == pytest.approx(best_policy_twin(graph, start, depth), abs=0.06)


@pytest.mark.parametrize("xi", [0.5, 1e-5])
def test_where_everything_was_tried_the_value_is_the_largest_expected_bonus(xi):
    for seed in range(10):
        rng = random.Random(seed)
        graph = random_models(rng, share=1.0)
        config = Settings(depth=rng.randint(2, 3), iterations=1500)
        root, _ = searched(graph, 0, config, xi)
        expected = best_policy_twin(graph, 0, config.depth, xi)
        assert root.value == pytest.approx(expected, rel=0.05)


@given(st.integers(0, 10**6), st.sampled_from(ALL), st.floats(1e-9, 1.0))
def test_one_step_deep_the_value_is_the_bonus_of_the_pair_least_often_tried(seed, start, xi):
    graph = random_models(random.Random(seed), share=1.0)
    root, _ = searched(graph, start, Settings(depth=1, iterations=10), xi)
    assert root.value == pytest.approx(max(xi / (1 + p.total) for p in graph.node(start).pairs))


def test_a_policy_taken_greedily_is_nearly_as_good_as_the_best():
    for seed in range(20):
        graph = random_models(random.Random(seed), 0.85)
        config = Settings(depth=3, iterations=2000)
        root, game = searched(graph, 0, config)
        policy = TreePolicy(game, root, 0, 0.0)
        best = best_policy_twin(graph, 0, 3)
        assert best - 0.1 <= chance_of_news(graph, policy, 0) <= best + 1e-9


def chance_of_news(graph, policy, start):
    """Return how likely a policy meets an untried pair, in a world as the models see it."""

    def from_here(history, state):
        walk = policy.walk()
        for seen in history:
            walk(seen)
        capability = walk(state)
        if capability is None:
            return 0.0
        if graph.pair(state, capability) is None:
            return 1.0
        ahead = ExtremeModels(graph).pessimistic.predict(state, graph.capabilities[capability])
        return sum(p * from_here((*history, state), end) for end, p in ahead.items())

    return from_here((), start)


# Bookkeeping.


@given(
    st.integers(0, 10**6),
    st.integers(1, 60),
    st.integers(1, 6),
    st.sampled_from([0.0, 1e-5, 1.0]),
)
def test_visits_add_up_and_a_node_is_worth_its_best_edge(seed, iterations, depth, xi):
    rng = random.Random(seed)
    graph = random_models(rng, rng.random())
    config = Settings(depth=depth, iterations=iterations)
    root, _ = searched(graph, rng.choice(ALL), config, xi, seed)
    assert root.visits == (iterations if root.edges else 0)
    for node in nodes_below(root):
        assert node.depth <= depth
        # A rollout's first step counts as a visit once it is unfolded.
        assert node.visits == sum(edge.visits for edge in node.edges)
        assert all(edge.visits for edge in node.edges)
        assert 0.0 <= node.value <= 1.0 + 1e-9
        if node.edges:
            assert node.value == max(edge.value for edge in node.edges)
        elif node.depth == depth:
            assert node.value == 0.0
        for edge in node.edges:
            assert 0.0 <= edge.value <= 1.0 + 1e-9
            untried = node.content.pairs[edge.capability] is None
            assert bool(edge.children) is not untried
            assert not untried or edge.value == pytest.approx(1.0)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 1e-5]))
def test_a_capability_known_to_be_idle_is_only_played_for_a_bonus(seed, xi):
    graph = random_models(random.Random(seed), 0.9)
    root, _ = searched(graph, 0, Settings(depth=4, iterations=60), xi, seed)
    for node in nodes_below(root):
        played = {edge.capability for edge in node.edges}
        assert played <= set(range(len(INTENTS)) if xi else node.content.open)


def test_successors_are_drawn_as_often_as_their_block_saw_them():
    graph = learned({Transition(0, 0, 1): 6, Transition(0, 0, 2): 3, Transition(0, 0, 0): 1})
    rng = random.Random(0)
    drawn = Counter(draw_successor(graph.pair(0, 0), rng).state for _ in range(10_000))
    assert {s: n / 10_000 for s, n in drawn.items()} == pytest.approx(
        {1: 0.6, 2: 0.3, 0: 0.1}, abs=0.02
    )


# The choice of a plan.


def idle_everywhere(counts):
    """Models in which everything was tried, did nothing, and so often."""
    return learned({Transition(s, c, s): counts[c] for s in ALL for c in range(len(counts))})


@given(st.integers(0, 10**6), st.integers(1, 9))
def test_where_nothing_is_promised_the_plan_is_a_random_sequence(seed, depth):
    graph = random_models(random.Random(seed), share=1.0)
    config = Settings(depth=depth, iterations=20)
    plan = mcqs_sampled(ExtremeModels(graph), 0, 0.0, random.Random(seed), config)
    assert isinstance(plan.policy, SequencePolicy)
    assert len(plan.policy.sequence) == depth
    assert set(plan.policy.sequence) <= set(range(len(INTENTS)))
    assert (plan.predicted, plan.informative) == (0.0, False)


@pytest.mark.parametrize("rare", range(3))
def test_the_bonus_prefers_the_pair_that_was_tried_less_often(rare):
    counts = [9, 9, 9]
    counts[rare] = 1
    config = Settings(depth=1, iterations=30)
    plan = mcqs_sampled(ExtremeModels(idle_everywhere(counts)), 0, 1e-5, random.Random(0), config)
    assert plan.predicted == pytest.approx(1e-5 / 2)
    assert plan.policy.walk()(0) == rare
    assert not plan.informative


def test_a_bonus_is_no_match_for_something_untried():
    graph = idle_everywhere([1, 1])  # and the third was never asked for
    config = Settings(iterations=50)
    plan = mcqs_sampled(ExtremeModels(graph), 0, 1e-5, random.Random(0), config)
    plan.policy.exploration = 0.0
    assert plan.policy.walk()(0) == 2
    assert plan.informative


@given(st.integers(0, 10**6), st.sampled_from([0.0, 1e-5]))
def test_one_seed_one_plan(seed, xi):
    config = Settings(depth=5, iterations=40)
    first, second = (
        mcqs_sampled(
            ExtremeModels(random_models(random.Random(seed), 0.7)),
            0,
            xi,
            random.Random(seed),
            config,
        )
        for _ in range(2)
    )
    assert first.policy.describe() == second.policy.describe()
    assert (first.predicted, first.informative) == (second.predicted, second.informative)


# The policy graph.


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 6), st.sampled_from([0.0, 1e-5]))
def test_replayed_in_a_world_a_policy_asks_for_what_there_is_and_ends_in_time(seed, depth, xi):
    rng = random.Random(seed)
    world = random_world(rng)
    graph = random_models(rng, 0.7, world)
    config = Settings(depth=depth, iterations=60)
    policy = mcqs_sampled(ExtremeModels(graph), 0, xi, rng, config).policy
    for _ in range(12):
        _, asked = replayed(policy, world, 0, rng)
        assert 1 <= len(asked) <= depth
        assert set(asked) <= set(range(len(INTENTS)))


def test_the_visits_of_draws_count_in_the_tree_as_in_the_paper():
    graph = learned({})
    config = Settings(depth=1, iterations=300).as_in_paper()
    root, game = searched(graph, 0, config)
    policy = TreePolicy(game, root, 0, config.exploration)
    visits = [(edge.capability, edge.visits, edge.value) for edge in root.edges]
    bounds, chosen = {c: [n, value] for c, n, value in visits}, []
    for draw in range(12):
        total = root.visits
        assert total == sum(n for _, n, _ in visits) + draw
        expected = max(
            bounds,
            key=lambda c: bounds[c][1] + config.exploration * sqrt(log(total) / bounds[c][0]),
        )
        bounds[expected][0] += 1
        chosen.append(policy.walk()(0))
        assert chosen[-1] == expected
    # Identical draws would find one new pair; these find several.
    assert len(set(chosen)) == len(graph.capabilities)


def tree(graph, state, depth, capability=None, children=()):
    """Make a decision node by hand, with one edge that was followed."""
    node = Node(graph.node(state), depth, [])
    if capability is not None:
        edge = Edge(capability)
        node.visits = edge.visits = 1
        edge.children = {child.content: child for child in children}
        node.edges.append(edge)
    return node


def frozen(graph, root):
    return TreePolicy(SampledGame(graph, 9, 0.0), root, 0, 0.0)


def test_the_same_state_at_another_depth_is_another_node():
    graph = learned({})
    later = tree(graph, 0b000, 1, 1)
    walk = frozen(graph, tree(graph, 0b000, 0, 0, [later])).walk()
    assert [walk(0b000), walk(0b000), walk(0b000)] == [0, 1, None]


def test_an_observation_that_the_search_never_saw_ends_the_walk():
    graph = learned({})
    policy = frozen(graph, tree(graph, 0b000, 0, 2, [tree(graph, 0b001, 1, 1)]))
    assert policy.walk()(0b111) is None
    walk = policy.walk()
    assert walk(0b000) == 2
    assert walk(0b111) is None
    walk = policy.walk()
    assert [walk(0b000), walk(0b001), walk(0b001)] == [2, 1, None]


def test_a_policy_without_exploration_still_follows_a_successful_rollout_to_its_end():
    # A corridor: only capability 0 moves on, and only its end is untried.
    flips = {0b000: 0b001, 0b001: 0b011, 0b011: 0b111}
    transitions = {Transition(s, c, s): 1 for s in flips for c in (1, 2)}
    transitions |= {Transition(s, 0, end): 1 for s, end in flips.items()}
    graph = learned(transitions)
    config = Settings(depth=4, iterations=1)
    plan = mcqs_sampled(ExtremeModels(graph), 0b000, 0.0, random.Random(0), config)
    walk = plan.policy.walk()
    assert [walk(state) for state in (0b000, 0b001, 0b011)] == [0, 0, 0]
    assert walk(0b111) in range(3)
    assert plan.predicted == 1.0
