import random

import numpy as np
import pytest

from capscope.errors import CapscopeError
from capscope.stats.sequential_test import SequentialTest


def simulated(test, probability, rng):
    """Draw until the test decides: the verdict and the number of draws."""
    hits = draws = 0
    while (verdict := test.verdict(hits, draws)) is None or not draws:
        hits += rng.random() < probability
        draws += 1
    return verdict, draws


@pytest.mark.parametrize(("probability", "right"), [(0.9, True), (0.7, False)])
def test_nine_in_ten_and_seven_in_ten_are_told_apart_within_forty_draws(probability, right):
    test = SequentialTest(0.7, 0.9, 0.05)
    rng = random.Random(0)
    results = [simulated(test, probability, rng) for _ in range(1_000)]
    assert sum(verdict is not right for verdict, _ in results) <= 50
    mean = sum(draws for _, draws in results) / len(results)
    assert mean <= 40
    assert mean == pytest.approx(test.expected_draws(probability), rel=0.1)
    assert max(draws for _, draws in results) <= test.most_draws


def test_probabilities_beyond_the_two_are_decided_sooner():
    test = SequentialTest(0.7, 0.9, 0.05)
    between = test.expected_draws(0.8)
    assert test.expected_draws(0.99) < test.expected_draws(0.9) < between < test.most_draws
    assert test.expected_draws(0.1) < test.expected_draws(0.7) < between


@pytest.mark.parametrize(("low", "high", "rate"), [(0.5, 0.6, 0.05), (0.9, 0.99, 0.01)])
def test_the_exact_errors_are_within_the_rate(low, high, rate):
    test = SequentialTest(low, high, rate)
    assert test._course(low, test.most_draws)[0] <= rate
    assert 1 - test._course(high, test.most_draws)[0] <= rate


def test_a_claim_that_cannot_be_decided_is_refused():
    with pytest.raises(CapscopeError, match="needs 0 < low < high < 1"):
        SequentialTest(0.9, 0.9, 0.05)


@pytest.mark.parametrize("probability", [0.5, 0.8, 0.95])
def test_the_first_verdict_along_draws_is_that_of_one_draw_after_another(probability):
    test, rng = SequentialTest(0.7, 0.9, 0.05), random.Random(1)
    for length in (5, 20, test.most_draws + 5):
        for _ in range(50):
            draws = [float(rng.random() < probability) for _ in range(length)]
            verdicts = [test.verdict(sum(draws[:n]), n) for n in range(1, length + 1)]
            first = next((verdict for verdict in verdicts if verdict is not None), None)
            assert test.first_verdict(np.array(draws)) is first
