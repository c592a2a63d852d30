import pytest

from capscope.analysis.planning import Goal, plan_for
from capscope.errors import CapscopeError
from capscope.model import StateGraph
from capscope.record.execution_table import Transition
from capscope.symbolic import Intent, Vocabulary
from support.tiny_models import WORDS, learned

# Capabilities: 0 is p (bit 1), 1 is q (bit 2), 2 is not r (bit 4).
P, Q, NOT_R = map(Intent.parse, ("p", "q", "not r"))


def planned(seen, goal, *starts, seed=0):
    transitions = {Transition(*which): count for which, count in seen.items()}
    return plan_for(learned(transitions), Goal.parse(goal, WORDS), starts, seed)


CERTAIN = {(0, 0, 1): 20, (1, 1, 3): 30}
DICE = {(0, 0, 1): 16, (0, 0, 0): 4, (1, 1, 3): 27, (1, 1, 5): 3}


def test_a_certain_way_is_a_plain_sequence():
    plan = planned(CERTAIN, "p and q", 0)
    assert plan.found
    assert plan.is_sequence
    assert [step.capability for step in plan.most_likely_way()] == [P, Q]
    assert (plan.success, plan.executions) == (1.0, pytest.approx(2))
    low, high = plan.interval
    assert 0.8 < low < 0.95
    assert high == 1.0
    assert plan.dead_ends == {}


def test_chance_makes_it_a_policy_with_its_dead_ends():
    plan = planned(DICE, "q", 0)
    assert not plan.is_sequence
    assert plan.success == pytest.approx(0.9)
    assert plan.executions == pytest.approx(1 / 0.8 + 1)
    assert plan.visits == pytest.approx({0: 1.25, 1: 1.0})
    assert plan.dead_ends == pytest.approx({5: 0.1})
    low, high = plan.interval
    assert low < 0.9 < high
    step = plan.steps[1]
    assert (step.capability, step.draws, step.draws_here) == (Q, 30, 30)
    assert [(branch.probability, branch.after) for branch in step.branches] == [
        (pytest.approx(0.9), 3),
        (pytest.approx(0.1), 5),
    ]
    assert step.success == pytest.approx(0.9)


def test_more_draws_make_a_narrower_interval():
    few, many = (planned({key: times * n for key, n in DICE.items()}, "q", 0) for times in (1, 100))
    assert few.success == pytest.approx(many.success)
    assert few.interval[0] < many.interval[0] < 0.9 < many.interval[1] < few.interval[1]


def test_the_figure_is_never_outside_its_interval():
    # Six certain steps of a few draws each: what was never seen weighs more than the one chance.
    seen = {(0, 0, 1): 2, (1, 1, 3): 2, (3, 0, 7): 2, (7, 2, 2): 99, (7, 2, 6): 1}
    plan = planned(seen, "q and not p and not r", 0)
    assert plan.success == pytest.approx(0.99)
    assert plan.interval[0] < plan.success <= plan.interval[1]


def test_a_pair_that_was_never_tried_is_not_counted_on():
    # In 1 the optimist believes that q comes true, as it did in 4. It was never tried there.
    plan = planned({(0, 0, 1): 9, (4, 1, 6): 9}, "q", 0)
    assert not plan.found
    assert plan.success == 0.0
    assert plan.interval == (0.0, 1.0)
    assert plan.goal_seen
    assert plan.outlook.hope.capabilities == (Q,)
    assert (plan.outlook.hope.untried_in, plan.outlook.hope.untried) == (0, Q)
    assert plan.most_likely_way() == ()
    assert plan.forecasts() == [0.0]


def test_a_goal_that_no_state_showed_is_said_to_be_unseen():
    plan = planned({(0, 0, 1): 9, (0, 1, 0): 9, (0, 2, 0): 9}, "r", 0)
    assert not plan.goal_seen
    assert plan.success == 0.0


