"""How likely a pair does something new, learned from all repetitions in a run."""

import itertools
import math
import random

import pytest

from capscope.journal.execution_table import Transition
from capscope.logic import Intent
from capscope.model import StateGraph
from capscope.model.doubt import log_likelihood, merged, shown_together, unseen_outcomes
from support.toy_worlds import WORDS

LIT_A, LIT_B = Intent.parse("lit(a)"), Intent.parse("lit(b)")


def set_partitions(items):
    """List all ways to divide items into blocks, by adding one item after another."""
    found = [[]]
    for item in items:
        found = [
            [*blocks[:i], [*blocks[i], item], *blocks[i + 1 :]]
            for blocks in found
            for i in range(len(blocks))
        ] + [[*blocks, [item]] for blocks in found]
    return found


@pytest.mark.parametrize(("theta", "d"), [(0.01, 0.0), (1.0, 0.5), (3.0, 0.0)])
def test_the_likelihoods_of_all_ways_to_coincide_add_up_to_one(theta, d):
    ways = [tuple(map(len, blocks)) for blocks in set_partitions(range(5))]
    assert len(ways) == 52
    assert math.fsum(math.exp(log_likelihood(way, theta, d)) for way in ways) == pytest.approx(1)


def graph_of(draws, intents=(LIT_A, LIT_B)):
    """Return the graph of some draws: (before, intent, after)."""
    graph = StateGraph(WORDS, intents)
    for before, intent, after in draws:
        graph.update({Transition(before, intents.index(intent), after): 1})
    return graph


def after_draws(draws, intents=(LIT_A, LIT_B)):
    """Return how likely a pair does something new after these draws."""
    unseen = unseen_outcomes(graph_of(draws, intents))
    return lambda state, intent: unseen(state, intents.index(intent))


def test_a_pair_tried_once_is_trusted_if_repeated_pairs_always_did_the_same():
    same = [(state, LIT_A, state | 1) for state in range(8) for _ in range(9)]
    new = after_draws([*same, (0, LIT_B, 2)])
    assert new(0, LIT_A) < 0.01
    assert new(0, LIT_B) < 0.1
    nothing_repeated = after_draws([(0, LIT_A, 1), (0, LIT_B, 2)])
    assert nothing_repeated(0, LIT_B) > 0.1


def test_a_pair_tried_once_is_not_trusted_if_repeated_pairs_varied():
    varied = [(state, LIT_A, after) for state in range(8) for after in range(4)]
    new = after_draws([*varied, (7, LIT_B, 2)])
    assert new(7, LIT_B) > 0.4
    assert new(0, LIT_A) > 0.05


def test_a_capability_that_varies_does_not_make_a_reliable_one_suspect():
    draws = [(state, LIT_A, after) for state in (0, 3, 7) for after in range(6)]
    draws += [(state, LIT_B, state | 2) for state in range(5) for _ in range(6)]
    new = after_draws([*draws, (5, LIT_A, 0), (5, LIT_B, 7)])
    assert new(5, LIT_B) < new(5, LIT_A) - 0.1


def test_that_idle_pairs_never_vary_says_little_about_those_that_change_something():
    idle = [(state, LIT_A, state) for state in range(7) for _ in range(8)]
    acting = [(state, LIT_B, after) for state in (0, 1, 2) for after in (4, 5, 6, 7)]
    new = after_draws([*idle, *acting, (7, LIT_A, 7), (7, LIT_B, 3)])
    assert new(7, LIT_A) < 0.1
    assert new(7, LIT_B) > 0.3


def test_outcomes_that_another_pair_has_shown_together_are_no_news():
    # Asked for a, the agent lights a or, as often, c.
    both = [(state, LIT_A, state | lamp) for state in (0b000, 0b010) for lamp in (0b001, 0b100)]
    odd = [(0b000, LIT_B, 0b010), (0b000, LIT_B, 0b110)]
    new = after_draws([*both, *odd])
    assert new(0b000, LIT_A) < new(0b000, LIT_B) - 0.1


def naive_blocks(counts, together):
    """Merge outcomes one pair after the other until nothing can be merged."""
    blocks = [{effect} for effect in counts]
    merged = True
    while merged:
        merged = False
        for one, other in itertools.combinations(blocks, 2):
            if any(together[frozenset((x, y))] > 1 for x in one for y in other):
                blocks.remove(one)
                blocks.remove(other)
                blocks.append(one | other)
                merged = True
                break
    return tuple(sorted((sum(counts[e] for e in block) for block in blocks), reverse=True))


def test_outcomes_are_merged_as_by_the_naive_twin():
    rng = random.Random(1)
    for _ in range(40):
        draws = [
            (before, LIT_A, rng.randrange(8))
            for before in range(8)
            for _ in range(rng.randint(1, 4))
        ]
        graph = graph_of(draws)
        together = shown_together(graph)
        for node in graph.nodes.values():
            if node.pairs[0] is not None:
                counts = node.pairs[0].counts
                assert merged(counts, together) == naive_blocks(counts, together)


def test_the_order_of_draws_makes_no_difference():
    rng = random.Random(2)
    draws = [(rng.randrange(8), rng.choice((LIT_A, LIT_B)), rng.randrange(8)) for _ in range(60)]
    first = after_draws(draws)
    rng.shuffle(draws)
    second = after_draws(draws)
    assert all(first(state, intent) == second(state, intent) for state, intent, _ in draws)


def test_on_average_about_as_much_is_new_as_was_said():
    rng = random.Random(3)
    said = truth = 0.0
    intents = tuple(Intent.parse(f"lit({switch})") for switch in "abc")
    for _ in range(15):
        shares, draws = {}, []
        for pair in itertools.product(range(8), intents):
            ends = rng.sample(range(8), rng.choice((1, 2, 5)))
            weights = [rng.random() for _ in ends]
            shares[pair] = dict(zip(ends, weights, strict=True))
            repeats = rng.randint(2, 8)
            draws += [(*pair, after) for after in rng.choices(ends, weights, k=repeats)]
        new = after_draws(draws, intents)
        for pair, weights in shares.items():
            shown = {after for *drawn, after in draws if tuple(drawn) == pair}
            truth += 1 - sum(weights[after] for after in shown) / sum(weights.values())
            said += new(*pair)
    assert said == pytest.approx(truth, rel=0.25)
