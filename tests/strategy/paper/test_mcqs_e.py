"""MCQS-E against exhaustive search over capability sequences, and its policy against worlds."""

import itertools
import random
from collections import defaultdict
from math import exp, log
from textwrap import indent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capscope.journal.execution_table import Transition
from capscope.journal.settings import Settings
from capscope.logic import Intent, Vocabulary
from capscope.model import ExtremeModels, StateGraph
from capscope.strategy.base import SequencePolicy
from capscope.strategy.paper.mcqs_e import ExactGame, Predictions, mcqs_exact
from support.tiny_models import (
    ALL,
    INTENTS,
    TWO,
    everything_tried,
    learned,
    nodes_below,
    random_models,
)
from support.tiny_models import search_exactly as searched

# The twin: plain probabilities, every sequence, nothing pruned.


def moved(graph, distribution, capability, *, optimistic):
    model = ExtremeModels(graph).optimistic if optimistic else ExtremeModels(graph).pessimistic
    after = defaultdict(float)
    for state, mass in distribution.items():
        for successor, probability in model.predict(state, graph.capabilities[capability]).items():
            after[successor] += mass * probability
    return dict(after)


def apart(one, other):
    nowhere = abs(sum(one.values()) - sum(other.values()))
    return (sum(abs(one.get(s, 0.0) - other.get(s, 0.0)) for s in ALL) + nowhere) / 2


def both_moved(graph, pair, capability):
    pessimist, optimist = pair
    return (
        moved(graph, pessimist, capability, optimistic=False),
        moved(graph, optimist, capability, optimistic=True),
    )


def largest_distance(graph, start, depth):
    """Return the largest distance on the way of any sequence of capabilities."""
    largest = 0.0
    for sequence in itertools.product(range(len(graph.capabilities)), repeat=depth):
        pair = ({start: 1.0}, {start: 1.0})
        for capability in sequence:
            pair = both_moved(graph, pair, capability)
            largest = max(largest, apart(*pair))
    return largest


def largest_without_returning(graph, pair, depth, passed=frozenset()):
    """The same over the ways that end as soon as they come back to supports they had before.

    That, and that capabilities known to be idle are left out, is what pruning costs.
    """
    largest = apart(*pair)
    supports = tuple(map(frozenset, pair))
    if not depth or supports in passed:
        return largest
    for capability in range(len(graph.capabilities)):
        after = both_moved(graph, pair, capability)
        if len(pair[0]) != 1 or not idle(graph, pair[0], capability):
            value = largest_without_returning(graph, after, depth - 1, passed | {supports})
            largest = max(largest, value)
    return largest


def idle(graph, certain, capability):
    (state,) = certain
    return ExtremeModels(graph).pessimistic.predict(state, graph.capabilities[capability]) == {
        state: 1.0
    }


def dump(node):
    """Write a tree as text: both distributions (visits, value), below it its capabilities."""

    def written(distribution):
        masses = (f"{s:02b}:{exp(mass):.3g}" for s, mass in sorted(distribution.items()))
        return " ".join(masses) or "nowhere"

    meta = node.content
    lines = [
        f"{written(meta.pessimist)} | {written(meta.optimist)} ({node.visits}, {node.value:.4g})"
    ]
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
            Transition(0b01, 0, 0b01): 4,
            Transition(0b100, 1, 0b110): 1,
        },
        TWO,
    )
    root, _ = searched(graph, 0, Settings(depth=3, iterations=8))
    assert dump(root) == GOLDEN_STEP.strip()


def test_golden_tree_in_which_a_capability_never_executed_is_believed_to_do_as_asked():
    graph = learned({Transition(0b00, 0, 0b01): 1, Transition(0b01, 0, 0b01): 1}, TWO)
    root, _ = searched(graph, 0, Settings(depth=2, iterations=6))
    assert dump(root) == GOLDEN_WISH.strip()


def test_golden_tree_of_a_bonus_where_everything_was_tried():
    root, _ = searched(everything_tried(), 0, Settings(depth=2, iterations=8), xi=0.5)
    assert dump(root) == GOLDEN_BONUS.strip()


