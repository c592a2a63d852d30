import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

from capscope.stats.partial_pooling import fit_states


def test_the_likelihood_of_one_state_does_not_depend_on_how_similar_states_are():
    # Averaged over the mean, one state with one draw has ½ for each of two outcomes.
    assert np.exp(fit_states(np.array([[1, 0]]), np.array([1]))) == pytest.approx(0.5)


def test_equal_states_have_the_likelihood_of_the_dirichlet_mixture():
    rows, times = np.array([[3, 1, 0], [2, 2, 5]]), np.array([2, 1])
    total = times @ rows
    inside = (gammaln(total + 0.5) - gammaln(0.5)).sum()
    expected = gammaln(1.5) - gammaln(total.sum() + 1.5) + inside
    assert fit_states(rows, times)[-1] == pytest.approx(expected)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(any), min_size=1))
def test_repeated_rows_count_as_often_as_they_are_said_to(rows):
    distinct = sorted(set(rows))
    one = fit_states(np.array(rows), np.ones(len(rows), dtype=np.int64))
    other = fit_states(np.array(distinct), np.array([rows.count(row) for row in distinct]))
    assert one == pytest.approx(other)
