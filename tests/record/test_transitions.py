from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from capscope.record.execution_table import Transition

TRANSITIONS = st.builds(Transition, st.integers(0, 3), st.integers(0, 2), st.integers(0, 3))
BATCHES = st.lists(st.dictionaries(TRANSITIONS, st.integers(1, 4), max_size=8), max_size=5)


@given(BATCHES)
def test_a_dataset_counts_as_a_multiset_does(batches):
    dataset, everything = Dataset(), Counter()
    for batch in batches:
        dataset.record(batch)
        everything.update(batch)
    assert dict(dataset) == everything
    assert dataset.size == everything.total()
    assert dataset.distinct == len(everything)
    assert dataset.pairs == len({(t.before, t.capability) for t in everything})
    departures = Counter()
    for transition, count in everything.items():
        departures[transition.before] += count
    assert dataset.most_departures == max(departures.values(), default=0)
    for state in range(4):
        assert dataset.departures(state) == departures[state]
        for capability in range(3):
            ends = {t.after: n for t, n in everything.items() if t[:2] == (state, capability)}
            assert dataset.outcomes(state, capability) == ends
            assert dataset.executions(state, capability) == sum(ends.values())


@given(BATCHES)
def test_states_are_listed_in_the_order_of_first_sight_and_ends_are_states_too(batches):
    dataset, order = Dataset(), {}
    for batch in batches:
        dataset.record(batch)
        for before, _, after in batch:
            order[before] = order[after] = None
    assert list(dataset.states) == list(order)


def test_a_repeat_is_a_fact():
    dataset = Dataset()
    for _ in range(3):
        dataset.record({Transition(0, 0, 1): 2})
    assert (dataset.size, dataset.distinct) == (6, 1)
