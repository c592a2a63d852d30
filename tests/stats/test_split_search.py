import math

import numpy as np
import pytest

from capscope.stats.betting import evidence_of_difference
from capscope.stats.split_search import (
    SplitTerm,
    best_conjunctions,
    best_features,
    joint_counts,
    shortest_convincing,
)


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
    found = best_conjunctions(hits, draws, features, 0.1)[0]
    alone = evidence_of_difference(*(np.array([n]) for n in (80, 80, 0, 80)))[0]
    assert found.features == [0]
    assert found.evidence == pytest.approx(alone - math.log(2))


def test_rates_that_hardly_differ_are_not_separated():
    features = np.array([[True], [False]])
    hits, draws = np.array([90_000, 85_000]), np.array([100_000, 100_000])
    assert best_conjunctions(hits, draws, features, 0.1) == []
    assert best_conjunctions(hits, draws, features, 0.01) != []


def test_features_chosen_among_many_pay_for_all_of_them():
    features = np.array([[True, False], [True, True], [False, True], [False, False]])
    hits, draws = np.array([40, 40, 0, 0]), np.array([40, 40, 40, 40])
    alone, paid = (best_conjunctions(hits, draws, features, 0.1, n)[0] for n in (None, 50))
    assert alone.evidence - paid.evidence == pytest.approx(math.log(50 / 2))


def test_the_best_features_are_those_whose_sides_differ_most_surely():
    rng = np.random.default_rng(3)
    features = rng.random((40, 30)) < 0.5
    draws = rng.integers(1, 5, size=40)
    hits = np.where(features[:, 17], draws, 0)
    assert 17 in best_features(hits, draws, features, 3).tolist()


@pytest.mark.parametrize(
    ("scores", "length"),
    [([12.0, 15.0, 18.0], 1), ([12.0, 25.0], 2), ([3.0, 12.0, 13.0], 2), ([3.0, 4.0], 2)],
)
def test_a_longer_condition_must_be_far_better_than_a_shorter_one_that_convinces(scores, length):
    terms = [SplitTerm(list(range(i + 1)), score) for i, score in enumerate(scores)]
    assert len(shortest_convincing(terms, 10.0).features) == length