GOLDEN_STEP = """
00:1 | 00:1 (8, 0.9375)
  a (8, 0.9375)
    00:0.25 01:0.75 | 00:0.25 01:0.75 (7, 0.9375)
      b (7, 0.75)
        00:0.25 | 00:0.25 01:0.375 11:0.375 (6, 0.75)
          a (6, 0.75)
            00:0.0625 01:0.188 | 00:0.0625 01:0.562 11:0.375 (0, 0.75)
"""
GOLDEN_WISH = """
00:1 | 00:1 (6, 1)
  b (3, 1)
    nowhere | 10:1 (2, 1)
      a (2, 1)
        nowhere | 10:0.5 11:0.5 (0, 1)
  a (3, 1)
    01:1 | 01:1 (2, 1)
      b (2, 1)
        nowhere | 11:1 (0, 1)
"""
GOLDEN_BONUS = """
00:1 | 00:1 (8, 0.375)
  b (4, 0.25)
    00:1 | 00:1 (0, 0.25)
  a (4, 0.375)
    01:1 | 01:1 (3, 0.375)
      a (2, 0.375)
        00:1 | 00:1 (0, 0.375)
      b (1, 0.375)
        01:1 | 01:1 (0, 0.375)
"""


# What the search finds, against trying every sequence.


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 80))
def test_the_value_of_the_root_is_never_above_what_some_sequence_reaches(seed, depth, iterations):
    rng = random.Random(seed)
    graph = random_models(rng, rng.random())
    start = rng.choice(ALL)
    root, _ = searched(graph, start, Settings(depth=depth, iterations=iterations))
    assert root.value <= largest_distance(graph, start, depth) + 1e-9


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from(ALL))
def test_one_step_deep_the_value_is_the_largest_distance(seed, start):
    graph = random_models(random.Random(seed), random.Random(seed).random())
    root, _ = searched(graph, start, Settings(depth=1, iterations=10))
    assert root.value == pytest.approx(largest_distance(graph, start, 1), abs=1e-9)


def test_with_enough_iterations_the_best_sequence_is_found_but_for_what_pruning_costs():
    found = 0
    for seed in range(60):
        rng = random.Random(seed)
        graph = random_models(rng, rng.choice([0.7, 0.8, 0.9, 0.95]))
        config = Settings(depth=rng.randint(2, 3), iterations=100)
        best = largest_without_returning(graph, ({0: 1.0}, {0: 1.0}), config.depth)
        values = [searched(graph, 0, config, seed=s)[0].value for s in range(3)]
        assert max(values) >= 0.8 * best
        found += max(values) >= best - 1e-9
    assert found >= 57


def test_the_distance_at_a_node_is_that_of_the_sequence_that_leads_there():
    for seed in range(10):
        graph = random_models(random.Random(seed), 0.6)
        root, _ = searched(graph, 0, Settings(depth=3, iterations=40), seed=seed)

        def compare(node, pair, graph=graph):
            assert node.content.distance == pytest.approx(apart(*pair), abs=1e-9)
            for edge in node.edges:
                for child in edge.children.values():
                    compare(child, both_moved(graph, pair, edge.capability))

        compare(root, ({0: 1.0}, {0: 1.0}))


def test_an_untried_pair_that_the_optimist_believes_idle_too_is_full_disagreement():
    # Never tried in 1, and all it was ever seen to do is what 1 has already. If the pessimist left
    # the mass of 1 where it is, no query would ever ask for this pair.
    graph = learned({Transition(0, 0, 1): 1, Transition(0, 1, 0): 1, Transition(0, 2, 0): 1})
    assert graph.pair(1, 0) is None
    assert ExtremeModels(graph).optimistic.predict(1, graph.capabilities[0]) == {1: 1.0}
    root, game = searched(graph, 1, Settings(depth=1, iterations=10))
    assert root.value == 1.0
    assert game.step(root.content, 0).distance == 1.0


# Bookkeeping.


@given(
    st.integers(0, 10**6),
    st.integers(1, 60),
    st.integers(1, 6),
    st.sampled_from([0.0, 1e-5, 1.0]),
)
def test_visits_add_up_and_values_are_bounds_of_what_is_below(seed, n, depth, xi):
    rng = random.Random(seed)
    graph = random_models(rng, rng.random())
    config = Settings(depth=depth, iterations=n)
    root, _ = searched(graph, rng.choice(ALL), config, xi, seed)
    assert root.visits == (n if root.edges else 0)
    for node in nodes_below(root):
        assert node.depth <= depth
        assert node.visits == sum(edge.visits for edge in node.edges)
        assert len(node.edges) <= 3 * node.visits
        assert 0.0 <= node.content.distance <= node.value <= 1.0 + 1e-9
        for edge in node.edges:
            assert edge.value <= node.value
            if edge.visits:
                child = edge.children[None]
                assert edge.value >= max(node.content.distance, child.value) - 1e-9


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.integers(1, 40), st.sampled_from([0.0, 1e-5]))
def test_searching_longer_never_lowers_the_value(seed, iterations, xi):
    graph = random_models(random.Random(seed), 0.8)
    values = [
        searched(graph, 0, Settings(depth=4, iterations=n), xi, seed)[0].value
        for n in (iterations, 2 * iterations)
    ]
    assert values[0] <= values[1]


