"""Draws that share the untried pairs they meet."""

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capscope import Budget, assess
from capscope.record.execution_table import Transition
from capscope.record.journal import Journal
from capscope.record.settings import Settings
from capscope.strategy.random_query import SequencePolicy
from capscope.strategy.shared_draws import PairShares, SharedPolicy
from support.tiny_models import ALL, INTENTS, learned, random_models, random_world, replayed

BOARD = "tests/support/toy_worlds.py:slippery_board"


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 30), st.sampled_from(ALL))
def test_every_untried_pair_belongs_to_as_many_draws_as_asked_for(seed, draws, each, state):
    graph = random_models(random.Random(seed), 0.5)
    shares = PairShares(graph, Settings(draws=draws, draws_per_pair=each), seed)
    owners = Counter(c for draw in range(draws) for c in shares.of(draw, state))
    untried = [c for c in range(len(INTENTS)) if graph.pair(state, c) is None]
    assert owners == dict.fromkeys(untried, min(each, draws))


def test_the_draws_of_a_state_begin_with_different_pairs():
    shares = PairShares(learned({}), Settings(draws=3, draws_per_pair=1), 0)
    assert sorted(shares.of(draw, 0)[0] for draw in range(3)) == [0, 1, 2]


def shared(graph, way=(), draws=5, each=2, longest=6, seed=0):
    shares = PairShares(graph, Settings(draws=draws, draws_per_pair=each), seed)
    return [SharedPolicy(SequencePolicy(way), shares, draw, longest) for draw in range(draws)]


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 8))
def test_a_draw_follows_the_policy_to_its_first_own_pair_and_then_tries_own_pairs_only(seed, most):
    rng = random.Random(seed)
    world = random_world(rng)
    graph = random_models(rng, 0.6, world)
    way = tuple(rng.randrange(len(INTENTS)) for _ in range(10))
    for policy in shared(graph, way, longest=most, seed=seed):
        seen, asked = replayed(policy, world, 0, rng)
        assert len(asked) <= most
        pairs = list(zip(seen, asked, strict=False))
        untried = [pair for pair in pairs if graph.pair(*pair) is None]
        assert len(untried) == len(set(untried))
        first = pairs.index(untried[0]) if untried else len(pairs)
        assert tuple(asked[:first]) == way[:first]
        assert pairs[first:] == untried
        assert all(c in policy.shares.of(policy.draw, s) for s, c in untried)


def test_an_untried_pair_of_another_draw_ends_the_way_of_the_policy():
    policies = shared(learned({Transition(0, 0, 1): 1}), way=(0, 1), draws=3, each=1)
    asked = [policy.walk().next(5) for policy in policies]
    assert sorted(asked) == [0, 1, 2]
    # One pair is left in 1: two of the three draws leave it alone.
    known = {Transition(1, c, 1): 1 for c in (0, 2)}
    policies = shared(learned(known), way=(1,), draws=3, each=1)
    assert sorted(map(str, (policy.walk().next(1) for policy in policies))) == ["1", "None", "None"]


def test_a_shared_policy_is_described_as_the_way_that_all_draws_have_in_common():
    assert shared(learned({}), way=(0, 1), each=2)[0].describe() == {
        "kind": "sequence", "capabilities": [0, 1], "draws_per_pair": 2,
    }  # fmt: skip


@pytest.mark.parametrize("strategy", ["mcqs-s", "mcqs-e"])
def test_draws_that_share_find_more_pairs_with_as_many_executions(strategy, tmp_path, request):
    tried = []
    for each in (0, 2):
        run = assess(
            f"{request.config.rootpath}/{BOARD}", strategy=strategy, run=tmp_path / str(each),
            settings=Settings(draws=10, iterations=50, draws_per_pair=each),
            budget=Budget(executions=25),
        )  # fmt: skip
        tried.append(run.graph.pairs_tried)
    assert tried[0] < tried[1]


def test_random_queries_are_never_shared(tmp_path, request):
    for each in (0, 3):
        assess(
            f"{request.config.rootpath}/{BOARD}", strategy="random", run=tmp_path / str(each),
            settings=Settings(draws=4, draws_per_pair=each), budget=Budget(queries=4),
        )  # fmt: skip
    asked = []
    for each in (0, 3):
        journal = Journal.open(tmp_path / str(each) / "journal.sqlite", read_only=True)
        asked.append([[d.executions for d in journal.draws(number)] for number in range(4)])
        journal.close()
    assert asked[0] == asked[1]
