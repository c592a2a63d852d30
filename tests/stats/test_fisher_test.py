import math
import random

import pytest
from scipy.stats import fisher_exact

from capscope.stats.betting import log_p_value


@pytest.mark.parametrize(
    ("hits", "draws", "other_hits", "other_draws"),
    [(3, 10, 0, 12), (0, 5, 0, 5), (5, 5, 1, 9), (14, 60, 0, 40), (2, 30, 4, 20), (7, 7, 7, 7)],
)
def test_the_p_value_is_that_of_scipy(hits, draws, other_hits, other_draws):
    table = [[hits, draws - hits], [other_hits, other_draws - other_hits]]
    naive = fisher_exact(table, alternative="greater").pvalue
    assert math.exp(log_p_value(hits, draws, other_hits, other_draws)) == pytest.approx(naive)


def followed(probability, rng):
    """Draw from two groups as a suspicion is followed: more of both after a hit, at most 5 times.

    Return the hits and draws of the group that is ahead, and those of the other one.
    """
    hits, draws, rounds = [0, 0], [0, 0], 0

    def hit(group):
        draws[group] += 1
        happened = rng.random() < probability
        hits[group] += happened
        return happened

    while rounds < 5 and sum(draws) < 150:
        group = rng.randrange(2)
        if hit(group):
            rounds += 1
            for other, number in ((group, 12), (1 - group, 10)):
                for _ in range(number):
                    hit(other)
    first = max((0, 1), key=lambda i: hits[i] / max(draws[i], 1))
    return hits[first], draws[first], hits[1 - first], draws[1 - first]


@pytest.mark.parametrize("probability", [0.05, 0.2, 0.5])
def test_following_suspicions_hardly_raises_the_error_rate(probability):
    rng = random.Random(1)
    runs = [followed(probability, rng) for _ in range(1_000)]
    wrong = sum(math.exp(log_p_value(*counts)) <= 0.05 / 2 for counts in runs)
    assert wrong <= 50
