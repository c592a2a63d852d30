"""The probability that repeated requests succeed, compared with following every path."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.model import StateGraph
from capscope.present.digest.eventual import eventual_success, mean_eventual
from capscope.record.execution_table import Transition
from support.small_runs import LAMPS, WISHES

TRANSITIONS = st.dictionaries(
    st.builds(Transition, st.integers(0, 3), st.integers(0, 1), st.integers(0, 3)),
    st.integers(1, 3),
)


def after_asking(graph, capability, state, times, memory, guess=None):
    """Compute the probability after this many executions, by every outcome of each."""
    if graph.capabilities[capability].holds(state, LAMPS):
        return Fraction(1)
    pair = graph.pair(state, capability)
    if not times or state not in graph.nodes or (pair is None and guess is None):
        return Fraction(0)
    key = state, times
    if key not in memory:
        outcomes = (
            {guess: Fraction(1)}
            if pair is None
            else {e.apply(state): Fraction(count, pair.total) for e, count in pair.counts.items()}
        )
        memory[key] = sum(
            share * after_asking(graph, capability, after, times - 1, memory, guess)
            for after, share in outcomes.items()
        )
    return memory[key]


@given(TRANSITIONS, st.none() | st.integers(0, 7))
def test_eventual_success_is_that_of_very_many_requests(transitions, guess):
    graph = StateGraph(LAMPS, WISHES[:2])
    graph.update(transitions)
    predict = None if guess is None else lambda state, intent: {guess: 1.0}
    for capability, found in enumerate(eventual_success(graph, predict)):
        memory = {}
        expected = {
            state: float(after_asking(graph, capability, state, 120, memory, guess))
            for state, place in graph.nodes.items()
            if place.pairs[capability] is not None
            and not graph.capabilities[capability].holds(state, LAMPS)
        }
        assert found == pytest.approx(expected, abs=1e-3)


def test_an_untried_pair_counts_as_failure():
    graph = StateGraph(LAMPS, WISHES[:1])
    graph.update({Transition(0, 0, 2): 1, Transition(2, 0, 4): 1})
    assert eventual_success(graph) == [{0: 0.0, 2: 0.0}]
    graph.update({Transition(4, 0, 5): 1, Transition(4, 0, 4): 9})
    assert eventual_success(graph) == [pytest.approx({0: 1, 2: 1, 4: 1}, abs=1e-4)]
    assert eventual_success(StateGraph(LAMPS)) == []


def test_at_most_so_many_untried_pairs_are_inferred():
    graph = StateGraph(LAMPS, WISHES[:1])
    graph.update({Transition(0, 0, 2): 1})

    def predict(state, intent):
        return {state | 1: 1.0}

    assert eventual_success(graph, predict) == [{0: 1.0}]
    assert eventual_success(graph, predict, most=0) == [{0: 0.0}]


def test_the_mean_leaves_out_states_in_which_the_world_has_ended():
    graph = StateGraph(LAMPS, WISHES[:1])
    graph.update({Transition(0, 0, 1): 1, Transition(4, 0, 4): 5})
    (found,) = eventual_success(graph)
    assert found == {0: 1.0, 4: 0.0}
    assert mean_eventual(graph, found) == 1.0
    assert mean_eventual(graph, {4: 0.0}) == 0.0
    assert mean_eventual(graph, {}) is None
