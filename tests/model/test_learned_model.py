"""What is believed of pairs, tried or not, in worlds where every answer is known."""

import random
from collections import Counter

import numpy as np
import pytest

from capscope.logic import Effect
from capscope.model import LearnedModel, Provenance, StateGraph, doubt, learned_model
from capscope.model.experts import PURSUIT
from support.chance_worlds import ASKED, BROKEN, DONE, LOST, NOTHING, ChanceWorld, X, succeeds
from support.pursuing_agents import (
    INTENTS,
    PURSUED,
    STATES,
    WORDS,
    drawn_pairs,
    graph_of,
    permuted,
    transitions,
)

PERMUTED = permuted()


def fitted(truth=PURSUED, number=250, seed=0):
    return LearnedModel.fitted(graph_of(transitions(truth, drawn_pairs(number, seed))), seed)


def everything(model):
    return {(s, i): model.predict(s, i) for s in STATES for i in INTENTS}


def as_values(predictions):
    return {pair: (dict(p), p.provenance, p.doubt, p.support) for pair, p in predictions.items()}


def share_right(model, truth):
    """Return how many of the untried pairs are predicted, and how many of these rightly."""
    found = [
        (pair, prediction)
        for pair, prediction in everything(model).items()
        if prediction.provenance is not Provenance.TRIED
    ]
    inferred = [(pair, p) for pair, p in found if p.provenance is Provenance.INFERRED]
    right = sum(p.get(truth[pair], 0.0) > 0.5 for pair, p in inferred)
    return len(inferred) / len(found), right / len(inferred)


def observe(model, truth, pairs):
    """Feed a model one pair after the other, as a run does; return those it did not foresee."""
    contradicted = []
    for pair in pairs:
        seen = transitions(truth, [pair])
        model.graph.update(seen)
        ((state, capability, _),) = seen
        contradicted += model.observe([(state, capability)]).contradicted
    return contradicted


@pytest.fixture(scope="module")
def live():
    """Return a model of an agent that pursues its intents, and the pairs it did not foresee."""
    model = LearnedModel(graph_of({}))
    return model, observe(model, PURSUED, drawn_pairs(400))


@pytest.fixture(scope="module")
def live_permuted():
    """Return a model of an agent that does not."""
    model = LearnedModel(graph_of({}))
    observe(model, PERMUTED, drawn_pairs(350))
    return model


# Pairs that were tried.


def failing_in_some_states(state, _):
    return {DONE: 0.6, BROKEN: 0.3, NOTHING: 0.1} if state & X[0] else {LOST: 0.8, NOTHING: 0.2}


def test_a_tried_pair_is_of_the_type_it_has_shown_whatever_the_experts_believe(monkeypatch):
    world = ChanceWorld(lambda _, rng: {rng.choice([DONE, BROKEN, LOST]): 1.0}, 50, 2, seed=0)
    graph = world.graph
    model = LearnedModel.fitted(graph)
    monkeypatch.setattr(
        model.experts, "believed", lambda _, rows: (np.zeros(len(rows), int), np.ones(len(rows)))
    )
    rows = np.array(model.matrix.rows(graph.nodes))
    for state, number in zip(graph.nodes, model.types_of(0, rows)[0], strict=True):
        assert model.types.effects[number] == frozenset(world.counts.get(state, [NOTHING]))


def test_a_tried_pair_is_its_counts_drawn_towards_those_of_its_type():
    world = ChanceWorld(failing_in_some_states, 40, 12, seed=0)
    model = LearnedModel.fitted(world.graph)
    kinds = {frozenset([DONE, BROKEN]): Counter(), frozenset([LOST]): Counter()}
    for counts in world.counts.values():
        for kind, pooled in kinds.items():
            if kind & counts.keys():
                pooled.update(counts)
    assert any(set(counts) == {DONE, NOTHING} for counts in world.counts.values())
    for state, counts in world.counts.items():
        (pooled,) = (pool for kind, pool in kinds.items() if kind & counts.keys())
        prediction = model.predict(state, ASKED)
        for effect, drawn in pooled.items():
            own, of_type = counts[effect] / counts.total(), drawn / pooled.total()
            low, high = sorted([own, of_type])
            assert low - 1e-9 <= prediction[effect.apply(state)] <= high + 1e-9
        assert prediction.provenance is Provenance.TRIED
        assert 0.0 < prediction.doubt < 0.5
        assert prediction.support.own_draws == counts.total()
        assert prediction.support.draws == pooled.total()
        assert set(prediction.support.rule) <= {DONE, BROKEN, LOST}


