"""Planning with what the model infers: with written models, and with learned ones and the truth."""

import pytest

from capscope import Budget, assess
from capscope.insight.evaluation.reference import enumerate_truth
from capscope.insight.planning import plan_for
from capscope.insight.planning.mdp import MOST_DOUBT, believed_mdp
from capscope.journal.execution_table import Transition
from capscope.logic import Condition, Effect, Intent, Predicate, Vocabulary
from capscope.model import LearnedPrediction, Provenance, StateGraph, Support
from capscope.problems import load_problem
from support.tiny_models import INTENTS, WORDS, learned
from support.written_models import WrittenModel

P, Q, NOT_R = INTENTS
TRIED = {Transition(0, 0, 1): 20}  # p can be had from 0, as was seen


def choices_in(mdp, state):
    here = mdp.choices[mdp.states.index(state)]
    return {c.capability: c for c in here}


def planned(model, goal, start=0, seen=TRIED):
    inferred = model is not None
    model = (model or WrittenModel({})).on(learned(seen))
    return plan_for(model, Condition.parse(goal, WORDS), [start], inferred=inferred)


def test_an_inferred_pair_is_a_choice_with_its_doubt_and_support():
    mdp = believed_mdp(
        WrittenModel({(1, Q): ({3: 0.75, 5: 0.25}, 0.04)}, draws=8).on(learned(TRIED))
    )
    choice = choices_in(mdp, 1)[1]
    assert not choice.tried
    assert (choice.doubt, choice.draws, choice.draws_here) == (0.04, 8, 0)
    assert [mdp.states[i] for i in choice.successors] == [3, 5]
    assert choice.probabilities == pytest.approx((0.96 * 0.75, 0.96 * 0.25))
    # Two of the eight draws did not make q true.
    assert choice.fulfilled == 6


def test_a_tried_pair_is_never_inferred():
    mdp = believed_mdp(WrittenModel({(0, P): ({7: 1.0}, 0.001)}).on(learned(TRIED)))
    choice = choices_in(mdp, 0)[0]
    assert choice.tried
    assert [mdp.states[i] for i in choice.successors] == [1]


@pytest.mark.parametrize(
    "prediction",
    [
        ({3: 1.0}, MOST_DOUBT + 0.001),
        ({1: 1.0}, 0.01),  # nothing changes
        ({}, 0.8),  # unknown
    ],
    ids=["doubtful", "idle", "unknown"],
)
def test_a_pair_that_is_doubtful_idle_or_unknown_is_not_a_choice(prediction):
    mdp = believed_mdp(WrittenModel({(1, Q): prediction}).on(learned(TRIED)))
    assert choices_in(mdp, 1) == {}


def test_a_part_of_a_change_that_was_seen_elsewhere_is_not_planned_with():
    # The change deletes p, but p does not hold in 0: what would follow was never seen.
    model = WrittenModel({(0, Q): ({2: 1.0}, 0.01)}, effects=[Effect(adds=2, deletes=1)])
    assert 1 not in choices_in(believed_mdp(model.on(learned(TRIED))), 0)


def test_a_state_that_breaks_a_group_of_which_one_always_held_is_not_planned_with():
    vocabulary = Vocabulary([Predicate("at", ("cell",))], dict.fromkeys("abc", "cell"))
    at_a, at_b, at_c = 1, 2, 4
    intents = [Intent.parse(f"at({cell})") for cell in "abc"]
    graph = StateGraph(vocabulary, intents)
    graph.update({Transition(at_a, 1, at_b): 3})
    for after, allowed in ((at_c, True), (at_a | at_c, False)):
        model = WrittenModel({(at_a, intents[2]): ({after: 1.0}, 0.01)})
        assert (2 in choices_in(believed_mdp(model.on(graph)), at_a)) is allowed


def test_a_way_that_is_too_doubtful_is_declined_and_kept_with_its_doubt():
    plan = planned(WrittenModel({(1, Q): ({3: 1.0}, 0.65)}), "p and q")
    assert not plan.found
    assert [(step.state, step.doubt) for step in plan.declined] == [(0, 0.0), (1, 0.65)]
    # Nothing is declined if there is no way at all, or a way that can be offered.
    assert planned(WrittenModel({}), "p and q").declined == ()
    assert planned(WrittenModel({(1, Q): ({3: 1.0}, 0.05)}), "p and q").declined == ()
    assert planned(None, "p and q").declined == ()


def test_what_is_inferred_goes_on_from_states_that_were_never_seen():
    model = WrittenModel({(1, Q): ({3: 1.0}, 0.02), (3, NOT_R): ({2: 1.0}, 0.05)})
    mdp = believed_mdp(model.on(learned(TRIED)))
    assert set(mdp.states) == {0, 1, 3, 2}
    plan = planned(model, "q and not p")
    assert [step.state for step in plan.most_likely_way()] == [0, 1, 3]


def test_beyond_a_number_of_unseen_states_nothing_is_inferred(monkeypatch):
    monkeypatch.setattr("capscope.insight.planning.mdp._MOST_UNSEEN", 0)
    model = WrittenModel({(1, Q): ({3: 1.0}, 0.02), (3, NOT_R): ({2: 1.0}, 0.05)})
    mdp = believed_mdp(model.on(learned(TRIED)))
    assert set(mdp.states) == {0, 1, 3}
    assert choices_in(mdp, 3) == {}


