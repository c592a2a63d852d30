"""How often outcomes repeat, against integration by hand."""

import math
from collections import Counter

import numpy as np
import pytest

from capscope.stats import repetition
from capscope.stats.repetition import (
    ProbabilitySampler,
    Stick,
    in_order_of_appearance,
    sampled_distributions,
    sticks_of,
)

ALWAYS, NEVER = Stick(0, 9), Stick(9, 0)


def share_of_new(groups, group, samples=4000):
    """Return the mean probability that a pair of a group drawn once shows something new."""
    cells = sampled_distributions(groups, np.random.default_rng(0), samples)
    sampler = ProbabilitySampler([sticks_of([1])], [0], cells[[group]], 0)
    return 1 - sampler.sampled().mean()


def test_the_sticks_count_each_draw_but_the_one_that_showed_the_outcome_first():
    assert sticks_of([4, 2, 1]) == [Stick(3, 3), Stick(1, 1), Stick(0, 0)]


def test_scores_are_likelihoods_averaged_over_beta_distributions():
    cell = int(np.flatnonzero((repetition._NEW > 1) & (repetition._OLD > 1))[0])
    a, b = repetition._NEW[cell], repetition._OLD[cell]
    points = (np.arange(200_000) + 0.5) / 200_000
    density = points ** (a - 1) * (1 - points) ** (b - 1)
    average = (points**2 * (1 - points) ** 3 * density).sum() / density.sum()
    found = math.exp(repetition._log_scores([Stick(2, 3)])[cell])
    assert found == pytest.approx(average, rel=0.02)


def test_one_group_follows_its_own_posterior():
    scores = repetition._log_scores([Stick(1, 4)] * 3) + repetition._LOG_PRIOR
    weights = np.exp(scores - scores.max())
    mean = repetition._NEW / (repetition._NEW + repetition._OLD)
    expected = float(weights @ mean / weights.sum())
    assert share_of_new([[Stick(1, 4)] * 3], 0) == pytest.approx(expected, abs=0.02)


def test_a_group_without_draws_is_judged_by_the_others():
    regular, irregular = [[ALWAYS] * 5] * 8, [[NEVER] * 5] * 8
    alone = share_of_new([[]], 0)
    assert share_of_new([[], *regular], 0) < 0.1 < alone < 0.9 < share_of_new([[], *irregular], 0)
    # Its own draws count more than those of any number of others.
    assert share_of_new([[NEVER] * 5, *regular], 0) > 0.8


def test_outcomes_appear_in_the_order_of_random_draws():
    counts, rng = {"often": 3, "once": 1}, np.random.default_rng(0)
    first = Counter(next(iter(in_order_of_appearance(counts, rng))) for _ in range(2000))
    assert first["once"] / 2000 == pytest.approx(1 / 4, abs=0.03)


def test_samples_of_a_pair_leave_something_for_what_was_never_seen():
    pairs = [sticks_of([5, 2]), sticks_of([1])]
    cells = sampled_distributions([[s for pair in pairs for s in pair]], np.random.default_rng(1))
    sampler = ProbabilitySampler(pairs, [0, 0, 0], cells, 1)
    drawn = sampler.sampled()
    assert drawn.shape == (repetition.SAMPLES, 3)
    assert ((drawn[:, 0] + drawn[:, 1] <= 1 + 1e-9) & (drawn[:, 2] <= 1)).all()
    places = np.array([2, 0, 3])
    batches = np.vstack([*sampler.batches(places)])
    assert np.array_equal(batches, np.hstack([drawn, np.zeros((len(drawn), 1))])[:, places])


def test_the_values_of_a_group_are_low_or_high_together():
    pairs = [sticks_of([2])] * 3
    cells = sampled_distributions([[s for p in pairs for s in p], []], np.random.default_rng(2))
    together = ProbabilitySampler(pairs, [0, 0, 1], cells, 2).sampled()
    order = np.argsort(together[:, 0], kind="stable")
    assert (np.diff(together[order, 1]) >= 0).all()
    assert not (np.diff(together[order, 2]) >= 0).all()
