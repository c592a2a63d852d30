from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from capscope.seeds import child_seed

SEEDS = st.integers(0, 2**64 - 1)
PLACES = st.lists(st.integers(-(2**31), 2**40), min_size=1, max_size=4)


@given(SEEDS, PLACES)
def test_a_seed_depends_on_its_place_alone(seed, place):
    assert child_seed(seed, *place) == child_seed(seed, *place)


@given(st.integers(), PLACES)
def test_a_seed_has_64_bits(seed, place):
    assert 0 <= child_seed(seed, *place) < 2**64


def test_the_seeds_of_a_run_are_all_different():
    seeds = [
        child_seed(7, query, draw, step)
        for query in range(40)
        for draw in range(25)
        for step in range(20)
    ]
    assert len(set(seeds)) == len(seeds)


@given(SEEDS, st.integers(0, 1000), st.integers(0, 1000))
def test_the_order_of_the_coordinates_matters(seed, one, other):
    assert (child_seed(seed, one, other) == child_seed(seed, other, one)) is (one == other)


@given(SEEDS, st.integers(0, 1000))
def test_a_place_is_not_the_place_below_it(seed, first):
    assert child_seed(seed, first) != child_seed(seed, first, 0)


def test_runs_with_neighbouring_seeds_share_no_seeds():
    seeds = [child_seed(run, query) for run in range(20) for query in range(200)]
    assert len(set(seeds)) == len(seeds)


def test_neighbouring_places_give_evenly_spread_bits():
    seeds = [child_seed(0, i) for i in range(4000)]
    for bit in range(64):
        assert 0.45 < sum(seed >> bit & 1 for seed in seeds) / len(seeds) < 0.55
    buckets = Counter(seed % 7 for seed in seeds)
    assert all(abs(count - 4000 / 7) < 100 for count in buckets.values())
