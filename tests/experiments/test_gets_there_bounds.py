"""The intervals of *gets there* in worlds where they could be false."""

import random
import statistics

import pytest

from capscope_experiments.benchmarks.gets_there_bounds import (
    KINDS,
    chain,
    intervals,
    true_rate,
)


def test_the_true_rate_is_that_of_asking_until_it_holds():
    one = {0: {0: 0.5, 1: 0.5}, 1: {16: 0.9, 8: 0.1}}
    there = 1 - 0.5**3
    assert true_rate(one, 16) == pytest.approx((there * 0.9 + 0.9) / 2)


def test_a_chain_fails_where_its_kind_says():
    rng = random.Random(0)
    for kind, lost in (("reliable", 0), ("one state of each fails with 0.1", 1)):
        made = chain(KINDS[kind], 0, 16, rng)
        assert len(made) == 8
        assert sum(8 in ends for ends in made.values()) == lost
        assert true_rate(chain(KINDS["reliable"], 0, 16, rng), 16) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("kind", "executions", "widest"),
    [
        ("reliable", 3.0, 0.4),
        ("one state of each fails with 0.1", 3.0, 0.4),
        ("the last state fails with 0.1", 10.0, 0.3),
        ("one capability fails with 0.3", 3.0, 0.5),
        ("each state differs", 3.0, 0.7),
    ],
)
def test_intervals_hold_also_where_failures_are_rare_and_were_not_seen(kind, executions, widest):
    found = [one for seed in range(12) for one in intervals(KINDS[kind], 6, executions, seed)]
    assert statistics.fmean(one.holds for one in found) >= 0.95
    assert statistics.fmean(one.high - one.low for one in found) < widest
