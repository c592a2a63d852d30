import itertools
import math

import numpy as np
import pytest

from capscope.stats.betting import _GRID, evidence_of_lead


def array(*numbers):
    return np.array(numbers, dtype=np.int64)


def score(hits, draws, other_hits, other_draws):
    counts = (array(n) for n in (hits, draws, other_hits, other_draws))
    return float(evidence_of_lead(*counts)[0])


def naive_score(hits, draws, other_hits, other_draws):
    def likelihood(hits, draws, p):
        return p**hits * (1 - p) ** (draws - hits)

    pairs = [(p, q) for p in _GRID for q in _GRID if p > q]
    weight = sum((p - q) ** 2 for p, q in pairs)
    mixture = sum(
        (p - q) ** 2 / weight * likelihood(hits, draws, p) * likelihood(other_hits, other_draws, q)
        for p, q in pairs
    )
    common = (hits + other_hits) / (draws + other_draws)
    return mixture / likelihood(hits + other_hits, draws + other_draws, common)


@pytest.mark.parametrize("counts", [(3, 4, 1, 5), (0, 2, 0, 7), (6, 6, 0, 9), (2, 9, 9, 9)])
def test_the_score_is_a_mixture_against_the_best_common_probability(counts):
    assert math.exp(score(*counts)) == pytest.approx(naive_score(*counts))


def test_a_few_draws_show_a_complete_loss_that_the_sign_test_would_not():
    assert score(12, 12, 0, 12) > math.log(100_000)
    assert score(0, 12, 12, 12) < 0


@pytest.mark.parametrize("p", [0.05, 0.3, 0.5, 0.8, 1.0])
def test_the_score_of_an_agent_against_itself_is_at_most_one_in_the_mean_whatever_stops_it(p):
    """Each side is drawn until it fails once, six times at most: a stop that the answers decide."""
    stops = [(k, k + 1, p**k * (1 - p)) for k in range(6)] + [(6, 6, p**6)]
    mean = sum(
        weight * other_weight * math.exp(score(hits, draws, other_hits, other_draws))
        for (hits, draws, weight), (other_hits, other_draws, other_weight) in itertools.product(
            stops, stops
        )
    )
    assert mean <= 1
