"""How often predictions fail, learned from predictions that can be checked."""

import math
import random

import numpy as np
import pytest

from capscope.journal.execution_table import Transition
from capscope.logic import Intent
from capscope.model import LearnedModel, Provenance, StateGraph
from capscope.model.doubt import HeldOutPrediction, calibrated_doubt, fit
from support.pursuing_agents import PURSUED, drawn_pairs, graph_of, transitions
from support.toy_worlds import WORDS

SPREADS = (1.5, 0.5, 1.0)  # of the intercept, the slope and the offsets


def predictions(number, capability=0, changes=True, disagreement=0.05, missed=0.0):
    return [HeldOutPrediction(capability, changes, disagreement, missed)] * number


def test_without_evidence_the_disagreement_is_believed():
    calibration = calibrated_doubt([])
    for disagreement in (0.02, 0.1, 0.5):
        assert calibration(3, True, disagreement) == pytest.approx(disagreement)


def test_predictions_that_mostly_fail_are_doubted_however_far_the_experts_agree():
    held_out = predictions(70, missed=1.0) + predictions(30, missed=0.0)
    assert calibrated_doubt(held_out)(0, True, 0.05) == pytest.approx(0.7, abs=0.05)


def test_predictions_that_never_fail_are_doubted_less_than_the_experts_disagree():
    held_out = predictions(300, disagreement=0.2)
    assert calibrated_doubt(held_out)(0, True, 0.2) < 0.03


def test_that_nothing_happens_is_judged_apart_from_changes():
    held_out = predictions(50, missed=1.0) + predictions(200, changes=False)
    calibration = calibrated_doubt(held_out)
    assert calibration(0, True, 0.05) > 0.6
    assert calibration(0, False, 0.05) < 0.02


def test_a_capability_that_fails_more_than_others_is_doubted_more():
    held_out = predictions(40, 0, missed=1.0) + predictions(40, 1) + predictions(3, 2)
    calibration = calibrated_doubt(held_out)
    failing, right, hardly_known, unknown = (calibration(i, True, 0.05) for i in range(4))
    assert right < hardly_known <= unknown < failing


def test_the_fit_is_where_a_naive_twin_finds_nothing_more_probable():
    rng = random.Random(0)
    held_out = [
        HeldOutPrediction(rng.randrange(3), True, rng.random() / 2, rng.choice((0.0, 0.3, 1.0)))
        for _ in range(80)
    ]
    weights = fit(held_out)

    def log_posterior(weights):
        intercept, slope, *offsets = weights
        score = -((intercept / SPREADS[0]) ** 2 + ((slope - 1.0) / SPREADS[1]) ** 2) / 2
        score -= sum((offset / SPREADS[2]) ** 2 for offset in offsets) / 2
        for capability, _, disagreement, missed in held_out:
            share = min(max(disagreement, 0.01), 0.99)
            at = intercept + slope * math.log(share / (1 - share)) + offsets[capability]
            failing = 1 / (1 + math.exp(-at))
            score += missed * math.log(failing) + (1 - missed) * math.log(1 - failing)
        return score

    best = log_posterior(weights)
    for _ in range(300):
        nearby = weights + np.array([rng.gauss(0, 0.05) for _ in weights])
        assert log_posterior(nearby) < best


# In worlds of known truth.


def doubt_and_failures(model, truth):
    """Return the mean doubt of inferred changes, and how many of these predictions fail."""
    found = [
        (prediction.doubt, prediction.get(after, 0.0) == 0.0)
        for (state, intent), after in truth.items()
        if (prediction := model.predict(state, intent)).provenance is Provenance.INFERRED
        and set(prediction) != {state}
    ]
    doubts, failures = zip(*found, strict=True)
    return np.mean(doubts), np.mean(failures), len(found)


def test_in_a_world_that_is_captured_by_its_predicates_the_doubt_of_a_change_is_small():
    graph = graph_of(transitions(PURSUED, drawn_pairs(400)))
    doubt, failures, number = doubt_and_failures(LearnedModel.fitted(graph), PURSUED)
    assert number > 100
    assert failures < 0.1
    assert doubt == pytest.approx(failures, abs=0.1)


def test_in_a_world_in_which_changes_depend_on_what_no_predicate_says_doubt_is_large():
    # Whether a request is met depends on the state in a way that no few atoms express.
    rng = random.Random(5)
    hidden = {
        (state, intent): after if rng.random() < 0.5 else state ^ rng.choice((1, 2, 4, 8, 16))
        for (state, intent), after in PURSUED.items()
    }
    graph = graph_of(transitions(hidden, drawn_pairs(400)))
    doubt, failures, number = doubt_and_failures(LearnedModel.fitted(graph), hidden)
    assert number > 50
    # Several outcomes are expected of a pair, so less than the half that differs is a failure.
    assert failures > 0.1
    assert doubt == pytest.approx(failures, abs=0.15)


def test_the_doubt_of_untried_pairs_does_not_depend_on_what_an_audit_adds():
    pairs = drawn_pairs(300)
    model = LearnedModel.fitted(graph_of(transitions(PURSUED, pairs[:200])))
    untried = [pair for pair in PURSUED if pair not in set(pairs)]
    model.follow(graph_of(transitions(PURSUED, pairs)))
    late = [model.predict(*pair).doubt for pair in untried]
    model = LearnedModel.fitted(graph_of(transitions(PURSUED, pairs[:200])))
    assert late == [model.predict(*pair).doubt for pair in untried]


def test_asking_for_the_doubt_changes_no_prediction():
    graph = graph_of(transitions(PURSUED, drawn_pairs(200)))
    asked, silent = LearnedModel.fitted(graph), LearnedModel.fitted(graph)
    for pair in PURSUED:
        assert 0.0 < asked.predict(*pair).doubt <= 1.0
    assert all(dict(asked.predict(*pair)) == dict(silent.predict(*pair)) for pair in PURSUED)
    assert all(asked.foresees(s, 0, s) == silent.foresees(s, 0, s) for s, _ in PURSUED)


def test_a_model_that_observes_more_estimates_its_doubts_again():
    lit = Intent.parse("lit(a)")
    graph = StateGraph(WORDS, [lit])
    model = LearnedModel(graph)
    doubts = []
    for after in (1, 1, 1, 4, 1):
        graph.update({Transition(0, 0, after): 1})
        model.observe([(0, 0)])
        doubts.append(model.predict(0, lit).doubt)
    assert doubts[0] > doubts[1] > doubts[2] < doubts[3] > doubts[4]
