import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.insight.evaluation.reference import enumerate_truth
from capscope.logic import Effect, Intent
from capscope_experiments.baselines.qace import QaceSettings, learn_qace
from capscope_experiments.baselines.qace.compilation import extreme_rules
from capscope_experiments.baselines.qace.learning import LearningOutcome, tail
from capscope_experiments.baselines.qace.model import Conjunction
from capscope_experiments.measure import exact_distance
from support.rule_worlds import (
    NOTHING,
    STATES,
    all_effects,
    effect,
    everything_seen,
    rule_problem,
    when,
)


def learned(problem, draws=25, **settings):
    return learn_qace(problem, everything_seen(problem, draws), QaceSettings(**settings))


def distance(run, problem):
    return exact_distance(run.model, enumerate_truth(problem.truth))


def written(run, problem):
    return [part.as_dict(problem.vocabulary) for row in run.rows for part in row.result.parts]


@pytest.mark.parametrize("compiled", [True, False])
def test_a_conjunctive_truth_is_learned(compiled):
    problem = rule_problem(t=when("p and not q and not t", (effect("t", "p"), 1.0)))
    run = learned(problem, compiled=compiled)
    assert (run.outcome, run.reason) == ("model learned", "")
    assert written(run, problem) == [
        {
            "intent": "t()",
            "when": ["p()", "not q()", "not t()"],
            "outcomes": [{"probability": 1.0, "adds": ["t()"], "deletes": ["p()"]}],
        }
    ]
    assert distance(run, problem) == 0


@pytest.mark.parametrize("compiled", [True, False])
def test_probabilities_are_learned_too(compiled):
    truth = when("p and not q and not s and not t", (effect("t", "p"), 0.8), (effect("s"), 0.2))
    problem = rule_problem(t=truth)
    run = learned(problem, compiled=compiled, runs_per_effect=200)
    assert run.outcome == "model learned"
    (part,) = written(run, problem)
    assert part["when"] == ["p()", "not q()", "not s()", "not t()"]
    assert [(o["adds"], o["deletes"]) for o in part["outcomes"]] == [
        (["t()"], ["p()"]),
        (["s()"], []),
    ]
    # Two states are simulated, 200 runs each: four standard errors.
    assert part["outcomes"][0]["probability"] == pytest.approx(0.8, abs=0.08)
    assert distance(run, problem) < 0.05


def test_a_capability_that_rarely_does_anything_is_queried_until_no_change_is_evidence():
    problem = rule_problem(t=when("p and q", (effect("t", "p"), 0.1), (effect(), 0.9)))
    run = learned(problem, draws=200, runs_per_effect=200, compiled=False)
    (part,) = written(run, problem)
    assert part["when"] == ["p()", "q()"]


@pytest.mark.parametrize(
    "condition",
    ["p and not t or q and not t", "(p or q) and (r or s) and not t", "p == q and not t"],
)
def test_a_disjunctive_truth_is_reported_as_outside_the_class(condition):
    problem = rule_problem(t=when(condition, (effect("t"), 1.0)))
    run = learned(problem, compiled=False)
    assert run.outcome == "no model"
    assert [row.result.outcome for row in run.rows] == [LearningOutcome.DISJUNCTIVE]
    assert "outside the class: disjunctive (1)" in run.reason
    assert run.model.capabilities == ()


@pytest.mark.parametrize(
    "condition",
    ["p and not t or q and not t", "(p or q) and (r or s) and not t", "p == q and not t"],
)
def test_compiled_a_disjunctive_truth_is_learned(condition):
    problem = rule_problem(t=when(condition, (effect("t"), 1.0)))
    run = learned(problem)
    assert run.outcome == "model learned"
    assert distance(run, problem) == 0


def test_effects_that_depend_on_the_state_are_outside_the_class():
    there = ((effect("t"), 1.0),)
    problem = rule_problem(t=when("p", (effect("s"), 1.0), otherwise=there))
    problem_with_precondition = rule_problem(
        t=lambda state: NOTHING if state >> 3 else problem.truth.effects[Intent.parse("t")](state)
    )
    run = learned(problem_with_precondition, compiled=False)
    assert [row.result.outcome for row in run.rows] == [LearningOutcome.DEPENDENT]
    assert "effects depend on the state (1)" in run.reason