def test_pooling_gives_each_outcome_its_probability_and_they_sum_to_one():
    world = ChanceWorld(lambda state, rng: succeeds(0.7), 60, 25, seed=1)
    model = LearnedModel.fitted(world.graph)
    for state in world.states:
        prediction = model.predict(state, ASKED)
        assert sum(prediction.values()) == pytest.approx(1)
        assert prediction[DONE.apply(state)] == pytest.approx(0.7, abs=0.2)


def test_a_pair_in_which_nothing_ever_happened_stays_as_it_is():
    model = LearnedModel.fitted(graph_of(transitions(PURSUED, drawn_pairs(300))))
    idle = [
        (state, intent)
        for (state, intent), prediction in everything(model).items()
        if prediction.provenance is Provenance.TRIED and PURSUED[state, intent] == state
    ]
    assert idle
    assert all(dict(model.predict(state, intent)) == {state: 1.0} for state, intent in idle)


# Where a prediction comes from.


@pytest.mark.parametrize("truth", [PURSUED, PERMUTED], ids=["pursuing", "permuted"])
@pytest.mark.parametrize("number", [1, 15, 100, 400])
def test_each_prediction_says_what_it_rests_on(truth, number):
    model = fitted(truth, number)
    tried = set(drawn_pairs(number))
    for pair, prediction in everything(model).items():
        assert (prediction.provenance is Provenance.TRIED) == (pair in tried)
        assert 0.0 <= prediction.doubt <= 1.0
        assert all(0.0 <= share <= 1.0 for share in prediction.values())
        if prediction.provenance is Provenance.UNKNOWN:
            assert not prediction
            assert prediction.doubt == 1.0
        else:
            assert sum(prediction.values()) == pytest.approx(1)
        assert bool(prediction.support.own_draws) == (pair in tried)


def test_before_anything_was_tried_all_is_unknown():
    model = LearnedModel.fitted(graph_of({}))
    assert {p.provenance for p in everything(model).values()} == {Provenance.UNKNOWN}
    assert {p.doubt for p in everything(model).values()} == {1.0}


def test_an_intent_is_inferred_from_its_family_and_unknown_if_it_has_none():
    # Of four places to drive to one was never asked for; nothing else is like loading.
    van, loaded = INTENTS[3], INTENTS[8]
    seen = [pair for pair in drawn_pairs(500) if pair[1] not in (van, loaded)]
    model = LearnedModel.fitted(graph_of(transitions(PURSUED, seen)))
    predicted = [p for s in STATES if (p := model.predict(s, van))]
    assert len(predicted) > 0.5 * len(STATES)
    # No atom tells which places are neighbours: until it is asked, each is expected to be.
    there = WORDS.bit_of("van(d)")
    assert all(after & there for p in predicted for after in p)
    assert {model.predict(s, loaded).provenance for s in STATES} == {Provenance.UNKNOWN}


@pytest.mark.parametrize("number", [1, 60, 400])
def test_coverage_counts_the_pairs_of_the_states_seen_by_what_they_rest_on(number):
    model = fitted(PURSUED, number)
    counted = Counter(
        model.predict(state, intent).provenance
        for state in list(model.graph.nodes)
        for intent in INTENTS
    )
    coverage = model.coverage()
    assert coverage == tuple(counted[provenance] for provenance in Provenance)
    assert sum(coverage) == len(model.graph.nodes) * len(INTENTS)
    assert coverage.tried == number


# Being right.


def test_an_agent_that_pursues_its_intents_is_predicted_from_few_pairs():
    covered, right = share_right(fitted(PURSUED, 250), PURSUED)
    assert covered > 0.8
    assert right > 0.9


