"""Plans from runs in domains with a known truth, compared with plans from the truth."""

import pytest

from capscope import Budget, assess
from capscope.insight.planning.trial import TrialSettings, TrialVerdict
from capscope.logic import Intent
from capscope.problems import load_problem


@pytest.fixture(scope="module")
def blocks():
    return assess("blocksworld", budget=Budget(executions=1500))


@pytest.fixture(scope="module")
def tires():
    return assess("tireworld", budget=Budget(executions=2000))


def true_success(name, goal, start):
    """Return the highest success probability by value iteration on the true model."""
    problem = load_problem(name)
    truth, vocabulary = problem.truth, problem.vocabulary
    wanted = Intent.parse(goal)
    states, intents = truth.reachable_states(), truth.intents()
    outcomes = {(s, i): truth.outcomes(s, i) for s in states for i in intents}
    success = {s: float(wanted.holds(s, vocabulary)) for s in states}
    for _ in range(200):
        for s in states:
            best = max(
                sum(p * success[after] for after, p in outcomes[s, i].items()) for i in intents
            )
            success[s] = max(success[s], best)
    return success[start]


def test_a_tower_is_built_by_a_sequence_that_always_works(blocks):
    made = blocks.plan("on(a,b) and on(b,c)")
    assert made.is_sequence
    # A step of it may be inferred, with some doubt.
    assert made.success > 0.98
    way = made.most_likely_way()
    assert len(way) == round(made.executions) == 4
    trial = blocks.try_plan(made, TrialSettings(10))
    assert trial.successes == 10
    assert trial.executions == 40


def test_a_tower_from_another_start_takes_other_steps(blocks):
    made = blocks.plan("on(a,b) and on(b,c)", start="holding(a) and on(b,c)")
    assert len(made.starts) == 1
    (step,) = made.most_likely_way()
    (after,) = load_problem("blocksworld").truth.outcomes(made.start, step.capability)
    assert made.reached(after)


def test_the_longer_route_with_spares_is_taken(tires):
    # The short route has two drives, the first with a flat tire in 80 % of cases and no spare.
    made = tires.plan("vehicle-at(l-1-3)")
    assert made.success == true_success("tireworld", "vehicle-at(l-1-3)", made.start) == 1.0
    vocabulary = made.vocabulary
    visited = {str(atom) for state in made.visits for atom in vocabulary.holding(state)}
    assert "vehicle-at(l-3-1)" in visited
    assert "vehicle-at(l-1-2)" not in visited
    assert not made.is_sequence
    assert 3.6 < made.executions < 5.5


def test_a_goal_without_spares_succeeds_by_luck_only(tires):
    goal = "vehicle-at(l-1-3) and spare-in(l-2-2) and spare-in(l-3-1)"
    made = tires.plan(goal)
    truth = true_success("tireworld", goal, made.start)
    assert truth == pytest.approx(0.2)
    assert made.interval[0] < truth < made.interval[1]
    assert sum(made.dead_ends.values()) == pytest.approx(1 - made.success_by_frequencies)
    # Several routes fail equally often, and the one chosen may be the luckiest.
    assert abs(made.success - truth) < 0.03
    # The true rate is known to lie within the interval of the prediction, and nothing nearer.
    verdicts = {TrialVerdict.AS_PREDICTED, TrialVerdict.POSSIBLE}
    assert tires.try_plan(made, TrialSettings(200)).verdict in verdicts


def test_the_interval_of_an_uncertain_goal_contains_the_truth(tires):
    goals = ["not not-flattire()", "vehicle-at(l-1-2) and not-flattire()"]
    goals += ["vehicle-at(l-2-2) and spare-in(l-3-1) and not-flattire()"]
    for goal in goals:
        made = tires.plan(goal)
        truth = true_success("tireworld", goal, made.start)
        low, high = made.interval
        assert 0 < truth < 1
        assert low < truth < high
