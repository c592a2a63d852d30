import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special

from capscope.statistics.sign_test import log_evidence


def naive_evidence(wins, losses):
    """Integrate over biased coins: with θ = sin² x, Jeffreys' prior is uniform in x."""

    def ratio(x):
        theta = math.sin(x) ** 2
        return (2 * theta) ** wins * (2 * (1 - theta)) ** losses

    area, _ = integrate.quad(ratio, math.pi / 4, math.pi / 2, epsabs=0, epsrel=1e-10)
    return area / (math.pi / 4)


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_score_is_the_mean_likelihood_ratio_of_coins_that_favor_the_winner(wins, losses):
    assert math.exp(log_evidence(wins, losses)) == pytest.approx(naive_evidence(wins, losses), 1e-6)


@pytest.mark.parametrize("draws", [1, 5, 40, 400])
def test_the_score_of_a_fair_coin_is_one_in_the_mean(draws):
    mean = sum(
        math.exp(log_evidence(wins, draws - wins) - draws * math.log(2)) * special.comb(draws, wins)
        for wins in range(draws + 1)
    )
    assert mean == pytest.approx(1)


def test_a_fair_coin_rarely_reaches_the_threshold_however_long_it_is_watched():
    rng = random.Random(1)
    reached = 0
    for _ in range(1000):
        wins = losses = 0
        for _ in range(150):
            if rng.random() < 0.5:
                wins += 1
            else:
                losses += 1
            if log_evidence(wins, losses) >= math.log(10):
                reached += 1
                break
    assert 20 < reached < 100  # at most one in ten, and not much less than that


def test_a_hundred_thousand_comparisons_are_no_problem():
    assert log_evidence(50_000, 50_000) < 0
    assert log_evidence(100_000, 0) == pytest.approx(100_000 * math.log(2), rel=1e-3)
    assert log_evidence(0, 100_000) == -math.inf