def test_doubt_is_lower_where_predictions_are_right():
    wrong, fine = [], []
    for seed in range(3):
        model = fitted(PURSUED, 40, seed)
        for pair, prediction in everything(model).items():
            if prediction.provenance is Provenance.INFERRED:
                (fine if prediction.get(PURSUED[pair], 0.0) > 0.5 else wrong).append(
                    prediction.doubt
                )
    assert np.mean(fine) < np.mean(wrong) - 0.05


def trust(model):
    """Return the mean weight of pursuit."""
    return np.mean(
        [model.experts.weights(capability)[PURSUIT] for capability in range(len(INTENTS))]
    )


def test_an_agent_that_does_not_pursue_its_intents_is_predicted_by_the_trees(live_permuted):
    assert trust(live_permuted) < 0.2
    covered, right = share_right(live_permuted, PERMUTED)
    assert covered > 0.7
    assert right > 0.85


def test_an_agent_that_pursues_its_intents_is_trusted_to(live):
    assert trust(live[0]) > 0.7


def test_a_model_fitted_at_once_trusts_pursuit_as_one_that_watched():
    assert trust(fitted(PURSUED, 300)) > 0.7
    assert trust(fitted(PERMUTED, 500)) < 0.2


def test_a_sample_of_many_pairs_is_enough_to_tell_whether_to_trust_pursuit(monkeypatch):
    monkeypatch.setattr(learned_model, "_MANY_PAIRS", 300)
    monkeypatch.setattr(doubt, "MOST_PAIRS", 12)
    pursuing, other = (
        np.mean([m.experts.weights(i)[PURSUIT] for i in range(len(INTENTS))])
        for m in (fitted(PURSUED, 600), fitted(PERMUTED, 600))
    )
    assert pursuing > 0.4
    assert other < 0.2


def test_weights_share_out_the_belief():
    for model in (fitted(PURSUED, 60), LearnedModel(graph_of({})), fitted(PERMUTED, 60)):
        for capability in range(len(INTENTS)):
            weights = model.experts.weights(capability)
            assert weights.sum() == pytest.approx(1)
            assert (weights >= 0).all()
    assert LearnedModel(graph_of({}), pursuit=False).experts.pursuit is None


def test_trees_alone_predict_too():
    model = LearnedModel(graph_of({}), pursuit=False)
    observe(model, PERMUTED, drawn_pairs(500))
    covered, right = share_right(model, PERMUTED)
    assert covered > 0.7
    assert right > 0.85


# Order.


@pytest.mark.parametrize("truth", [PURSUED, PERMUTED], ids=["pursuing", "permuted"])
@pytest.mark.parametrize("number", [40, 300])
def test_the_order_in_which_transitions_were_seen_makes_no_difference(truth, number):
    seen = list(transitions(truth, drawn_pairs(number)).items())
    first = as_values(everything(LearnedModel.fitted(graph_of(dict(seen)))))
    for seed in range(2):
        random.Random(seed).shuffle(seen)
        graph = graph_of({})
        for transition, count in seen:
            graph.update({transition: count})
        assert as_values(everything(LearnedModel.fitted(graph))) == first


def test_the_order_of_chance_outcomes_makes_no_difference():
    world = ChanceWorld(failing_in_some_states, 60, 3, seed=2)
    seen = [(s, 0, e.apply(s)) for s, counts in world.counts.items() for e in counts.elements()]
    found = []
    for seed in range(4):
        random.Random(seed).shuffle(seen)
        graph = StateGraph(world.graph.vocabulary, [ASKED])
        for transition in seen[::-1]:
            graph.update({transition: 1})
        model = LearnedModel.fitted(graph)
        pairs = {(state, ASKED): model.predict(state, ASKED) for state in range(100)}
        found.append(as_values(pairs))
    assert all(one == found[0] for one in found)


def test_the_order_in_which_predictions_are_asked_for_makes_no_difference():
    unseen = STATES[::-1]
    one, other = fitted(PURSUED, 30), fitted(PURSUED, 30)
    other.anticipate(STATES)
    for state in unseen:
        for intent in INTENTS:
            one.predict(state, intent)
    assert as_values(everything(one)) == as_values(everything(other))


# Following a run.


def test_the_first_outcome_of_a_pair_that_was_not_foreseen_is_reported_once(live):
    _, contradicted = live
    assert 0 < len(contradicted) < 150
    assert len(set(contradicted)) == len(contradicted)


