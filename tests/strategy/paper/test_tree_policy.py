"""The policy of MCQS-E, replayed against what is observed."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from capscope.journal.execution_table import Transition
from capscope.journal.settings import Settings
from capscope.model import ExtremeModels
from capscope.strategy.paper.mcqs_e import mcqs_exact
from capscope.strategy.paper.uct import TreePolicy
from support.tiny_models import (
    ALL,
    INTENTS,
    learned,
    random_models,
    random_world,
    replayed,
)
from support.tiny_models import search_exactly as searched

OBSERVATIONS = st.lists(st.sampled_from(ALL), min_size=1, max_size=6)


def tree_policy(graph, start=0, **given):
    config = Settings(**{"depth": 4, "iterations": 60, **given})
    root, game = searched(graph, start, config)
    return TreePolicy(game, root, start, config.exploration)


def answers_to(policy, observations):
    """Show one walk these states and list what it asks, to its end."""
    walk, asked = policy.walk(), []
    for state in observations:
        asked.append(walk(state))
        if asked[-1] is None:
            break
    return asked


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 6), st.sampled_from([0.0, 1e-5]))
def test_replayed_in_a_world_a_policy_asks_for_what_there_is_and_ends_in_time(seed, depth, xi):
    rng = random.Random(seed)
    world = random_world(rng)
    graph = random_models(rng, 0.7, world)
    config = Settings(depth=depth, iterations=40)
    plan = mcqs_exact(ExtremeModels(graph), 0, xi, rng, config)
    for _ in range(12):
        _, asked = replayed(plan.policy, world, 0, rng)
        assert len(asked) <= depth
        assert asked or not plan.predicted
        assert set(asked) <= set(range(len(INTENTS)))


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.lists(OBSERVATIONS, min_size=1, max_size=4))
def test_what_persists_depends_on_the_observations_of_earlier_draws_only(seed, draws):
    one, other = (tree_policy(random_models(random.Random(seed), 0.7)) for _ in range(2))
    assert [answers_to(one, s) for s in draws] == [answers_to(other, s) for s in draws]
    assert one.describe() == other.describe()


@settings(max_examples=50)
@given(st.integers(0, 10**6), OBSERVATIONS)
def test_without_a_bonus_nothing_is_asked_that_is_known_to_be_idle(seed, observations):
    graph = random_models(random.Random(seed), 0.8)
    policy = tree_policy(graph)
    for state, capability in zip(observations, answers_to(policy, observations), strict=False):
        assert capability is None or capability in graph.node(state).open


@settings(max_examples=50)
@given(st.integers(0, 10**6), OBSERVATIONS)
def test_what_is_asked_has_the_value_that_is_predicted_from_the_observed_state(seed, observations):
    policy = tree_policy(random_models(random.Random(seed), 0.8))
    walk, node = policy.walk(), policy.root
    for state in observations:
        capability = walk(state)
        if capability is None:
            break
        (edge,) = (edge for edge in node.edges if edge.capability == capability)
        after = policy.game.step(policy.game.certain(state), capability)
        assert edge.children[None].content.supports == after.supports
        # Certain of the observed state, both models agree there; what is below counts.
        assert edge.value == edge.children[None].value >= after.distance
        assert node.value == max(other.value for other in node.edges)
        node = edge.children[None]


# Capability 0 leads from 0 to 1 or to 2, more often to 1, and from there no further. Capability 1
# was never tried in 1, capability 2 not in 2; the other one is known to move on to 7.
FORK = {
    Transition(0, 0, 1): 3,
    Transition(0, 0, 2): 1,
    Transition(0, 1, 0): 1,
    Transition(0, 2, 0): 1,
    Transition(1, 0, 1): 1,
    Transition(2, 0, 2): 1,
    Transition(2, 1, 7): 1,
    Transition(1, 2, 7): 1,
}


def test_the_branch_that_is_best_depends_on_what_was_observed():
    policy = tree_policy(learned(FORK), depth=2, iterations=100)
    assert answers_to(policy, [0, 1]) == [0, 1]
    assert answers_to(policy, [0, 2]) == [0, 2]


def test_unconditioned_the_tree_would_ask_what_the_likelier_state_calls_for():
    policy = tree_policy(learned(FORK), depth=2, iterations=100)
    best = max(policy.root.edges, key=lambda edge: edge.value).children[None]
    assert max(policy.game.edges(best), key=lambda edge: edge.value).capability == 1


def test_an_observation_that_no_model_predicted_is_conditioned_on_as_well():
    # In 4 only capability 2 was never tried; the others are known to do nothing.
    graph = learned(FORK | {Transition(4, c, 4): 1 for c in (0, 1)})
    policy = tree_policy(graph, depth=2, iterations=100)
    assert answers_to(policy, [0, 4]) == [0, 2]


def test_a_draw_goes_on_after_full_disagreement():
    # Nothing was tried anywhere, so every capability is full disagreement. The tree has one way to
    # each support: of the three branches of the root, one at least leads further.
    policy = tree_policy(learned({}), iterations=300)
    assert max(len(answers_to(policy, [0, 1, 3, None])) for _ in range(3)) > 2


def test_a_draw_ends_where_nothing_more_can_be_told():
    graph = learned(FORK | {Transition(4, c, 4): 1 for c in range(3)})
    policy = tree_policy(graph, depth=2, iterations=100)
    assert answers_to(policy, [0, 4]) == [0, None]
    assert answers_to(policy, [4]) == [None]


def test_statistics_that_persist_spread_the_draws_of_a_query_over_what_is_untried():
    policy = tree_policy(learned({}), iterations=100)
    assert sorted(answers_to(policy, [0])[0] for _ in range(3)) == [0, 1, 2]


def test_what_was_chosen_is_described_by_depth_and_state():
    policy = tree_policy(learned(FORK), depth=2, iterations=100)
    answers_to(policy, [0, 2])
    assert policy.describe() == {
        "kind": "tree",
        "choices": [
            {"depth": 0, "state": "0x0", "capability": 0},
            {"depth": 1, "state": "0x2", "capability": 2},
        ],
    }


def test_a_policy_that_was_not_executed_is_described_by_its_first_choice():
    policy = tree_policy(learned(FORK), depth=2, iterations=100)
    assert policy.describe()["choices"] == [{"depth": 0, "state": "0x0", "capability": 0}]


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 1e-5]))
def test_one_seed_one_plan(seed, xi):
    config = Settings(depth=4, iterations=30)
    plans = [
        mcqs_exact(
            ExtremeModels(random_models(random.Random(seed), 0.7)),
            0,
            xi,
            random.Random(seed),
            config,
        )
        for _ in range(2)
    ]
    for plan in plans:
        replayed(plan.policy, random_world(random.Random(seed)), 0, random.Random(seed))
    assert plans[0].policy.describe() == plans[1].policy.describe()
    assert plans[0].predicted == plans[1].predicted
