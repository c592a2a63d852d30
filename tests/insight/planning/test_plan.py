import random

import pytest

from capscope.errors import CapscopeError
from capscope.insight.planning import plan_for
from capscope.journal.execution_table import Transition
from capscope.logic import Condition, Intent, Vocabulary
from capscope.model import LearnedModel, StateGraph
from support.naive_planning import best, policies, tried_process
from support.tiny_models import WORDS, learned, random_models

# Capabilities: 0 is p (bit 1), 1 is q (bit 2), 2 is not r (bit 4).
P, Q, NOT_R = map(Intent.parse, ("p", "q", "not r"))


def transitions(seen):
    return {Transition(*which): count for which, count in seen.items()}


def planned(seen, goal, *starts, seed=0):
    model = LearnedModel.fitted(learned(transitions(seen)))
    return plan_for(model, Condition.parse(goal, WORDS), starts, seed)


CERTAIN = {(0, 0, 1): 20, (1, 1, 3): 30}
RANDOM = {(0, 0, 1): 16, (0, 0, 0): 4, (1, 1, 3): 27, (1, 1, 5): 3}


def test_a_certain_plan_is_a_sequence():
    plan = planned(CERTAIN, "p and q", 0)
    assert plan.found
    assert plan.is_sequence
    assert [step.capability for step in plan.most_likely_way()] == [P, Q]
    assert (plan.success, plan.executions) == (1.0, pytest.approx(2))
    low, high = plan.interval
    assert 0.8 < low < 0.95
    assert high == 1.0
    assert plan.dead_ends == {}


def test_random_outcomes_make_it_a_policy_with_dead_ends():
    plan = planned(RANDOM, "q", 0)
    assert not plan.is_sequence
    assert plan.success == pytest.approx(0.9)
    assert plan.executions == pytest.approx(1 / 0.8 + 1)
    assert plan.visits == pytest.approx({0: 1.25, 1: 1.0})
    assert plan.dead_ends == pytest.approx({5: 0.1})
    low, high = plan.interval
    assert low < 0.9 < high
    step = plan.steps[1]
    assert (step.capability, step.draws, step.draws_here) == (Q, 30, 30)
    assert [*step.branches] == [
        (pytest.approx(0.9), 3),
        (pytest.approx(0.1), 5),
    ]
    assert step.success == pytest.approx(0.9)


def test_plans_match_the_naive_twin_that_tries_every_policy_of_the_model():
    compared = 0
    for seed in range(15):
        graph = random_models(random.Random(seed), share=0.3)
        model = LearnedModel.fitted(graph)
        process = tried_process(model)
        for text in ("p and q", "not p and r", "p and not q and r"):
            goal = Condition.parse(text, WORDS)
            goals = {i for i, state in enumerate(process.states) if goal.holds(state, WORDS)}
            if len(list(policies(process, goals))) > 100:
                continue
            highest, fewest = best(process, goals)
            for start in graph.nodes:
                if goal.holds(start, WORDS):
                    continue
                plan, i = plan_for(model, goal, [start]), process.states.index(start)
                assert plan.success_by_frequencies == pytest.approx(float(highest[i]))
                assert plan.found == (highest[i] > 0)
                if plan.found:
                    assert plan.executions == pytest.approx(float(fewest[i]))
                    compared += plan.success_by_frequencies < 1
    assert compared > 20


# In 0 asking for p gave both outcomes; in 2, drawn once, only the rare one.
LUCKY = {(0, 0, 1): 18, (0, 0, 5): 1, (2, 0, 7): 1}


def rare():
    """Return what the model says of the rare outcome where it was drawn once."""
    share = LearnedModel.fitted(learned(transitions(LUCKY))).predict(2, P)[7]
    assert 0.05 < share < 0.75
    return share


def test_a_rare_outcome_is_not_promised_where_it_was_drawn_once():
    plan = planned(LUCKY, "r", 2)
    assert plan.success == pytest.approx(rare())
    assert plan.interval[0] < 0.15
    step = plan.steps[2]
    assert (step.draws, step.draws_here) == (20, 1)


def test_a_predicted_state_that_was_never_seen_is_a_dead_end():
    plan = planned(LUCKY, "r", 2)
    assert plan.unseen == {3}
    assert plan.dead_ends == pytest.approx({3: 1 - rare()})
    assert 3 not in plan.steps
    assert plan.success_unseen == 0.0
    assert planned(LUCKY, "r", 0).unseen == {3}  # the plan covers 2 too
    assert planned(RANDOM, "q", 0).unseen == set()


def test_the_goal_may_be_reached_in_a_state_that_was_never_seen():
    plan = planned(LUCKY, "p and q", 2)
    assert plan.success == 1.0
    assert plan.success_unseen == pytest.approx(1 - rare())
    alone = planned(LUCKY, "p and q and not r", 2)
    assert alone.found
    assert not any(map(alone.reached, learned(transitions(LUCKY)).nodes))
    assert alone.success == alone.success_unseen == pytest.approx(1 - rare())


def test_a_start_that_is_predicted_but_was_never_seen_is_rejected():
    with pytest.raises(CapscopeError, match="nothing was tried yet where the plan starts"):
        planned(LUCKY, "r", 3)


def test_more_draws_make_a_narrower_interval():
    few, many = (
        planned({key: times * n for key, n in RANDOM.items()}, "q", 0) for times in (1, 100)
    )
    assert few.success == pytest.approx(many.success)
    assert few.interval[0] < many.interval[0] < 0.9 < many.interval[1] < few.interval[1]