def test_another_draw_of_a_pair_contradicts_nothing():
    model = LearnedModel(graph_of({}))
    contradicted = observe(model, PURSUED, drawn_pairs(60))
    state, capability = contradicted[-1]
    assert observe(model, PURSUED, [(state, INTENTS[capability])]) == []


def test_an_agent_that_is_foreseen_contradicts_less_as_a_run_goes_on(live):
    order = {pair: i for i, pair in enumerate(drawn_pairs(400))}
    when = [order[state, INTENTS[capability]] for state, capability in live[1]]
    early, late = (sum(low <= i < low + 100 for i in when) for low in (0, 300))
    assert late < early / 3


def test_an_agent_that_is_foreseen_contradicts_about_as_often_as_the_model_doubts(live):
    assert 0.3 < live[0].calibration < 3.0
    assert LearnedModel(graph_of({})).calibration == 1.0


def test_a_capability_found_on_the_way_is_learned_too():
    early, late = INTENTS[:4], INTENTS[4:]
    model = LearnedModel(graph_of({}, early))
    observe(model, PURSUED, [pair for pair in drawn_pairs(300) if pair[1] in early])
    model.graph.extend(late)
    assert {model.predict(state, late[0]).provenance for state in STATES} == {Provenance.UNKNOWN}
    assert sum(model.coverage()) == len(model.graph.nodes) * len(INTENTS)
    observe(model, PURSUED, [pair for pair in drawn_pairs(300) if pair[1] in late])
    covered, right = share_right(model, PURSUED)
    assert covered > 0.8
    assert right > 0.9


# A model that is frozen for an audit.


def test_what_is_learned_after_the_fit_does_not_change_what_was_foreseen():
    pairs = drawn_pairs(150)
    graph = graph_of(transitions(PURSUED, pairs[:60]))
    model = LearnedModel.fitted(graph)
    asked = [(s, INTENTS.index(i), PURSUED[s, i]) for s, i in pairs[60:]]
    before = [model.foresees(*one) for one in asked]
    graph.update(transitions(PURSUED, pairs[60:]))
    assert [model.foresees(*one) for one in asked] == before
    assert 0.5 < np.mean(before) < 1.0


def test_an_outcome_is_foreseen_if_the_prediction_has_it():
    model = fitted(PURSUED, 150)
    rng = random.Random(0)
    for (state, intent), prediction in everything(model).items():
        capability = INTENTS.index(intent)
        for after in (PURSUED[state, intent], state, rng.choice(STATES)):
            foreseen = model.foresees(state, capability, after)
            assert foreseen == (prediction.get(after, 0.0) > 0), (state, str(intent))


def held_possible(prediction):
    return (*prediction, prediction.provenance, prediction.doubt, prediction.support.rule)


def test_a_followed_graph_changes_what_is_possible_in_the_pairs_that_it_has_tried_and_no_other():
    pairs = drawn_pairs(400)
    model = LearnedModel.fitted(graph_of(transitions(PURSUED, pairs[:200])))
    before = {pair: held_possible(p) for pair, p in everything(model).items()}
    model.follow(graph_of(transitions(PURSUED, pairs)))
    after = everything(model)
    for pair, prediction in after.items():
        if pair in pairs:
            assert prediction.provenance is Provenance.TRIED
            assert prediction[PURSUED[pair]] > 0.5 or pair not in pairs[:200]
        else:
            assert held_possible(prediction) == before[pair]


def test_a_pair_whose_only_draw_contradicts_the_model_is_what_was_drawn():
    pairs = drawn_pairs(300)
    model = LearnedModel.fitted(graph_of(transitions(PURSUED, pairs[:299])))
    state, intent = pairs[299]
    odd = state ^ WORDS.bit_of("lit(x)") ^ WORDS.bit_of("lit(y)") ^ WORDS.bit_of("loaded()")
    seen = transitions(PURSUED, pairs[:299])
    seen[state, INTENTS.index(intent), odd] = 1
    model.follow(graph_of(seen))
    assert dict(model.predict(state, intent)) == {odd: 1.0}
    assert Effect.between(state, odd) in model.predict(state, intent).support.rule
