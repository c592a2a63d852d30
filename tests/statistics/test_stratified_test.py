import math

import numpy as np
import pytest

from capscope.statistics.sign_test import log_evidence
from capscope.statistics.stratified_test import StratifiedEvidence, evidence_of_some

SHARES = (0.02, 0.1, 0.5)


def array(*numbers):
    return np.array(numbers, dtype=np.int64)


def test_a_group_is_tested_for_a_share_of_its_strata():
    found = np.array([5.0, -3.0, -3.0, 0.0])
    evidence = StratifiedEvidence(array([0] * 4), array([0] * 4), found, found != 0)
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
    evidence = StratifiedEvidence(none, none, np.array([5.0, 0.0]), exchangeable)
    for group in (array([1, 0]), array([1, 1])):
        scores = evidence.likelihood_ratios(lambda values, group=group: group @ values)
        assert scores.tolist() == [5.0]


def test_a_group_is_reported_with_the_mean_of_both_tests():
    wins, losses = array([9, 1], [7, 2]), array([1, 1], [0, 2])
    ratios = np.array([2.0, -1.0])
    evidence = StratifiedEvidence(wins, losses, ratios, np.array([True, True]))
    (found,) = evidence.reaching(lambda values: values[:1], np.array([0.0]))
    signs = (math.exp(log_evidence(9, 1)) + math.exp(log_evidence(7, 0))) / 2
    assert found.log_evidence == pytest.approx(math.log((signs + math.exp(2.0)) / 2))
    assert (found.group, found.wins, found.losses) == (0, 7, 0)
    assert evidence.most >= found.log_evidence
    assert not [*evidence.reaching(lambda values: values[:1], np.array([99.0]))]


def test_nulls_that_are_true_do_not_hide_one_that_is_false():
    assert evidence_of_some([20.0, *[-3.0] * 200], SHARES) > 10
    assert evidence_of_some([-3.0] * 200, SHARES) < 0
    alone = evidence_of_some([20.0], SHARES)
    assert evidence_of_some([20.0, *[0.0] * 200], SHARES) == pytest.approx(alone)
    assert math.isfinite(evidence_of_some([5000.0], SHARES))
