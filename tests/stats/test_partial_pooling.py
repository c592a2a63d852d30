import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

from capscope.stats.beta import credible_interval
from capscope.stats.partial_pooling import CONCENTRATIONS, PartialPooling, fit_states


def test_the_likelihood_of_one_state_does_not_depend_on_how_similar_states_are():
    # Averaged over the mean, one state with one draw has ½ for each of two outcomes.
    assert np.exp(fit_states(np.array([[1, 0]]), np.array([1])).scores) == pytest.approx(0.5)


def test_equal_states_have_the_likelihood_of_the_dirichlet_mixture():
    rows, times = np.array([[3, 1, 0], [2, 2, 5]]), np.array([2, 1])
    total = times @ rows
    inside = (gammaln(total + 0.5) - gammaln(0.5)).sum()
    expected = gammaln(1.5) - gammaln(total.sum() + 1.5) + inside
    assert fit_states(rows, times).scores[-1] == pytest.approx(expected)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(any), min_size=1))
def test_repeated_rows_count_as_often_as_they_are_said_to(rows):
    distinct = sorted(set(rows))
    one = fit_states(np.array(rows), np.ones(len(rows), dtype=np.int64))
    other = fit_states(np.array(distinct), np.array([rows.count(row) for row in distinct]))
    assert one.scores == pytest.approx(other.scores)
    assert one.means == pytest.approx(other.means)


def test_the_interval_of_a_single_state_is_that_of_its_own_draws():
    pooling = PartialPooling(((7, 3),), (1,))
    assert pooling.interval(0) == credible_interval(7, 10)
    assert pooling.interval(1) == credible_interval(3, 10)


def test_one_draw_of_each_of_two_states_is_no_certainty():
    low, high = PartialPooling(((1, 0),), (2,)).interval(0)
    assert low < 0.5
    assert high == 1.0
    assert PartialPooling(((1, 0),), (1000,)).interval(0)[0] > 0.99


def test_an_interval_is_about_a_state_and_so_wider_than_that_of_the_mean():
    pooling = PartialPooling(((8, 2), (9, 1), (10, 0)), (10, 20, 10))
    low, high = pooling.interval(0)
    mean_low, mean_high = credible_interval(360, 400)
    assert low < mean_low < mean_high < high
    # The other outcome is what is left.
    assert pooling.interval(1) == pytest.approx((1 - high, 1 - low), abs=1e-9)


def test_a_spread_is_shown_only_if_states_differ():
    assert PartialPooling(((18, 2), (17, 3)), (30, 30)).spread(0) is None
    low, high = PartialPooling(((18, 2), (6, 14)), (30, 30)).spread(0)
    assert low < 0.35
    assert high > 0.85


def test_the_own_draws_of_a_state_count_more_if_states_differ_and_if_there_are_more_of_them():
    equal = PartialPooling(((15, 5), (14, 6)), (30, 30))
    different = PartialPooling(((20, 0), (9, 11)), (30, 30))
    assert abs(equal.distribution((20, 0))[0] - 0.725) < 0.1
    assert different.distribution((20, 0))[0] > 0.9
    assert different.distribution((2, 0))[0] < different.distribution((20, 0))[0]
    for pooling in (equal, different):
        assert sum(pooling.distribution((3, 4))) == pytest.approx(1)


def test_intervals_cover_the_states_of_worlds_drawn_from_the_grid():
    rng = np.random.default_rng(2)
    covered = []
    for number in range(60):
        concentration, mean = CONCENTRATIONS[number % 8], rng.beta(2, 2)
        truths = rng.beta(concentration * mean, concentration * (1 - mean), 30)
        hits = rng.binomial(10, truths)
        values, times = np.unique(hits, return_counts=True)
        rows = tuple((int(value), 10 - int(value)) for value in values)
        low, high = PartialPooling(rows, tuple(times.tolist())).interval(0)
        covered += ((low <= truths) & (truths <= high)).tolist()
    assert np.mean(covered) >= 0.93
