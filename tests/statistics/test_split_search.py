import math

import numpy as np
import pytest

from capscope.statistics.betting import evidence_of_difference
from capscope.statistics.split_search import best_conjunction, joint_counts


@pytest.mark.parametrize("seed", range(12))
def test_joint_counts_are_those_of_the_states_with_both_features(seed):
    rng = np.random.default_rng(seed)
    bits = rng.random((9, 4)) < 0.5
    # Some features come with their opposites, some alone, some twice.
    features = np.hstack([bits, ~bits])[:, rng.permutation(8)[:6]]
    counts = rng.integers(0, 30, size=9)
    both = features[:, :, None] & features[:, None, :]
    (found,) = joint_counts(features, counts)
    assert found.tolist() == (both * counts[:, None, None]).sum(axis=0).tolist()


def test_the_price_of_a_conjunction_is_the_number_of_its_length():
    features = np.array([[True, False], [True, True], [False, True], [False, False]])
    hits, draws = np.array([40, 40, 0, 0]), np.array([40, 40, 40, 40])
    found = best_conjunction(hits, draws, features, 0.1)
    alone = evidence_of_difference(*(np.array([n]) for n in (80, 80, 0, 80)))[0]
    assert found.features == [0]
    assert found.evidence == pytest.approx(alone - math.log(2))


def test_rates_that_hardly_differ_are_not_separated():
    features = np.array([[True], [False]])
    hits, draws = np.array([90_000, 85_000]), np.array([100_000, 100_000])
    assert best_conjunction(hits, draws, features, 0.1) is None
    assert best_conjunction(hits, draws, features, 0.01) is not None
