import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from capscope.testing.bounds import draws_needed, log_score, lower_bound, upper_bound


def naive_score(hits, draws, bound):
    """Average the likelihood over probabilities above the bound; Jeffreys' prior by p = sin² x."""
    first = math.asin(math.sqrt(bound))

    def likelihood(x):
        p = math.sin(x) ** 2
        return p**hits * (1 - p) ** (draws - hits) / bound**hits / (1 - bound) ** (draws - hits)

    area, _ = integrate.quad(likelihood, first, math.pi / 2, epsabs=0, epsrel=1e-10)
    return area / (math.pi / 2 - first)


@given(st.integers(0, 40), st.integers(0, 40), st.floats(0.05, 0.95))
def test_the_score_is_the_mean_likelihood_above_the_bound_over_that_at_it(hits, misses, bound):
    score = math.exp(log_score(hits, hits + misses, bound))
    assert score == pytest.approx(naive_score(hits, hits + misses, bound), 1e-6)


@given(st.integers(0, 200), st.integers(0, 200))
def test_bounds_enclose_the_share(hits, misses):
    draws = hits + misses
    if draws:
        assert lower_bound(hits, draws, 0.95) <= hits / draws <= upper_bound(hits, draws, 0.95)


def test_more_confidence_asks_for_more():
    assert lower_bound(30, 40, 0.99) < lower_bound(30, 40, 0.9) < 0.75


def test_a_wrong_claim_is_seldom_supported_however_long_one_waits_and_whatever_is_drawn():
    """The states drawn have other probabilities each; the worst is asked more when it succeeds."""
    rng = random.Random(5)
    shares, wrong = (0.95, 0.75, 0.4), 0
    for _ in range(300):
        hits, mean, state = 0, 0.0, 0
        for draws in range(1, 60):
            success = rng.random() < shares[state]
            hits += success
            mean += shares[state]
            # The claim is about the mean of what was drawn.
            if lower_bound_reached(hits, draws, mean / draws):
                wrong += 1
                break
            state = 2 if success and state else rng.randrange(3)
    assert wrong <= 0.1 * 300


def lower_bound_reached(hits, draws, mean):
    return log_score(hits, draws, mean) >= math.log(10)


@pytest.mark.parametrize(("share", "bound"), [(1.0, 0.8), (0.9, 0.8), (0.95, 0.9)])
def test_the_draws_needed_are_just_enough(share, bound):
    needed = draws_needed(share, bound, 0.95)
    at = [log_score(math.floor(share * n + 1e-9), n, bound) for n in (needed - 1, needed)]
    assert at[0] < math.log(20) <= at[1]


def test_no_number_of_draws_shows_what_is_not_so():
    assert draws_needed(0.8, 0.8, 0.95) is None
    assert draws_needed(0.5, 0.8, 0.95) is None
