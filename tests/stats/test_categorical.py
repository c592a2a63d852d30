import math
import random

import numpy as np
import pytest

from capscope.stats.betting import (
    evidence_of_distinct_groups,
    evidence_of_two_distributions,
    log_dirichlet_mixture,
)


def naive_mixture(counts, outcomes):
    """Predict draw after draw: half a count for each outcome, plus what was seen."""
    seen, log = [0] * outcomes, 0.0
    for outcome, count in enumerate(counts):
        for _ in range(count):
            log += math.log((seen[outcome] + 0.5) / (sum(seen) + outcomes / 2))
            seen[outcome] += 1
    return log


@pytest.mark.parametrize("counts", [(), (3,), (0, 4), (5, 1, 2)])
def test_the_mixture_is_what_predicting_draw_by_draw_gives(counts):
    assert log_dirichlet_mixture(counts, 4) == pytest.approx(naive_mixture(counts, 4))


def test_equal_groups_are_no_evidence_and_disjoint_ones_are():
    assert evidence_of_two_distributions({"a": 30, "b": 10}, {"a": 31, "b": 9}, 2) < 0
    assert evidence_of_two_distributions({"a": 20}, {"b": 20}, 2) > math.log(1000)


def test_both_forms_of_the_test_agree():
    rng = random.Random(3)
    for _ in range(20):
        groups = [{o: rng.randint(1, 9) for o in rng.sample(range(4), 2)} for _ in range(2)]
        rows = [(0, g, o, n) for g, counts in enumerate(groups) for o, n in sorted(counts.items())]
        (found,) = evidence_of_distinct_groups(*np.array(rows).T)
        outcomes = len(groups[0].keys() | groups[1].keys())
        assert found == pytest.approx(evidence_of_two_distributions(*groups, outcomes))


def test_no_question_has_no_score():
    nothing = np.zeros(0, dtype=np.int64)
    assert evidence_of_distinct_groups(nothing, nothing, nothing, nothing).tolist() == []
