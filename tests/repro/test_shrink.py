"""Delta debugging, and how often an event has to be looked for."""

import itertools
import random

import pytest

from capscope.errors import CapscopeError
from capscope.logic import Effect
from capscope.repro.shrink import Measured, minimal, repetitions


@pytest.mark.parametrize("seed", range(20))
def test_nothing_can_be_left_out_of_what_is_kept_if_more_never_hurts(seed):
    rng = random.Random(seed)
    units = list(range(8))
    needed = [set(rng.sample(units, rng.randint(0, 3))) for _ in range(rng.randint(1, 3))]

    def still(kept):
        return any(one <= set(kept) for one in needed)

    kept = minimal(units, still)
    assert still(kept)
    assert not any(still([one for one in kept if one != left_out]) for left_out in kept)
    smallest = min(
        len(some)
        for size in range(len(units) + 1)
        for some in itertools.combinations(units, size)
        if still(some)
    )
    assert len(kept) >= smallest
    if len(needed) == 1:
        assert len(kept) == smallest


def test_few_questions_find_one_of_many():
    asked = []

    def still(kept):
        asked.append(kept)
        return 77 in kept

    assert minimal(range(100), still) == [77]
    assert len(asked) < 30


@pytest.mark.parametrize("low", [0.01, 0.2, 0.5, 0.999])
def test_repetitions_are_the_fewest_with_the_power(low):
    times = repetitions(low, 0.99)
    assert 1 - (1 - low) ** times >= 0.99
    assert times == 1 or 1 - (1 - low) ** (times - 1) < 0.99


def test_what_did_not_happen_again_needs_no_number_of_repetitions():
    with pytest.raises(CapscopeError, match="did not happen again"):
        repetitions(0.0, 0.99)


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.9])
def test_the_lower_bound_is_below_the_rate_in_95_percent_also_if_hits_end_the_count(rate):
    rng, wrong = random.Random(7), 0
    for _ in range(2000):
        hits = draws = 0
        while hits < 10 and draws < 400:
            draws += 1
            hits += rng.random() < rate
        wrong += Measured(hits, draws, 0, Effect(0, 0), 0.0).low > rate
    assert wrong <= 2000 * 0.05 + 4 * (2000 * 0.05 * 0.95) ** 0.5
