import random
from collections import Counter
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from capscope import Settings
from capscope.assessment.known_positions import KnownPositions, Reservoir
from capscope.errors import JournalError
from capscope.journal.draws import Draw, Execution, Start
from capscope.journal.journal import Journal
from capscope.problem.attempt import Attempt, Ending
from support.small_journals import META, START, at


def afresh(seed):
    """Reset the simulator: one seed in ten leads elsewhere."""
    return START if seed % 10 else Start(START.state, at(b"hidden"))


def kept_visits(reservoir, state, visits):
    """Return which visits to a state are kept after so many of them."""
    slots = {}
    for visit in range(visits):
        slot = reservoir.count_visit(state)
        if slot is not None:
            slots[slot] = visit
    return slots


@given(st.integers(1, 5), st.lists(st.tuples(st.booleans(), st.integers(1, 40)), max_size=6))
def test_visits_that_are_counted_at_once_are_as_good_as_one_by_one(size, steps):
    at_once, one_by_one = Reservoir(size, seed=5), Reservoir(size, seed=5)
    for together, number in steps:
        slots = [one_by_one.count_visit(9) for _ in range(number)]
        if together:
            at_once.count_past_visits(9, number)
        else:
            assert [at_once.count_visit(9) for _ in range(number)] == slots
    assert kept_visits(at_once, 9, 100) == kept_visits(one_by_one, 9, 100)


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
            slot = reservoir.count_visit(state)
            if slot is not None and visit >= 4:
                slots[slot] += 1
    assert chisquare([slots[slot] for slot in range(4)]).pvalue > 0.001


def test_pairs_of_visits_are_kept_together_as_often_as_in_a_uniform_sample():
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
    assert [reservoir.count_visit(9) for _ in range(size)] == list(range(size))


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
        mixed[state].append(together.count_visit(state))
    for state, slots in mixed.items():
        alone = Reservoir(size, seed)
        assert [alone.count_visit(state) for _ in slots] == slots


def test_another_seed_keeps_other_visits():
    kept = {tuple(sorted(kept_visits(Reservoir(3, seed), 0, 200).items())) for seed in range(20)}
    assert len(kept) == 20


def test_kept_visits_grow_with_the_logarithm_of_all_visits():
    reservoir = Reservoir(4, seed=0)
    kept = sum(reservoir.count_visit(0) is not None for _ in range(20_000))
    # 4 · (1 + ln(20000 / 4)) ≈ 38 are expected.
    assert 15 < kept < 80


def test_one_of_the_positions_kept_for_a_state_is_chosen(tmp_path):
    with closing(Journal.create(tmp_path / "journal.sqlite", META)) as journal:
        known = KnownPositions([START], journal, Settings(), 0, afresh)
        known.count_initial_visits(keep=True)
        assert known.choose(START.state, random.Random(0)) == START
        journal.keep_position(START.state, 1, at(b"other"))
        chosen = {known.choose(START.state, random.Random(seed)) for seed in range(20)}
        assert {start.position for start in chosen} == {START.position, at(b"other")}


def test_a_state_without_a_known_position_is_an_error_of_the_journal(tmp_path):
    with closing(Journal.create(tmp_path / "journal.sqlite", META)) as journal:
        known = KnownPositions([START], journal, Settings(), 0, afresh)
        known.count_initial_visits(keep=False)
        message = r"holds no position of state 0x5 \(done\(\), open\(\)\).*capscope check"
        with pytest.raises(JournalError, match=message):
            known.choose(START.state, random.Random(0))


def draw_from(start):
    attempt = Attempt((start.state,), 1, Ending.STOPPED)
    return Draw((Execution(0, attempt),), 1, 0, 0.0, cut=False)


def test_where_a_reset_led_is_kept_unless_the_run_began_there(tmp_path):
    with closing(Journal.create(tmp_path / "journal.sqlite", META)) as journal:
        known = KnownPositions([START], journal, Settings(snapshots=4), 0, afresh)
        again = KnownPositions([START], journal, Settings(snapshots=4), 0, afresh)
        assert known.reset(1) is START
        kept = known.count_visits(draw_from(START), {}, START)
        assert kept == {}
        hidden = known.reset(10)
        kept = known.count_visits(draw_from(hidden), {}, hidden)
        assert kept == {(START.state, 1): at(b"hidden")}
        # A resumed run counts the same visits.
        again.count_past_resets([(START.state, one.position.name) for one in (START, hidden)])
        again.reservoir.count_past_visits(START.state, 2)  # where the executions ended
        assert again.reservoir.count_visit(START.state) == known.reservoir.count_visit(START.state)
