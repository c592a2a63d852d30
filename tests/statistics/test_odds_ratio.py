import math

import pytest
from scipy import stats

from capscope.statistics.odds_ratio import PairedCounts, evidence_of_odds_ratio


def test_the_evidence_is_that_of_the_noncentral_hypergeometric():
    pairs = [PairedCounts(9, 10, 3, 12), PairedCounts(5, 5, 1, 4), PairedCounts(2, 2, 0, 0)]

    def log_pmf(pair, odds):
        total = pair.hits + pair.other_hits
        draws = pair.draws + pair.other_draws
        return stats.nchypergeom_fisher(draws, total, pair.draws, odds).logpmf(pair.hits)

    ratios = [
        math.exp(sum(log_pmf(t, math.exp(x / 2)) - log_pmf(t, 1.0) for t in pairs[:2]))
        for x in range(-10, 11)
        if x
    ]
    assert evidence_of_odds_ratio(pairs) == pytest.approx(math.log(sum(ratios) / len(ratios)))


def test_pairs_that_differ_from_each_other_are_no_evidence():
    """Easy states drawn often on one side, hard ones on the other: each pair is even."""
    assert evidence_of_odds_ratio([PairedCounts(90, 100, 9, 10), PairedCounts(1, 10, 10, 100)]) < 0
