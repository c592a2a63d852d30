"""The bound on missed outcomes, against simulated hidden outcomes and exact sums."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.strategy.missed_outcomes import MissBound

USUAL = MissBound(epsilon=0.1, delta=0.05)


def misses(escapes_until, bound=USUAL):
    """Return whether a run stops while one of these outcomes is hidden.

    Each is found by a certain number of draws; each counts in full once it is found.
    """
    draws = 1
    while bound.error(sum(found <= draws for found in escapes_until), draws) > bound.delta:
        draws += 1
    return any(found > draws for found in escapes_until)


@pytest.mark.parametrize("hidden", [1, 2, 5, 30, 200])
@pytest.mark.parametrize("probability", [0.1, 0.15, 0.3])
def test_outcomes_above_epsilon_are_missed_no_oftener_than_allowed(hidden, probability):
    rng = np.random.default_rng(hidden)
    runs = rng.geometric(probability, (500, hidden)).tolist()
    wrong = sum(map(misses, runs)) / len(runs)
    assert wrong <= USUAL.delta + 3 * math.sqrt(USUAL.delta / len(runs))


def test_outcomes_that_are_found_unequally_fast_are_not_missed_oftener_either():
    rng = np.random.default_rng(0)
    odds = [0.1] * 3 + [0.2] * 20 + [0.5] * 40
    runs = rng.geometric(odds, (2000, len(odds))).tolist()
    assert sum(map(misses, runs)) / len(runs) <= USUAL.delta + 0.01


@pytest.mark.parametrize("hidden", [1, 2, 3])
@pytest.mark.parametrize("delta", [0.01, 0.05, 0.3])
def test_the_error_probability_of_the_stopping_rule_is_at_most_delta_exactly(hidden, delta):
    """With draws in fine steps: an outcome escapes until a level uniform in (0, 1)."""

    def right(found, level):
        # The probability that the rest is found before the rule stops, from this level on.
        left = hidden - found
        stops = delta / (found + 1)
        if left == 0:
            return 1.0
        if level <= stops:
            return 0.0
        points, weights = np.polynomial.legendre.leggauss(12)
        levels = stops + (level - stops) * (points + 1) / 2
        density = left * (levels / level) ** (left - 1) / level
        values = [right(found + 1, at) for at in levels] if left > 1 else np.ones(len(levels))
        return float(np.sum(weights * density * values) * (level - stops) / 2)

    assert 1 - right(0, 1.0) <= delta + 1e-9


@given(st.floats(0.001, 0.999), st.floats(1e-6, 0.5), st.floats(0.0, 1e5))
def test_the_draws_needed_are_the_fewest_that_suffice(epsilon, delta, like_missed):
    bound = MissBound(epsilon, delta)
    draws = bound.needed(like_missed)
    assert bound.error(like_missed, draws) <= delta
    assert draws == 1 or bound.error(like_missed, draws - 1) > delta * (1 - 1e-9)


def test_nothing_is_above_one_and_nothing_rules_out_all():
    assert MissBound(1.0, 0.05).needed(7.0) == 1
    assert MissBound(1.0, 0.05).error(7.0, 1) == 0.0
    assert MissBound(0.0, 0.05).needed(0.0) == math.inf
    assert MissBound(0.0, 0.05).error(0.0, 10_000) == 1.0
    assert MissBound(0.0, 0.05).like_missed([{(3, 10): 2}]) == (1.0, 2.0)


def outcomes_like_missed(found):
    return USUAL.like_missed([found]).outcomes


def test_an_outcome_counts_the_less_the_more_frequent_it_is():
    weights = [outcomes_like_missed({(count, 40): 1}) for count in range(1, 21)]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == 1.0
    assert weights[-1] < 1e-3
    both = outcomes_like_missed({(4, 40): 3, (20, 40): 5})
    assert both == pytest.approx(3 * weights[3] + 5 * weights[19])
    assert outcomes_like_missed({}) == 0.0


def test_a_capability_counts_once_and_not_at_all_if_it_showed_many_outcomes():
    rare = (1, 40)
    found = [{rare: 2}, {rare: 4}, {}, {(20, 40): 1}]
    capabilities, outcomes = USUAL.like_missed(found)
    assert capabilities == pytest.approx(1.0, abs=1e-3)
    assert outcomes == pytest.approx(6.0, abs=1e-3)


def test_a_share_of_delta_takes_more_draws_and_a_class_without_pairs_none():
    assert USUAL.needed(0.0, 0.5) == MissBound(0.1, 0.025).needed(0.0) > USUAL.needed(0.0)
    assert USUAL.needed(5.0, 0.0) == 0


@pytest.mark.parametrize("capabilities", [1, 4, 30])
@pytest.mark.parametrize("each", [1, 3, 20])
def test_a_capability_that_hides_something_is_seldom_taken_for_a_uniform_one(capabilities, each):
    # Each hides outcomes of probability ε in so many pairs; all pairs are drawn equally often.
    rng = np.random.default_rng(each)
    wrong = 0
    for found in rng.geometric(0.1, (400, capabilities, each)):
        draws = 1
        while USUAL.error(sum(1 <= n <= 3 for n in (found <= draws).sum(1)), draws) > USUAL.delta:
            draws += 1
        wrong += bool((found.min(1) > draws).any())
    assert wrong / 400 <= USUAL.delta + 0.03
