"""The probability that repeated requests succeed, compared with following every path."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.model import StateGraph
from capscope.present.digest.reliability import eventual_success
from capscope.record.execution_table import Transition
from support.small_runs import LAMPS, WISHES

TRANSITIONS = st.dictionaries(
    st.builds(Transition, st.integers(0, 3), st.integers(0, 1), st.integers(0, 3)),
    st.integers(1, 3),
)


def after_asking(graph, capability, state, times, memory):
    """Compute the probability after this many executions, by every outcome of each."""
    if graph.capabilities[capability].holds(state, LAMPS):
        return Fraction(1)
    pair = graph.pair(state, capability)
    if pair is None or not times:
        return Fraction(0)
    key = state, times
    if key not in memory:
        memory[key] = sum(
            Fraction(count, pair.total)
            * after_asking(graph, capability, effect.apply(state), times - 1, memory)
            for effect, count in pair.counts.items()
        )
    return memory[key]


@given(TRANSITIONS)
def test_eventual_success_is_that_of_very_many_requests(transitions):
    graph = StateGraph(LAMPS, WISHES[:2])
    graph.update(transitions)
    for capability, found in enumerate(eventual_success(graph)):
        memory = {}
        expected = [
            float(after_asking(graph, capability, state, 120, memory))
            for state, place in graph.nodes.items()
            if place.pairs[capability] is not None
            and not graph.capabilities[capability].holds(state, LAMPS)
        ]
        assert found == pytest.approx(expected, abs=1e-3)


def test_an_untried_pair_counts_as_failure():
    graph = StateGraph(LAMPS, WISHES[:1])
    graph.update({Transition(0, 0, 2): 1, Transition(2, 0, 4): 1})
    assert eventual_success(graph) == [[0.0, 0.0]]
    graph.update({Transition(4, 0, 5): 1, Transition(4, 0, 4): 9})
    assert eventual_success(graph) == [pytest.approx([1, 1, 1], abs=1e-4)]
    assert eventual_success(StateGraph(LAMPS)) == []
