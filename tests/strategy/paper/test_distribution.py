"""Sparse log-probabilities against dense sums over all states."""

import itertools
from collections import defaultdict
from math import exp, isclose, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.journal.execution_table import Transition
from capscope.logic import Intent, Vocabulary
from capscope.model import ExtremeModels, StateGraph
from capscope.strategy.paper.mcqs_e import (
    Predictor,
    add_mass,
    point,
    total_variation,
)

WORDS = Vocabulary.of_atoms("pqr")
INTENTS = [Intent.parse(text) for text in ("p", "not q and r")]
ALL = range(2 ** len(WORDS.atoms))
CAPABILITIES = st.integers(0, len(INTENTS) - 1)

TRANSITIONS = st.builds(
    lambda state, capability, flip: Transition(state, capability, state ^ flip),
    st.sampled_from(ALL),
    CAPABILITIES,
    st.sampled_from([0b000, 0b001, 0b011, 0b100]),
)
DATASETS = st.dictionaries(TRANSITIONS, st.integers(1, 5), max_size=20)
WEIGHTS = st.dictionaries(st.sampled_from(ALL), st.integers(1, 1000), min_size=1)


def learned(dataset):
    graph = StateGraph(WORDS, INTENTS)
    graph.update(dataset)
    return graph


def support_difference(one, other):
    """δ_SD: the mass, under the equal mixture, that only one of the two considers possible."""
    alone = [d[s] for d, rest in ((one, other), (other, one)) for s in d if s not in rest]
    return sum(map(exp, alone)) / 2


def distribution(weights):
    total = sum(weights.values())
    return {state: log(weight / total) for state, weight in weights.items()}


def dense(distribution):
    """List the probability of every state there is."""
    return [exp(distribution[state]) if state in distribution else 0.0 for state in ALL]


def moved_twin(weights, graph, capability, *, optimistic):
    """τ(ρ)(s′) = Σ Pr(s′ | s, c) ρ(s); what a model says nothing about has no successors."""
    model = ExtremeModels(graph).optimistic if optimistic else ExtremeModels(graph).pessimistic
    moved = defaultdict(float)
    for state, mass in enumerate(weights):
        for successor, probability in model.predict(state, INTENTS[capability]).items():
            moved[successor] += mass * probability
    return [moved[state] for state in ALL]


def moves(predictor, optimistic):
    return predictor.optimist if optimistic else predictor.pessimist


@given(WEIGHTS, WEIGHTS)
def test_total_variation_is_half_the_sum_of_all_differences(one, other):
    one, other = distribution(one), distribution(other)
    by_definition = sum(abs(p - q) for p, q in zip(dense(one), dense(other), strict=True)) / 2
    assert total_variation(one, other) == pytest.approx(by_definition, abs=1e-12)
    assert 0.0 <= total_variation(one, other) <= 1.0


@given(WEIGHTS, WEIGHTS)
def test_total_variation_is_the_largest_disagreement_about_an_event(one, other):
    one, other = dense(distribution(one)), dense(distribution(other))
    events = itertools.chain.from_iterable(itertools.combinations(ALL, n) for n in range(9))
    largest = max(abs(sum(one[s] - other[s] for s in event)) for event in events)
    sparse = [{s: log(p) for s, p in enumerate(d) if p} for d in (one, other)]
    assert total_variation(*sparse) == pytest.approx(largest, abs=1e-12)


@given(WEIGHTS, WEIGHTS)
def test_both_distances_are_symmetric_and_support_never_sees_more_than_variation(one, other):
    one, other = distribution(one), distribution(other)
    assert total_variation(one, other) == pytest.approx(total_variation(other, one))
    assert support_difference(one, other) == pytest.approx(support_difference(other, one))
    assert support_difference(one, other) <= total_variation(one, other) + 1e-12
    assert total_variation(one, one) == support_difference(one, one) == 0.0


@given(st.lists(st.floats(1e-300, 1.0), min_size=1, max_size=20))
def test_masses_add_up_in_the_log_domain(masses):
    total = {}
    for mass in masses:
        add_mass(total, 5, log(mass))
    assert isclose(exp(total[5]), sum(masses), rel_tol=1e-9)


