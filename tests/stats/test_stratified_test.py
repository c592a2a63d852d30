import math

import numpy as np
import pytest

from capscope.stats.stratified_test import StratifiedEvidence, highest_log_evidence, log_evidence

SHARES = (0.02, 0.1, 0.5)


def array(*numbers):
    return np.array(numbers, dtype=np.int64)


def test_a_group_is_tested_for_a_share_of_its_strata():
    found = np.array([5.0, -3.0, -3.0, 0.0])
    evidence = StratifiedEvidence(array([0] * 4), array([0] * 4), array(), found, found != 0)
    groups = np.array([[True] * 4, [False, True, True, False]])
    naive = [
        sum(
            math.prod(1 - share + share * math.exp(x) for x in found[group])
            for share in (1 / 2, 1 / 8, 1 / 32)
        )
        / 3
        for group in groups
    ]
    scores = evidence.likelihood_ratios(lambda values: groups @ values)
    assert np.exp(scores) == pytest.approx(naive)


def test_a_single_stratum_is_tested_directly():
    """Another one, in which draws are not exchangeable, has no likelihood ratio."""
    none, exchangeable = array([0, 0]), np.array([True, False])
    evidence = StratifiedEvidence(none, none, array(), np.array([5.0, 0.0]), exchangeable)
    for group in (array([1, 0]), array([1, 1])):
        scores = evidence.likelihood_ratios(lambda values, group=group: group @ values)
        assert scores.tolist() == [5.0]


def test_a_group_is_reported_with_the_weighted_mean_of_both_tests():
    wins, losses = array([9, 1], [7, 2]), array([1, 1], [0, 2])
    ratios, both = np.array([2.0, -1.0]), np.array([True, True])
    evidence = StratifiedEvidence(wins, losses, array(), ratios, both)
    (found,) = evidence.reaching(lambda values: values[:1], np.array([0.0]))
    signs = (math.exp(log_evidence(9, 1)) + math.exp(log_evidence(7, 0))) / 2
    assert found.log_evidence == pytest.approx(math.log(7 / 8 * signs + 1 / 8 * math.exp(2.0)))
    assert (found.group, found.wins, found.losses) == (0, 9, 1)
    assert evidence.most >= found.log_evidence
    assert not [*evidence.reaching(lambda values: values[:1], np.array([99.0]))]


def test_all_strata_together_have_the_highest_score_that_they_ever_had():
    wins, losses, both = array([20, 0]), array([0, 9]), np.array([True, True])
    early = array(*[1] * 20, *[-1] * 9)
    ratios = np.zeros(2)
    found = StratifiedEvidence(wins, losses, early, ratios, both).everywhere()
    highest = highest_log_evidence(early)
    assert highest == log_evidence(20, 0) > log_evidence(20, 9) + 2
    assert found.log_evidence == pytest.approx(highest + math.log(7 / 8))
    assert (found.wins, found.losses) == (20, 9)
    late = StratifiedEvidence(wins, losses, early[::-1], ratios, both).everywhere()
    last = math.log(7 / 8 * math.exp(log_evidence(20, 9)) + 1 / 8)
    assert late.log_evidence == pytest.approx(last)


def test_with_two_ways_of_matching_the_first_has_a_half_of_the_stake():
    wins, losses, leads = array([20], [1]), array([0], [1]), array(*[1] * 20)
    evidence = StratifiedEvidence(wins, losses, leads, np.zeros(1), np.array([True]))
    signs = (math.exp(log_evidence(20, 0)) + math.exp(log_evidence(1, 1))) / 2
    expected = math.log(7 / 8 * signs + 1 / 8)
    assert evidence.everywhere().log_evidence == pytest.approx(expected)