def chance_by_place(state):
    return (
        ((effect("t"), 0.9), (effect("s"), 0.1))
        if state & 1
        else ((effect("t"), 0.1), (effect("s"), 0.9))
    )


def test_one_effect_list_with_two_sets_of_probabilities_is_outside_the_class():
    run = learned(rule_problem(t=chance_by_place), compiled=False, runs_per_effect=50)
    assert [row.result.outcome for row in run.rows] == [LearningOutcome.DEPENDENT]


def only_where_seen(state):
    """Works wherever p holds in the states with r or s; with neither it never does."""
    return ((effect("t"), 1.0),) if state & 1 and state & 0b1100 and state < 16 else NOTHING


def seen_without_the_others(problem):
    """Return the graph of an agent that was only seen with either r or s."""
    graph = everything_seen(problem)
    kept = type(graph)(graph.vocabulary, graph.capabilities)
    intent = graph.capabilities[0]
    for rule in extreme_rules(graph, intent):
        for state in rule.states:
            if (state >> 2 & 3) in (1, 2):
                after = rule.outcomes[0].effect.apply(state)
                kept.update({(state, 0, after): 25})
    return kept


def test_a_disjunct_that_flips_show_not_to_be_a_conjunction_is_split():
    problem = rule_problem(t=only_where_seen)
    graph = seen_without_the_others(problem)
    run = learn_qace(problem, graph, QaceSettings())
    (row,) = run.rows
    assert run.outcome == "model learned"
    assert len(row.result.parts) == 2
    truth = problem.truth
    for state in graph.nodes:
        intent = Intent.parse("t")
        assert run.model.predict(state, intent) == truth.outcomes(state, intent)


def test_without_splitting_such_a_disjunct_cannot_be_modeled():
    problem = rule_problem(t=only_where_seen)
    graph = seen_without_the_others(problem)
    run = learn_qace(problem, graph, QaceSettings(split=False))
    assert run.outcome == "no model"
    assert [row.result.outcome for row in run.rows] == [LearningOutcome.DISJUNCTIVE]
    assert "shows that it works only when p()" in run.reason


def test_a_capability_that_no_longer_works_at_its_start_is_not_learned():
    graph = everything_seen(rule_problem(t=when("p and not t", (effect("t", "p"), 1.0))))
    idle = rule_problem(t=when("False"))
    run = learn_qace(idle, graph, QaceSettings())
    assert [row.result.outcome for row in run.rows] == [LearningOutcome.SILENT]
    assert "nothing changed in 25 runs" in run.reason


CHANGES = [e for e in all_effects() if e != Effect(0, 0)]


@given(care=st.integers(0, 31), value=st.integers(0, 31), change=st.sampled_from(CHANGES))
def test_any_conjunctive_truth_is_learned_in_every_state(care, value, change):
    precondition = Conjunction(care, value & care)

    def truth(state):
        return ((change, 1.0),) if precondition.holds(state) else NOTHING

    problem = rule_problem(t=truth)
    if all(truth(s)[0][0].apply(s) == s for s in STATES):
        return  # the effect changes nothing where it happens: there is nothing to learn
    run = learned(problem, draws=1, runs_per_effect=1, runs_per_flip=1, compiled=False)
    assert run.outcome == "model learned"
    assert distance(run, problem) == 0


@pytest.mark.parametrize("probability", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_a_tail_is_the_sum_of_the_probabilities_on_that_side(probability):
    runs = 4
    chances = [0.0] * (runs + 1)
    for hits in itertools.product((True, False), repeat=runs):
        chance = 1.0
        for hit in hits:
            chance *= probability if hit else 1 - probability
        chances[sum(hits)] += chance
    for count in range(runs + 1):
        below, above = sum(chances[: count + 1]), sum(chances[count:])
        expected = 1.0 if count == runs * probability else min(below, above)
        assert tail(count, runs, probability) == pytest.approx(expected)
