import itertools
import math

import numpy as np
import pytest

from capscope.statistics.likelihood_ratio import _GRID, Bets, log_odds


def array(*numbers):
    return np.array(numbers, dtype=np.int64)


def odds(hits, draws, other_hits, other_draws):
    return float(log_odds(array(hits), array(draws), array(other_hits), array(other_draws))[0])


def naive_odds(hits, draws, other_hits, other_draws):
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
def test_the_odds_are_a_mixture_against_the_best_common_probability(counts):
    assert math.exp(odds(*counts)) == pytest.approx(naive_odds(*counts))


def test_a_few_draws_show_a_complete_loss_that_tosses_would_not():
    assert odds(12, 12, 0, 12) > math.log(100_000)
    assert odds(0, 12, 12, 12) < 0


@pytest.mark.parametrize("p", [0.05, 0.3, 0.5, 0.8, 1.0])
def test_the_odds_of_an_agent_against_itself_are_at_most_one_in_the_mean_whatever_stops_it(p):
    """Each side is drawn until it fails once, six times at most: a stop that the answers decide."""
    stops = [(k, k + 1, p**k * (1 - p)) for k in range(6)] + [(6, 6, p**6)]
    mean = sum(
        weight * other_weight * math.exp(odds(hits, draws, other_hits, other_draws))
        for (hits, draws, weight), (other_hits, other_draws, other_weight) in itertools.product(
            stops, stops
        )
    )
    assert mean <= 1


def test_a_group_bets_that_a_share_of_its_states_changed():
    found = np.array([5.0, -3.0, -3.0, 0.0])
    bets = Bets(array([0] * 4), array([0] * 4), found, found != 0)
    groups = np.array([[True] * 4, [False, True, True, False]])
    naive = [
        sum(
            math.prod(1 - share + share * math.exp(x) for x in found[group])
            for share in (1 / 2, 1 / 8, 1 / 32)
        )
        / 3
        for group in groups
    ]
    assert np.exp(bets.on_odds(lambda values: groups @ values)) == pytest.approx(naive)


def test_one_stratum_alone_is_betted_on_directly():
    """Another beside it, in which draws are not alike, has no odds."""
    bets = Bets(array([0, 0]), array([0, 0]), np.array([5.0, 0.0]), np.array([True, False]))
    for group in (array([1, 0]), array([1, 1])):
        assert bets.on_odds(lambda values, group=group: group @ values).tolist() == [5.0]
