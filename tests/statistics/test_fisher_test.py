import math

import pytest
from scipy.stats import fisher_exact

from capscope.statistics.fisher_test import log_p_value


@pytest.mark.parametrize(
    ("hits", "draws", "other_hits", "other_draws"),
    [(3, 10, 0, 12), (0, 5, 0, 5), (5, 5, 1, 9), (14, 60, 0, 40), (2, 30, 4, 20), (7, 7, 7, 7)],
)
def test_the_p_value_is_that_of_scipy(hits, draws, other_hits, other_draws):
    table = [[hits, draws - hits], [other_hits, other_draws - other_hits]]
    naive = fisher_exact(table, alternative="greater").pvalue
    assert math.exp(log_p_value(hits, draws, other_hits, other_draws)) == pytest.approx(naive)
