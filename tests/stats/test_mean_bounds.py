import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize

from capscope.stats import mean_bounds as bounds
from capscope.stats.mean_bounds import (
    draws_needed,
    log_score,
    lower_bound,
    misses,
    upper_bound,
)


def naive_score(hits, draws, bound):
    """Average the likelihood over probabilities above the bound; Jeffreys' prior by p = sin² x."""
    first = math.asin(math.sqrt(bound))

    def likelihood(x):
        p = math.sin(x) ** 2
        return p**hits * (1 - p) ** (draws - hits) / bound**hits / (1 - bound) ** (draws - hits)

    area, _ = integrate.quad(likelihood, first, math.pi / 2, epsabs=0, epsrel=1e-10)
    return area / (math.pi / 2 - first)


@given(st.integers(0, 40), st.integers(0, 40), st.floats(0.05, 0.95))
def test_the_score_is_the_mean_likelihood_above_the_bound_over_that_at_it(hits, missed, bound):
    if draws := hits + missed:
        score = math.exp(log_score([(hits, draws)], bound))
        assert score == pytest.approx(naive_score(hits, draws, bound), 1e-6)


def counts(most_states=6, most_draws=30):
    one = st.integers(1, most_draws).flatmap(
        lambda draws: st.integers(0, draws).map(lambda hits: (hits, draws))
    )
    return st.lists(one, min_size=1, max_size=most_states)


def worst(cost, states, bound):
    """Find by a general solver the least of a convex function of probabilities with that mean."""
    found = optimize.minimize(
        cost,
        [bound] * states,
        method="SLSQP",
        bounds=[(1e-9, 1 - 1e-9)] * states,
        constraints={"type": "ineq", "fun": lambda p: bound * states - sum(p)},
        options={"maxiter": 300, "ftol": 1e-12},
    )
    return found.fun


@given(counts(), st.floats(0.1, 0.9))
@settings(max_examples=30)
def test_the_likeliest_probabilities_below_a_bound_are_those_that_a_solver_finds(seen, bound):
    def unlikely(p):
        return -sum(
            h * math.log(x) + (n - h) * math.log1p(-x) for (h, n), x in zip(seen, p, strict=True)
        )

    hits, draws = np.array(seen, dtype=float).T
    exact = bounds._best_likelihood(hits, draws, np.ones(len(seen)), bound)
    assert exact == pytest.approx(-worst(unlikely, len(seen), bound), abs=1e-4)


@given(counts(), st.floats(0.1, 0.9), st.floats(1.1, 50))
@settings(max_examples=30)
def test_the_most_that_a_stake_costs_is_what_a_solver_finds(seen, bound, odds):
    def gain(p):
        return -sum(n * math.log1p(x * (odds - 1)) for (_, n), x in zip(seen, p, strict=True))

    sizes, states = np.unique([n for _, n in seen], return_counts=True)
    (paid,) = bounds._most_paid(sizes, states, bound, np.array([odds]))
    assert paid == pytest.approx(-worst(gain, len(seen), bound), abs=1e-4)


@given(counts())
@settings(max_examples=12)
def test_bounds_enclose_the_mean_over_states(seen):
    assert lower_bound(seen, 0.95) <= bounds.mean_share(seen) <= upper_bound(seen, 0.95)


def test_how_often_each_state_was_drawn_does_not_move_the_mean():
    assert bounds.mean_share([(90, 100), (1, 2)]) == pytest.approx(
        bounds.mean_share([(9, 10), (50, 100)])
    )
    assert upper_bound([(5000, 5000), (0, 40)], 0.95) < 0.6 < lower_bound([(5000, 5040)], 0.95)


def test_similar_states_are_nearly_as_informative_as_a_single_one():
    many = [(9, 10)] * 30
    assert lower_bound(many, 0.95) == pytest.approx(lower_bound([(270, 300)], 0.95), abs=0.01)
    assert draws_needed([(1, 1)] * 50, 0.8, 0.95) <= 20


def test_states_that_always_or_never_succeed_have_a_narrow_bound():
    assert lower_bound([(50, 50), (0, 50)] * 10, 0.95) > 0.47


def test_more_confidence_asks_for_more():
    assert lower_bound([(30, 40)], 0.99) < lower_bound([(30, 40)], 0.9) < 0.75
    several = [(20, 20), (10, 20)]
    assert lower_bound(several, 0.99) < lower_bound(several, 0.9) < 0.75


def wrongly_shown(claimed, rng, runs=60, draws=90):
    """Count the runs in which a claim that is just wrong is ever shown, asking where it succeeds.

    So a much better state is drawn far more often than the others.
    """
    shares, wrong = (0.95, 0.6, 0.4), 0
    for _ in range(runs):
        seen = [[0, 0] for _ in shares]
        for draw in range(draws):
            state = draw if draw < 3 else rng.randrange(3)
            if draw >= 3 and rng.random() < 0.7:
                state = max(range(3), key=lambda s: seen[s][0] / seen[s][1])
            seen[state][0] += rng.random() < shares[state]
            seen[state][1] += 1
            if draw % 6 == 5 and claimed(seen, math.fsum(shares) / 3) >= math.log(10):
                wrong += 1
                break
    return wrong


def test_a_wrong_claim_is_rarely_shown_however_long_one_waits_and_whatever_is_drawn():
    def claimed(seen, mean):
        return log_score([tuple(count) for count in seen], mean)

    def claimed_of_all_draws(seen, mean):
        return log_score([tuple(map(sum, zip(*seen, strict=True)))], mean)

    assert wrongly_shown(claimed, random.Random(5)) <= 6
    assert wrongly_shown(claimed_of_all_draws, random.Random(5)) >= 30


@pytest.mark.parametrize(
    ("seen", "bound"),
    [([(1, 1)], 0.8), ([(9, 10)], 0.8), ([(4, 4), (9, 10)], 0.8), ([(2, 2), (1, 4)], 0.5)],
)
def test_the_draws_needed_are_just_enough(seen, bound):
    needed, now = draws_needed(seen, bound, 0.95), sum(draws for _, draws in seen)
    at = [
        log_score([(h * n / now, draws * n / now) for h, draws in seen], bound)
        for n in (needed - 1, needed)
    ]
    assert at[0] < math.log(20) <= at[1]


def test_no_number_of_draws_shows_what_is_not_so():
    assert draws_needed([(8, 10)], 0.8, 0.95) is None
    assert draws_needed([(100, 100), (0, 1)], 0.8, 0.95) is None


def test_misses_are_the_hits_of_the_opposite():
    assert misses([(3, 10), (0, 2)]) == [(7, 10), (2, 2)]