@given(WEIGHTS, WEIGHTS, st.integers(0, 1000))
def test_mass_that_went_nowhere_is_a_state_of_its_own(one, other, lost):
    one, other = distribution(one), distribution(other)
    total = 1 + lost / 1000
    partial = {state: mass - log(total) for state, mass in one.items()}
    completed = [*dense(partial), 1 - 1 / total], [*dense(other), 0.0]
    by_definition = sum(abs(p - q) for p, q in zip(*completed, strict=True)) / 2
    assert total_variation(partial, other) == pytest.approx(by_definition, abs=1e-12)
    assert total_variation(other, partial) == pytest.approx(by_definition, abs=1e-12)
    assert total_variation({}, other) == pytest.approx(1.0)


@given(DATASETS, st.sampled_from(ALL), st.lists(CAPABILITIES, max_size=12))
def test_the_optimist_sums_to_one_after_any_sequence_of_updates(dataset, start, way):
    predictor, where = Predictor(ExtremeModels(learned(dataset))), point(start)
    for capability in way:
        where = predictor.optimist(where, capability)
        assert sum(map(exp, where.values())) == pytest.approx(1.0, abs=1e-9)


@given(DATASETS, st.sampled_from(ALL), st.lists(CAPABILITIES, max_size=12))
def test_the_pessimist_keeps_the_mass_of_ways_that_were_tried(dataset, start, way):
    graph = learned(dataset)
    predictor, where = Predictor(ExtremeModels(graph)), point(start)
    for capability in way:
        tried = [exp(m) for s, m in where.items() if graph.pair(s, capability) is not None]
        where = predictor.pessimist(where, capability)
        assert sum(map(exp, where.values())) == pytest.approx(sum(tried), abs=1e-9)


@given(DATASETS, WEIGHTS, st.lists(CAPABILITIES, min_size=1, max_size=4), st.booleans())
def test_an_update_is_the_sum_over_all_states(dataset, weights, way, optimistic):
    graph = learned(dataset)
    move = moves(Predictor(ExtremeModels(graph)), optimistic)
    where = distribution(weights)
    for capability in way:
        expected = moved_twin(dense(where), graph, capability, optimistic=optimistic)
        where = move(where, capability)
        assert dense(where) == pytest.approx(expected, abs=1e-12)
        assert set(where) == {state for state in ALL if expected[state] > 0.0}


@given(DATASETS, WEIGHTS, CAPABILITIES)
def test_the_pessimist_gives_untried_states_no_successors(dataset, weights, capability):
    graph = learned(dataset)
    untried = {s: w for s, w in weights.items() if graph.pair(s, capability) is None}
    if untried:
        where = distribution(untried)
        assert Predictor(ExtremeModels(graph)).pessimist(where, capability) == {}


@given(DATASETS, st.sampled_from(ALL), CAPABILITIES)
def test_the_optimist_predicts_for_a_state_what_the_optimistic_model_does(dataset, state, c):
    graph = learned(dataset)
    moved = Predictor(ExtremeModels(graph)).optimist(point(state), c)
    expected = dict(ExtremeModels(graph).optimistic.predict(state, INTENTS[c]))
    assert {s: exp(mass) for s, mass in moved.items()} == pytest.approx(expected)


def test_the_optimist_averages_the_rules_and_not_the_observations():
    # Two rules: nothing happens (seen nine times), and p becomes true or not (once each).
    graph = learned(
        {Transition(1, 0, 1): 9, Transition(2, 0, 3): 1, Transition(2, 0, 2): 1},
    )
    moved = Predictor(ExtremeModels(graph)).optimist(point(0b100), 0)
    assert {s: exp(mass) for s, mass in moved.items()} == pytest.approx({0b100: 0.75, 0b101: 0.25})


@given(DATASETS, CAPABILITIES)
def test_on_tried_pairs_both_models_move_alike(dataset, capability):
    graph = learned(dataset)
    tried = {s: 1 for s in ALL if graph.pair(s, capability) is not None}
    if tried:
        predictor, where = Predictor(ExtremeModels(graph)), distribution(tried)
        pessimist = predictor.pessimist(where, capability)
        optimist = predictor.optimist(where, capability)
        assert total_variation(pessimist, optimist) == pytest.approx(0.0, abs=1e-12)
        assert support_difference(pessimist, optimist) == 0.0


@given(DATASETS, WEIGHTS, st.lists(CAPABILITIES, max_size=6))
def test_what_was_predicted_before_makes_no_difference(dataset, weights, way):
    graph = learned(dataset)
    used = Predictor(ExtremeModels(graph))
    for optimistic, capability in itertools.product((False, True), way):
        where = distribution(weights)
        again = moves(used, optimistic)(where, capability)
        assert again == moves(Predictor(ExtremeModels(graph)), optimistic)(where, capability)
        assert where == distribution(weights)