def test_doubt_is_failure_in_the_success_and_the_interval():
    model = WrittenModel({(1, Q): ({3: 1.0}, 0.04)}, draws=10_000)
    plan = planned(model, "p and q")
    assert plan.success == pytest.approx(0.96)
    assert plan.doubt == pytest.approx(0.04)
    # With probability 0.04 the plan never works.
    assert plan.interval == (0.0, 1.0)
    assert sum(forecast == 0 for forecast in plan.forecasts()[1:]) == pytest.approx(40, abs=20)
    # A doubt below 2.5 % leaves the interval to the draws.
    sure = planned(WrittenModel({(1, Q): ({3: 1.0}, 0.004)}, draws=10_000), "p and q")
    assert sure.interval[0] > 0.8


def test_each_step_says_whether_it_was_tried():
    plan = planned(WrittenModel({(1, Q): ({3: 1.0}, 0.04)}), "p and q")
    first, second = plan.most_likely_way()
    assert (first.provenance, first.doubt) == (Provenance.TRIED, 0.0)
    assert (second.provenance, second.doubt) == (Provenance.INFERRED, 0.04)
    assert plan.inferred_steps == (second,)


def test_success_dead_ends_and_doubt_are_everything_that_may_happen():
    model = WrittenModel({(1, Q): ({3: 0.75, 5: 0.25}, 0.08)})
    plan = planned(model, "q")
    assert plan.success == pytest.approx(0.92 * 0.75)
    assert plan.dead_ends == pytest.approx({5: 0.92 * 0.25})
    assert plan.success + sum(plan.dead_ends.values()) + plan.doubt == pytest.approx(1.0)


def test_a_tried_way_is_preferred_to_a_shorter_one_that_is_inferred():
    seen = {**TRIED, Transition(1, 1, 3): 9}
    plan = planned(WrittenModel({(0, Q): ({3: 1.0}, 0.001)}), "p and q", seen=seen)
    assert not plan.inferred_steps
    assert plan.success == 1.0
    assert plan.inference_allowed


def test_a_lucky_draw_has_the_odds_of_similar_states_beside_inferred_steps():
    # In 0 asking for p gave both outcomes; in 2, drawn once, only the rare one.
    seen = {Transition(0, 0, 1): 18, Transition(0, 0, 5): 1, Transition(2, 0, 7): 1}
    plan = planned(WrittenModel({}), "r", 2, seen)
    assert 0.05 < plan.success < 0.75
    assert planned(None, "r", 2, seen).success == plan.success


@pytest.fixture(scope="module")
def short():
    """A run that ended long before every pair was tried."""
    return assess("blocksworld", seed=1, budget=Budget(executions=100))


@pytest.fixture(scope="module")
def truth():
    return enumerate_truth(load_problem("blocksworld").truth)


def true_success(plan, truth):
    """Follow a plan in a deterministic truth."""
    state, seen = plan.start, set()
    while not plan.reached(state):
        if state in seen or state not in plan.steps:
            return 0.0
        seen.add(state)
        (state,) = truth.table[state, plan.steps[state].capability]
    return 1.0


GOAL = "handfull(robot) and on(a,b)"


def test_inference_is_used_only_if_nothing_tried_leads_to_the_goal(short, truth):
    assert not short.plan(GOAL, inferred=False).found
    plan = short.plan(GOAL)
    assert plan.found
    assert plan.inferred_steps
    assert plan == short.plan(GOAL, inferred=True)
    assert 0.8 < plan.success < 1.0
    assert true_success(plan, truth) == 1.0


def test_a_plan_that_was_tried_is_the_same_with_and_without_the_model(short):
    found = short.plan("holding(a)")
    assert found == short.plan("holding(a)", inferred=False)
    assert (found.inferred_steps, found.doubt) == ((), 0.0)
    assert not found.inference_allowed


def test_predictions_are_used_as_the_learned_model_makes_them():
    # The naive twin asks the model about every pair of the states seen.
    run = assess("blocksworld", budget=Budget(executions=400))
    mdp, model, graph = believed_mdp(run.model), run.model, run.graph
    groups = graph.exactly_one.groups
    compared = 0
    for state in graph.nodes:
        here = choices_in(mdp, state)
        for c, intent in enumerate(graph.capabilities):
            predicted = model.predict(state, intent)
            if predicted.provenance is Provenance.TRIED:
                assert c not in here or here[c].tried
                continue
            usable = bool(predicted) and predicted.doubt <= MOST_DOUBT and set(predicted) != {state}
            usable &= predicted.support.worth > 0
            for after in predicted:
                known = Effect.between(state, after) in predicted.support.rule
                whole = all((group & after).bit_count() == 1 for group in groups)
                usable &= after == state or (known and (whole or after in graph.nodes))
            assert (c in here) is usable
            if usable:
                ends = {
                    mdp.states[i]: p
                    for i, p in zip(here[c].successors, here[c].probabilities, strict=True)
                }
                assert ends == pytest.approx(
                    {s: p * (1 - predicted.doubt) for s, p in predicted.items()}
                )
                compared += 1
    assert compared > 50


def test_the_written_model_predicts_as_a_learned_one():
    predicted = WrittenModel({(1, Q): ({3: 1.0}, 0.04)}).predict(1, Q)
    assert isinstance(predicted, LearnedPrediction)
    assert predicted.support == Support((Effect(2, 0),), 50, 0, 50)