def test_a_plan_covers_states_that_it_should_never_come_to():
    plan = planned({**CERTAIN, (5, 2, 1): 4}, "p and q", 0)
    assert plan.steps[5].capability == NOT_R
    assert 5 not in plan.visits
    assert plan.steps[5].success == 1.0


def test_where_the_goal_holds_already_there_is_nothing_to_plan():
    with pytest.raises(CapscopeError, match="holds already where the plan is to begin"):
        planned(CERTAIN, "p", 1)
    with pytest.raises(CapscopeError, match="holds already"):
        planned(CERTAIN, "p", 1, 3)


def test_where_nothing_was_tried_there_is_nothing_to_plan_with():
    with pytest.raises(CapscopeError, match="nothing was tried yet where the plan is to begin"):
        planned({}, "p", 0)


def test_of_several_starts_the_least_favourable_with_a_way_is_taken():
    plan = planned({**DICE, (7, 1, 3): 5}, "q and not r", 0, 7, 5, 3)
    assert plan.start == 0
    # In 3 the goal holds already, in 5 no way is known.
    assert plan.starts == pytest.approx({0: 0.9, 7: 1.0, 5: 0.0})


def test_of_equally_favourable_starts_the_first_is_taken():
    seen = {(0, 1, 2): 3, (1, 1, 3): 3}
    assert planned(seen, "q", 1, 0).start == 1
    assert planned(seen, "q", 0, 1).start == 0


def test_starts_without_any_way_leave_no_plan():
    plan = planned({(0, 0, 1): 3, (4, 1, 6): 3, (1, 2, 1): 1, (6, 2, 6): 1}, "q", 0, 1)
    assert not plan.found
    assert plan.starts == {0: 0.0, 1: 0.0}


def test_the_most_likely_way_is_the_most_probable_and_not_the_greedy_one():
    # From 0 the likelier outcome (1) leads on through a gamble; the other (4) is certain after.
    seen = {(0, 0, 1): 60, (0, 0, 4): 40, (1, 1, 3): 50, (1, 1, 7): 50}
    seen |= {(7, 2, 3): 9, (4, 1, 2): 9}
    plan = planned(seen, "q and not r", 0)
    way = plan.most_likely_way()
    assert [step.state for step in way] == [0, 4]
    assert plan.success == 1.0


def test_the_most_likely_way_takes_no_round_trip():
    plan = planned({(0, 0, 0): 90, (0, 0, 1): 10, (1, 1, 3): 1}, "q", 0)
    assert [step.state for step in plan.most_likely_way()] == [0, 1]


def test_forecasts_begin_with_the_frequencies_and_know_of_limits():
    plan = planned(DICE, "q", 0)
    own, *drawn = plan.forecasts()
    assert own == pytest.approx(plan.success)
    assert len(set(drawn)) > 900
    assert plan.forecasts(within=2)[0] == pytest.approx(0.8 * 0.9)
    assert plan.forecasts(within=1)[0] == 0.0
    assert plan.forecasts(seed=1)[1:] != drawn


def test_one_seed_one_plan():
    assert planned(DICE, "q", 0, seed=3) == planned(DICE, "q", 0, seed=3)
    assert planned(DICE, "q", 0, seed=3).interval != planned(DICE, "q", 0, seed=4).interval


def test_a_way_that_takes_for_ever_is_refused_and_not_told_wrongly():
    # Twenty steps, each of which starts all over again but once in seven hundred.
    atoms = [f"s{i}" for i in range(6)]
    words = Vocabulary.of_atoms(atoms)
    graph = StateGraph(words, [Intent.parse("s0")])
    seen = {Transition(state, 0, state + 1): 1 for state in range(20)}
    seen |= {Transition(state, 0, 40): 699 + state for state in range(20)}
    seen |= {Transition(40, 0, 0): 1}
    graph.update(seen)
    goal = Goal.parse("not s0 and not s1 and s2 and not s3 and s4 and not s5", words)
    with pytest.raises(CapscopeError, match="plan for a nearer goal"):
        plan_for(graph, goal, [0])
