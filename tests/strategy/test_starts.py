import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from capscope.model import StateGraph
from capscope.record.execution_table import Transition
from capscope.strategy.starts import (
    End,
    Reservoir,
    end_to_go_on_from,
    state_to_start_from,
    weighted_choice,
)
from capscope.symbolic import Intent, Vocabulary


def kept_visits(reservoir, state, visits):
    """Return which visits to a state are kept after so many of them."""
    slots = {}
    for visit in range(visits):
        slot = reservoir.slot(state)
        if slot is not None:
            slots[slot] = visit
    return slots


@pytest.mark.parametrize(("size", "visits"), [(1, 10), (3, 12), (4, 40)])
def test_every_visit_is_kept_with_the_same_probability(size, visits):
    states = 4000
    reservoir = Reservoir(size, seed=1)
    kept = Counter()
    for state in range(states):
        kept.update(kept_visits(reservoir, state, visits).values())
    assert kept.total() == states * size
    # Visits of one state exclude each other, so this is on the safe side of a fair die.
    assert chisquare([kept[visit] for visit in range(visits)]).pvalue > 0.001


def test_which_slot_a_visit_goes_to_is_uniform():
    reservoir = Reservoir(4, seed=2)
    slots = Counter()
    for state in range(2000):
        for visit in range(30):
            slot = reservoir.slot(state)
            if slot is not None and visit >= 4:
                slots[slot] += 1
    assert chisquare([slots[slot] for slot in range(4)]).pvalue > 0.001


def test_pairs_of_visits_are_kept_together_as_often_as_chance_has_it():
    reservoir = Reservoir(2, seed=3)
    pairs = Counter()
    for state in range(4000):
        pairs[tuple(sorted(kept_visits(reservoir, state, 5).values()))] += 1
    assert len(pairs) == 10
    assert chisquare(list(pairs.values())).pvalue > 0.001


@given(st.integers(1, 5), st.integers(0, 2**64 - 1), st.integers(0, 60))
def test_the_first_visits_fill_the_slots_and_none_stays_empty(size, seed, visits):
    kept = kept_visits(Reservoir(size, seed), 9, visits)
    assert sorted(kept) == list(range(min(size, visits)))
    reservoir = Reservoir(size, seed)
    assert [reservoir.slot(9) for _ in range(size)] == list(range(size))


@given(
    st.integers(1, 3),
    st.integers(0, 2**64 - 1),
    st.lists(st.integers(0, 3), max_size=80),
    st.randoms(use_true_random=False),
)
def test_what_is_kept_of_a_state_does_not_depend_on_other_states(size, seed, visited, rng):
    together = Reservoir(size, seed)
    mixed = {state: [] for state in visited}
    for state in visited:
        mixed[state].append(together.slot(state))
    for state, slots in mixed.items():
        alone = Reservoir(size, seed)
        assert [alone.slot(state) for _ in slots] == slots


def test_another_seed_keeps_other_visits():
    kept = {tuple(sorted(kept_visits(Reservoir(3, seed), 0, 200).items())) for seed in range(20)}
    assert len(kept) == 20


def test_kept_visits_grow_with_the_logarithm_of_all_visits():
    reservoir = Reservoir(4, seed=0)
    kept = sum(reservoir.slot(0) is not None for _ in range(20_000))
    # 4 · (1 + ln(20000 / 4)) ≈ 38 are expected.
    assert 15 < kept < 80


def seen(departures):
    dataset = Dataset()
    dataset.record({Transition(state, 0, state): n for state, n in departures.items() if n})
    return dataset


class Recorder(random.Random):
    """Notes the weights it is asked to choose by."""

    def choices(self, population, weights=None, **rest):
        self.asked = dict(zip(population, weights, strict=True))
        return super().choices(population, weights, **rest)


@given(st.dictionaries(st.integers(0, 20), st.integers(0, 9), min_size=1))
def test_a_state_weighs_the_more_the_less_often_it_was_left(departures):
    rng = Recorder(0)
    chosen = weighted_choice(list(departures), seen(departures), rng)
    most = max(departures.values())
    assert chosen in departures
    assert rng.asked == {state: most + 1 - n for state, n in departures.items()}


def test_choices_follow_the_weights():
    rng = random.Random(0)
    dataset = seen({0: 9, 1: 6, 2: 0})
    drawn = Counter(weighted_choice([0, 1, 2], dataset, rng) for _ in range(15_000))
    expected = [15_000 * weight / 15 for weight in (1, 4, 10)]
    assert chisquare([drawn[state] for state in range(3)], expected).pvalue > 0.001


def test_the_weights_count_states_that_are_not_among_the_choices():
    rng = Recorder(0)
    weighted_choice([0, 1], seen({0: 2, 1: 5, 7: 30}), rng)
    assert rng.asked == {0: 29, 1: 26}


def test_a_walk_that_has_gone_on_for_too_long_ends():
    ends = [End(0, b"far", 100), End(1, b"near", 99)]
    for seed in range(20):
        end = end_to_go_on_from(ends, seen({0: 1}), 100, random.Random(seed))
        assert end == ends[1]
    assert end_to_go_on_from(ends[:1], seen({0: 1}), 100, random.Random(0)) is None
    assert end_to_go_on_from([], seen({0: 1}), 100, random.Random(0)) is None


def test_an_end_is_chosen_by_its_state_first_and_not_by_how_many_draws_ended_there():
    ends = [End(0, b"%d" % i, 0) for i in range(9)] + [End(1, b"other", 0)]
    rng = random.Random(0)
    drawn = Counter(end_to_go_on_from(ends, seen({}), 100, rng) for _ in range(5000))
    assert 2300 < drawn[ends[-1]] < 2700
    assert all(drawn[end] > 0 for end in ends)


def test_no_query_starts_in_a_sink():
    words = Vocabulary.of_atoms("pq")
    transitions = {Transition(0, 0, 1): 1, Transition(1, 0, 1): 1}
    dataset, graph = Dataset(), StateGraph(words, [Intent.parse("p")])
    dataset.record(transitions)
    graph.update(transitions)
    drawn = {state_to_start_from(dataset, graph, random.Random(seed)) for seed in range(50)}
    assert drawn == {0}


def test_there_is_no_start_while_there_is_no_state_that_can_be_left():
    words = Vocabulary.of_atoms("p")
    dataset, graph = Dataset(), StateGraph(words, [Intent.parse("p")])
    assert state_to_start_from(dataset, graph, random.Random(0)) is None
    dataset.record({Transition(0, 0, 0): 1})
    graph.update({Transition(0, 0, 0): 1})
    assert state_to_start_from(dataset, graph, random.Random(0)) is None


def test_a_new_capability_may_leave_what_was_a_sink():
    words = Vocabulary.of_atoms("pq")
    dataset, graph = Dataset(), StateGraph(words, [Intent.parse("p")])
    dataset.record({Transition(0, 0, 0): 1})
    graph.update({Transition(0, 0, 0): 1})
    graph.extend([Intent.parse("q")])
    assert state_to_start_from(dataset, graph, random.Random(0)) == 0
