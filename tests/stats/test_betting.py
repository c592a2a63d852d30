import math
import random

import numpy as np
import pytest
from scipy import stats

from capscope.stats.betting import (
    evidence_above,
    evidence_of_difference,
    log_likelihood,
    log_mixture,
)


def counts(*numbers):
    return np.array(numbers, dtype=np.int64)


@pytest.mark.parametrize(("hits", "draws"), [(0, 0), (0, 7), (3, 7), (7, 7), (120, 300)])
def test_the_mixture_is_the_beta_binomial_of_one_sequence(hits, draws):
    sequences = math.log(math.comb(draws, hits))
    exact = stats.betabinom.logpmf(hits, draws, 0.5, 0.5)
    assert log_mixture(counts(hits), counts(draws))[0] == pytest.approx(exact - sequences)


@pytest.mark.parametrize(("hits", "draws"), [(0, 5), (2, 5), (5, 5)])
def test_the_likelihood_is_the_binomial_of_one_sequence(hits, draws):
    exact = stats.binom.logpmf(hits, draws, 0.3) - math.log(math.comb(draws, hits))
    assert log_likelihood(counts(hits), counts(draws), 0.3)[0] == pytest.approx(exact)


def test_equal_groups_are_no_evidence_and_opposite_ones_are():
    equal = evidence_of_difference(counts(8), counts(10), counts(16), counts(20))
    apart = evidence_of_difference(counts(10), counts(10), counts(0), counts(10))
    assert equal[0] < 0
    assert apart[0] > math.log(1000)


def test_peeking_after_each_draw_does_not_raise_the_error_rate():
    rng = random.Random(5)
    alarms = 0
    runs = 150
    for _ in range(runs):
        hits, draws = [0, 0], [0, 0]
        for _ in range(60):
            # The next draw goes where the last answers were worse: as adaptive as can be.
            i = min((0, 1), key=lambda j: (hits[j] + 0.5) / (draws[j] + 1))
            draws[i] += 1
            hits[i] += rng.random() < 0.8
            pairs = zip(hits, draws, strict=True)
            one, other = ((counts(h), counts(n)) for h, n in pairs)
            if evidence_of_difference(*one, *other)[0] >= math.log(1 / 0.05):
                alarms += 1
                break
    assert alarms / runs <= 0.05


def test_a_rate_below_the_bound_is_no_evidence_of_one_above():
    assert evidence_above(1, 100, 0.02) < 0
    assert evidence_above(20, 100, 0.02) > 10
