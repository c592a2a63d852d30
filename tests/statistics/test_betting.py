import math
import random

import numpy as np
import pytest
from scipy import stats

from capscope.statistics.betting import (
    ERROR_RATE,
    KINDS,
    Rate,
    bar,
    clearly_above,
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
    alike = evidence_of_difference(counts(8), counts(10), counts(16), counts(20))
    apart = evidence_of_difference(counts(10), counts(10), counts(0), counts(10))
    assert alike[0] < 0
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
    assert evidence_above(Rate(1, 100, 1), 0.02) < 0
    assert evidence_above(Rate(20, 100, 1), 0.02) > 10


def test_a_sure_but_small_excess_is_not_clearly_above():
    assert evidence_above(Rate(53_000, 100_000, 1), 0.5) > 100
    assert not clearly_above(Rate(53_000, 100_000, 1), 0.5, 10)
    assert clearly_above(Rate(70_000, 100_000, 1), 0.5, 10)


def test_three_draws_never_shout():
    assert not clearly_above(Rate(3, 3, 1), 0.5, bar(1))


def test_all_questions_share_one_error_rate():
    assert KINDS * 7 * math.exp(-bar(7)) == pytest.approx(KINDS * 7 * ERROR_RATE / (KINDS * 7))


def test_rates_add_up():
    assert Rate(1, 2, 1) + Rate(3, 4, 2) == Rate(4, 6, 3)
    assert Rate(1, 1, 1).text.endswith("1 draw in 1 state)")
