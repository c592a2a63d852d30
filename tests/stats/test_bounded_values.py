"""Bets on the mean of values between 0 and 1, against the same bets made one by one."""

import math

import numpy as np
import pytest

from capscope.stats.bounded_values import MeanTest, interval, log_score

FRACTIONS = [0.95, 0.475, 0.2375, 0.11875, 0.059375]


def money(values, bound):
    """Return what each value leaves of 1, when each fraction gets an equal part of it."""
    purses, course = [1.0] * len(FRACTIONS), []
    for value in values:
        purses = [m * ((1 - f) + f * value / bound) for m, f in zip(purses, FRACTIONS, strict=True)]
        course.append(sum(purses) / len(purses))
    return course


def outcomes(rng, size, differ, change):
    """Draw differences between two scores, as values between 0 and 1."""
    part = rng.random(size)
    return np.where(part < (differ + change) / 2, 1.0, np.where(part < differ, 0.0, 0.5))


@pytest.mark.parametrize("bound", [0.1, 0.5, 0.93])
def test_the_score_is_the_money_of_all_fractions_together(bound):
    values = np.random.default_rng(0).random(60)
    assert math.exp(log_score(values, bound)) == pytest.approx(money(values, bound)[-1])
    thrice = np.tile(values, 3)
    assert log_score(values, bound, times=3) == pytest.approx(log_score(thrice, bound))


def test_bounds_are_where_the_money_reaches_the_threshold():
    values = outcomes(np.random.default_rng(1), 200, 0.3, 0.1)
    low, high = interval(values, math.log(40))
    assert money(values, low)[-1] == pytest.approx(40, rel=1e-4)
    assert money(1 - values, 1 - high)[-1] == pytest.approx(40, rel=1e-4)
    assert low < values.mean() < high


@pytest.mark.parametrize("differ", [0.05, 0.3, 1.0])
def test_whoever_looks_after_each_value_is_misled_in_one_of_twenty_at_most(differ):
    rng = np.random.default_rng(2)
    test = MeanTest(0.5, 0.55, 0.05)
    at_low = [test.first_verdict(outcomes(rng, 500, differ, 0.0)) for _ in range(400)]
    assert at_low.count(True) <= 20
    change = min(0.1, differ)
    test = MeanTest(0.5, (1 + change) / 2, 0.05)
    at_high = [test.first_verdict(outcomes(rng, 500, differ, change)) for _ in range(400)]
    assert at_high.count(False) <= 20
    assert at_low.count(False) > 0 < at_high.count(True)


def test_a_verdict_is_the_first_that_the_money_reaches():
    rng, test = np.random.default_rng(3), MeanTest(0.48, 0.5, 0.05)
    seen = set()
    for change in (-0.3, 0.0, 0.3) * 10:
        values = outcomes(rng, 150, 0.4, change)
        above, below = money(values, 0.48), money(1 - values, 0.5)
        naive = None
        for up, down in zip(above, below, strict=True):
            if up >= 20 or down >= 20:
                naive = bool(up >= 20)
                break
        assert test.first_verdict(values) is naive
        seen.add(naive)
    assert seen == {True, False, None}
