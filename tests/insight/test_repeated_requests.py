"""The probability that repeated requests succeed, compared with following every path."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capscope.insight import repeated_requests
from capscope.insight.repeated_requests import PATIENCE, persistences
from capscope.journal.execution_table import Transition
from capscope.model import LearnedModel, StateGraph
from support.small_runs import LAMPS, WISHES

TRANSITIONS = st.dictionaries(
    st.builds(Transition, st.integers(0, 3), st.integers(0, 1), st.integers(0, 3)),
    st.integers(1, 3),
)
WISH = WISHES[0]
"""The lowest bit of a state."""


class Guesses:
    """Infers the outcomes that a function returns, and notes which states it is asked about."""

    def __init__(self, graph, guess):
        self.graph, self._guess = graph, guess
        self._fitted = LearnedModel.fitted(graph)
        self.anticipated, self.asked = set(), []

    def anticipate(self, states):
        self.anticipated.update(states)

    def predict(self, state, intent):
        if self.graph.pair(state, self.graph.index[intent]) is not None:
            return self._fitted.predict(state, intent)
        assert state in self.anticipated
        self.asked.append(state)
        return self._guess(state)


def solved(graph, guess=None):
    return persistences(Guesses(graph, guess), inferring=guess is not None)


def after_asking(outcomes, holds, state, times, unchanged, memory):
    """Compute the probability after this many executions, by every outcome of each."""
    if holds(state):
        return Fraction(1)
    if not times or unchanged == PATIENCE:
        return Fraction(0)
    key = state, times, unchanged
    if key not in memory:
        memory[key] = sum(
            share
            * after_asking(
                outcomes, holds, end, times - 1, unchanged + 1 if end == state else 0, memory
            )
            for end, share in outcomes(state).items()
        )
    return memory[key]


@given(TRANSITIONS, st.none() | st.integers(0, 7))
@settings(max_examples=40)
def test_shares_are_those_of_very_many_requests(transitions, guess):
    graph = StateGraph(LAMPS, WISHES[:2])
    graph.update(transitions)
    found = solved(graph, None if guess is None else lambda state: {guess: 1.0})
    model = LearnedModel.fitted(graph)
    for capability, intent in enumerate(graph.capabilities):

        def outcomes(state, guess=guess, capability=capability, intent=intent):
            pair = graph.pair(state, capability)
            if pair is None:
                return {} if guess is None else {guess: Fraction(1)}
            return {end: Fraction(p) for end, p in model.predict(state, intent).items()}

        memory, holds = {}, intent.test(LAMPS)
        expected = [
            float(after_asking(outcomes, holds, state, 120, 0, memory))
            for state in found[intent].states
        ]
        assert found[intent].share.tolist() == pytest.approx(expected, abs=1e-3)


def chain_of(transitions, guess=None):
    graph = StateGraph(LAMPS, [WISH])
    graph.update(transitions)
    return solved(graph, guess)[WISH]


def switched_on(state):
    return {state | 1: 1.0}


def test_an_untried_pair_counts_as_failure():
    assert chain_of({Transition(0, 0, 2): 1, Transition(2, 0, 4): 1}).share.tolist() == [0, 0]
    assert solved(StateGraph(LAMPS)) == {}


def test_what_is_inferred_continues_the_chain_and_leaves_the_bounds_alone():
    seen = {Transition(0, 0, 2): 40}
    plain, inferring = chain_of(seen), chain_of(seen, switched_on)
    assert (plain.share, plain.measured) == ([0.0], [0.0])
    assert (inferring.share, inferring.measured) == ([1.0], [0.0])
    everywhere = {0: 1}
    assert inferring.interval(everywhere) == plain.interval(everywhere) == (0.0, 1.0)


def test_ways_lead_on_through_states_that_were_never_seen():
    ways = {2: 4, 4: 6, 6: 7}
    chain = chain_of({Transition(0, 0, 2): 1}, lambda state: {ways[state]: 1.0})
    assert chain.share.tolist() == [1.0]


def test_a_way_to_where_the_model_infers_nothing_is_open():
    chain = chain_of({Transition(0, 0, 2): 1, Transition(0, 0, 1): 1}, lambda state: {})
    assert chain.share.tolist() == pytest.approx([0.5])
    assert chain.open.tolist() == pytest.approx([0.5])
    assert chain.mean({0: 1}) == pytest.approx(1.0)
    assert chain_of({Transition(0, 0, 2): 1}).mean({0: 1}) is None
    assert chain.mean({}) is None


@given(TRANSITIONS)
@settings(max_examples=40)
def test_ends_add_up_and_the_mean_needs_most_of_them(transitions):
    graph = StateGraph(LAMPS, WISHES[:2])
    graph.update(transitions)
    for chain in solved(graph).values():
        if chain.states:
            assert all(chain.share + chain.open <= 1 + 1e-6)
            mean = chain.mean(dict.fromkeys(chain.states, 1))
            assert (mean is None) == (chain.open.mean() > 0.5)
            low, high = chain.interval(dict.fromkeys(chain.states, 1))
            assert -1e-6 <= low <= high + 1e-6 <= 1 + 2e-6


def test_at_most_so_many_untried_pairs_are_inferred(monkeypatch):
    graph = StateGraph(LAMPS, [WISH])
    graph.update({Transition(0, 0, 2): 1, Transition(4, 0, 6): 1})
    guesses = Guesses(graph, switched_on)
    assert persistences(guesses, inferring=True)[WISH].share.tolist() == [1.0, 1.0]
    assert sorted(guesses.asked) == [2, 6]
    monkeypatch.setattr(repeated_requests, "MOST_INFERRED", 1)
    assert sorted(persistences(guesses, inferring=True)[WISH].share.tolist()) == [0.0, 1.0]
