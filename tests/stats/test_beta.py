import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from capscope.stats.beta import credible_interval


@st.composite
def proportions(draw, most=20_000):
    executions = draw(st.integers(1, most))
    return draw(st.integers(0, executions)), executions


@given(proportions(), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_the_interval_is_that_of_the_beta_distribution(proportion, level):
    count, executions = proportion
    tail = (1 - level) / 2
    posterior = beta(count + 0.5, executions - count + 0.5)
    lower, upper = credible_interval(count, executions, level)
    assert lower == pytest.approx(posterior.ppf(tail) if count else 0.0, abs=1e-9)
    assert upper == pytest.approx(posterior.ppf(1 - tail) if count < executions else 1.0, abs=1e-9)


@given(proportions())
def test_the_interval_holds_the_frequency(proportion):
    count, executions = proportion
    lower, upper = credible_interval(count, executions)
    assert 0.0 <= lower <= count / executions <= upper <= 1.0


@given(proportions(most=500))
def test_ten_times_the_evidence_makes_a_narrower_interval(proportion):
    count, executions = proportion
    lower, upper = credible_interval(count, executions)
    low, high = credible_interval(10 * count, 10 * executions)
    assert high - low < upper - lower


@given(proportions())
def test_the_interval_of_failures_mirrors_that_of_successes(proportion):
    count, executions = proportion
    lower, upper = credible_interval(count, executions)
    low, high = credible_interval(executions - count, executions)
    assert (1 - high, 1 - low) == pytest.approx((lower, upper), abs=1e-9)


def test_no_evidence_leaves_everything_open():
    assert credible_interval(0, 0) == (0.0, 1.0)
