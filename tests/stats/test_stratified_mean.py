import random

import numpy as np
import pytest

from capscope.stats.stratified_mean import Stratum, mean_interval, mean_of_tried


def stratum(weight, *hits):
    return Stratum(weight, np.array(hits, dtype=bool))


def test_the_mean_weighs_strata_by_their_weights():
    tried = [stratum(1, *[1] * 9), stratum(3, *[0] * 9), stratum(9)]
    assert mean_of_tried(tried) == pytest.approx(0.25, abs=0.01)
    assert mean_of_tried([stratum(1)]) is None


def test_without_draws_everything_is_possible():
    assert mean_interval([stratum(1)]) == mean_interval([stratum(1), stratum(2)]) == (0, 1)


@pytest.mark.parametrize("weight", [1, 3, 9])
def test_a_stratum_without_draws_takes_its_share_of_the_bound_and_little_more(weight):
    drawn = stratum(weight, *[1] * 40)
    alone, _ = mean_interval([drawn])
    low, high = mean_interval([drawn, stratum(1)])
    share = weight / (weight + 1)
    assert share * alone - 0.02 < low < share * alone
    assert high == 1.0
    # With misses only, it is the upper bound that loses.
    missed = mean_interval([stratum(weight, *[0] * 40), stratum(1)])
    assert missed == pytest.approx((0.0, 1 - low))


def test_one_draw_in_each_of_many_strata_is_as_good_as_many_in_one():
    low, high = mean_interval([stratum(1, i % 2) for i in range(100)])
    pooled = mean_interval([stratum(1, *([0, 1] * 50))])
    assert (low, high) == pytest.approx(pooled, abs=0.06)


def test_many_draws_of_one_stratum_do_not_drown_the_others():
    few = [stratum(1, 1) for _ in range(60)]
    alone, _ = mean_interval(few)
    low, _ = mean_interval([*few, stratum(1, *([0, 1] * 500))])
    assert low > alone - 0.1


def until_a_hit(rng, chance):
    hits = [rng.random() < chance]
    while not hits[-1] and len(hits) < 20:
        hits.append(rng.random() < chance)
    return hits


def while_it_hits(rng, chance):
    return [not hit for hit in until_a_hit(rng, 1 - chance)]


@pytest.mark.parametrize("draws", [until_a_hit, while_it_hits])
def test_the_interval_contains_the_mean_although_draws_depend_on_outcomes(draws):
    outside = 0
    for seed in range(100):
        rng = random.Random(seed)
        weights = [rng.randint(1, 4) for _ in range(rng.randint(1, 25))]
        chances = [rng.choice([0.0, 1.0, rng.random()]) for _ in weights]
        strata = [
            stratum(w, *draws(rng, p)) if rng.random() < 0.8 else stratum(w)
            for w, p in zip(weights, chances, strict=True)
        ]
        low, high = mean_interval(strata)
        outside += not low <= np.average(chances, weights=weights) <= high
    assert outside <= 2


def test_exchanging_hits_and_misses_mirrors_the_interval():
    strata = [stratum(2, 1, 0, 1), stratum(1, 0), stratum(3)]
    low, high = mean_interval(strata)
    mirrored = mean_interval([Stratum(s.weight, ~s.hits) for s in strata])
    assert mirrored == pytest.approx((1 - high, 1 - low))