@settings(max_examples=100)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 1e-5]))
def test_a_search_that_ends_when_its_tree_is_complete_misses_nothing(seed, xi):
    graph = random_models(random.Random(seed), 0.8)
    config = Settings(depth=4, iterations=400)
    whole, _ = searched(graph, 0, config, xi, seed)
    cut, _ = searched(graph, 0, config, xi, seed, to_the_end=False)
    assert cut.value == pytest.approx(whole.value, abs=1e-8)
    assert cut.visits <= whole.visits


def test_a_tree_that_is_fully_grown_is_searched_no_longer():
    graph = random_models(random.Random(0), 1.0)
    config = Settings(depth=3, iterations=10_000)
    root, _ = searched(graph, 0, config, to_the_end=False)
    assert root.visits < 1000


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 1e-5]))
def test_no_two_nodes_with_equal_supports_are_both_grown(seed, xi):
    graph = random_models(random.Random(seed), 0.7)
    root, _ = searched(graph, 0, Settings(depth=4, iterations=80), xi, seed)
    grown = [node.content.supports for node in nodes_below(root) if node.edges]
    assert len(grown) == len(set(grown))
    for node in nodes_below(root):
        if not xi and len(node.content.pessimist) == 1:
            (state,) = node.content.pessimist
            assert {e.capability for e in node.edges} <= set(graph.node(state).open)


def test_a_visit_adds_three_children_while_there_are_capabilities_left():
    atoms = "pqrstuvw"
    graph = StateGraph(Vocabulary.of_atoms(atoms), [Intent.parse(atom) for atom in atoms])
    for iterations, children in ((1, 3), (2, 6), (3, 8), (4, 8)):
        root, _ = searched(graph, 0, Settings(depth=1, iterations=iterations))
        assert len(root.edges) == children


# ξ.


@given(
    st.integers(0, 10**6),
    st.dictionaries(st.sampled_from(ALL), st.integers(1, 9), min_size=1),
    st.integers(0, len(INTENTS) - 1),
    st.floats(0.0, 1.0),
)
def test_where_all_was_tried_the_reward_is_the_expected_bonus(seed, weights, capability, xi):
    graph = random_models(random.Random(seed), share=1.0)
    total = sum(weights.values())
    rho = {state: log(weight / total) for state, weight in weights.items()}
    game = ExactGame(ExtremeModels(graph), Settings().depth, xi)
    after = game.step(Predictions(rho, dict(rho), 0.0), capability)
    bonus = sum(
        weight / total * xi / (1 + graph.pair(state, capability).total)
        for state, weight in weights.items()
    )
    assert after.distance == pytest.approx(bonus, abs=1e-12)


@given(st.integers(0, 10**6), st.sampled_from(ALL), st.floats(1e-9, 1.0))
def test_one_step_deep_the_value_is_the_bonus_of_the_pair_least_often_tried(seed, start, xi):
    graph = random_models(random.Random(seed), share=1.0)
    root, _ = searched(graph, start, Settings(depth=1, iterations=10), xi)
    assert root.value == pytest.approx(max(xi / (1 + p.total) for p in graph.node(start).pairs))


@given(st.integers(0, 10**6), st.integers(1, 9))
def test_where_nothing_is_promised_the_plan_is_a_random_sequence(seed, depth):
    graph = random_models(random.Random(seed), share=1.0)
    config = Settings(depth=depth, iterations=20)
    plan = mcqs_exact(ExtremeModels(graph), 0, 0.0, random.Random(seed), config)
    assert isinstance(plan.policy, SequencePolicy)
    assert len(plan.policy.sequence) == depth
    assert set(plan.policy.sequence) <= set(range(len(INTENTS)))
    assert (plan.predicted, plan.informative) == (0.0, False)


@pytest.mark.parametrize("rare", range(3))
def test_the_bonus_prefers_the_pair_that_was_tried_less_often_even_an_idle_one(rare):
    counts = [9, 9, 9]
    counts[rare] = 1
    graph = learned({Transition(s, c, s): counts[c] for s in ALL for c in range(3)})
    config = Settings(depth=1, iterations=30, exploration=0)
    plan = mcqs_exact(ExtremeModels(graph), 0, 1e-5, random.Random(0), config)
    assert plan.predicted == pytest.approx(1e-5 / 2)
    assert plan.policy.walk()(0) == rare
    assert not plan.informative
