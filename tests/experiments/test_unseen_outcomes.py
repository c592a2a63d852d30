"""How likely a pair does something new, learned from all repetitions in a run."""

import itertools
import math
import random

import pytest

from capscope.model import StateGraph
from capscope.record.execution_table import Transition
from capscope.symbolic import Intent
from capscope_experiments.unseen_outcomes import UnseenOutcomes, log_likelihood
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


def after_draws(draws, intents=(LIT_A, LIT_B)):
    """Return how likely a pair does something new, after these draws: (before, intent, after)."""
    graph = StateGraph(WORDS, intents)
    for before, intent, after in draws:
        graph.update({Transition(before, intents.index(intent), after): 1})
    unseen = UnseenOutcomes(graph)

    def new(state, intent):
        shown = [after for before, asked, after in draws if (before, asked) == (state, intent)]
        return unseen.probability(state, intent, dict.fromkeys(shown or [state], 0.0))

    return new


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
    assert new(7, LIT_B) > 0.5
    assert new(0, LIT_A) > 0.3


def test_a_capability_that_varies_does_not_make_a_reliable_one_suspect():
    draws = [(state, LIT_A, after) for state in range(8) for after in range(6)]
    draws += [(state, LIT_B, state | 2) for state in range(7) for _ in range(6)]
    new = after_draws([*draws, (7, LIT_B, 7)])
    assert new(7, LIT_B) < 0.3 < new(7, LIT_A)


def test_an_untried_pair_counts_as_tried_once_and_an_unknown_intent_is_always_new():
    draws = [(state, LIT_A, state | 1) for state in range(6) for _ in range(5)]
    new = after_draws([*draws, (6, LIT_A, 7)])
    assert new(7, LIT_A) == new(6, LIT_A) > 0
    assert new(0, Intent.parse("lit(c)")) == 1.0


def test_what_the_model_foresees_is_not_new_to_it():
    graph = StateGraph(WORDS, (LIT_A,))
    graph.update({Transition(0, 0, after): 1 for after in range(4)})
    graph.update({Transition(7, 0, 2): 1})
    unseen = UnseenOutcomes(graph)
    alone = unseen.probability(7, LIT_A, {2: 1.0})
    assert unseen.probability(7, LIT_A, {2: 0.8, 3: 0.2}) == pytest.approx(alone - 0.2)
    assert unseen.probability(7, LIT_A, {2: 0.1, 3: 0.9}) == 0.0
    assert unseen.probability(7, LIT_A, {}) == 1.0


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