def test_the_interval_always_contains_the_success():
    # With few draws per step, unseen outcomes weigh more than the one random outcome.
    seen = {(0, 0, 1): 2, (1, 1, 3): 2, (3, 0, 7): 2, (7, 2, 2): 99, (7, 2, 6): 1}
    plan = planned(seen, "q and not p and not r", 0)
    assert plan.success == pytest.approx(0.99)
    assert plan.interval[0] < plan.success <= plan.interval[1]


def test_a_plan_does_not_use_untried_pairs():
    # The optimistic model assumes that q becomes true in 0 as it did in 4, but it was never tried.
    plan = planned({(0, 0, 1): 9, (4, 1, 6): 9}, "q", 0)
    assert not plan.found
    assert plan.success == 0.0
    assert plan.interval == (0.0, 1.0)
    assert plan.goal_seen
    assert plan.optimistic_path.capabilities == (Q,)
    assert (plan.optimistic_path.untried_in, plan.optimistic_path.untried) == (0, Q)
    assert plan.most_likely_way() == ()
    assert plan.forecasts() == [0.0]


def test_a_goal_that_holds_in_no_observed_state_is_unseen():
    plan = planned({(0, 0, 1): 9, (0, 1, 0): 9, (0, 2, 0): 9}, "r", 0)
    assert not plan.goal_seen
    assert plan.success == 0.0


def test_a_plan_covers_states_that_it_should_never_reach():
    plan = planned({**CERTAIN, (5, 2, 1): 4}, "p and q", 0)
    assert plan.steps[5].capability == NOT_R
    assert 5 not in plan.visits
    assert plan.steps[5].success == 1.0


def test_a_goal_that_already_holds_is_rejected():
    with pytest.raises(CapscopeError, match="already holds where the plan starts"):
        planned(CERTAIN, "p", 1)
    with pytest.raises(CapscopeError, match="already holds"):
        planned(CERTAIN, "p", 1, 3)


def test_a_start_where_nothing_was_tried_is_rejected():
    with pytest.raises(CapscopeError, match="nothing was tried yet where the plan starts"):
        planned({}, "p", 0)


def test_the_least_favorable_start_with_a_plan_is_taken():
    plan = planned({**RANDOM, (7, 1, 3): 5}, "q and not r", 0, 7, 5, 3)
    assert plan.start == 0
    # In 3 the goal already holds; from 5 it is not known to be reachable.
    assert plan.starts == pytest.approx({0: 0.9, 7: 1.0, 5: 0.0})


def test_the_first_of_equally_favorable_starts_is_taken():
    seen = {(0, 1, 2): 3, (1, 1, 3): 3}
    assert planned(seen, "q", 1, 0).start == 1
    assert planned(seen, "q", 0, 1).start == 0


def test_there_is_no_plan_if_no_start_reaches_the_goal():
    plan = planned({(0, 0, 1): 3, (4, 1, 6): 3, (1, 2, 1): 1, (6, 2, 6): 1}, "q", 0, 1)
    assert not plan.found
    assert plan.starts == {0: 0.0, 1: 0.0}


def test_the_most_likely_way_is_not_the_greedy_one():
    # From 0 the likelier outcome (1) leads to a coin toss; the other (4) to a certain step.
    seen = {(0, 0, 1): 60, (0, 0, 4): 40, (1, 1, 3): 50, (1, 1, 7): 50}
    seen |= {(7, 2, 3): 9, (4, 1, 2): 9}
    plan = planned(seen, "q and not r", 0)
    way = plan.most_likely_way()
    assert [step.state for step in way] == [0, 4]
    assert plan.success == 1.0


def test_the_most_likely_way_has_no_loops():
    plan = planned({(0, 0, 0): 90, (0, 0, 1): 10, (1, 1, 3): 1}, "q", 0)
    assert [step.state for step in plan.most_likely_way()] == [0, 1]


def test_forecasts_start_with_the_frequencies_and_respect_limits():
    plan = planned(RANDOM, "q", 0)
    own, *drawn = plan.forecasts()
    assert own == pytest.approx(plan.success)
    assert len(set(drawn)) > 900
    assert plan.forecasts(within=2)[0] == pytest.approx(0.8 * 0.9)
    assert plan.forecasts(within=1)[0] == 0.0
    assert plan.forecasts(seed=1)[1:] != drawn


def test_the_seed_determines_the_interval():
    assert planned(RANDOM, "q", 0, seed=3) == planned(RANDOM, "q", 0, seed=3)
    assert planned(RANDOM, "q", 0, seed=3).interval != planned(RANDOM, "q", 0, seed=4).interval


def test_a_plan_that_is_too_long_to_solve_is_rejected():
    # Forty steps, each of which starts over in all but one of a hundred cases.
    vocabulary = Vocabulary.of_atoms([f"s{i}" for i in range(7)])
    graph = StateGraph(vocabulary, [Intent.parse("s0")])
    seen = {Transition(state, 0, state + 1): 1 for state in range(40)}
    seen |= {Transition(state, 0, 126): 99 + state for state in range(40)}
    seen |= {Transition(126, 0, 0): 1}
    graph.update(seen)
    forty = "not s0 and not s1 and not s2 and s3 and not s4 and s5 and not s6"
    with pytest.raises(CapscopeError, match="plan for a nearer goal"):
        plan_for(LearnedModel.fitted(graph), Condition.parse(forty, vocabulary), [0])
