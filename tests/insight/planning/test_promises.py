"""Is a plan as good as it promises, if it was chosen from many?"""

import random
import statistics

import numpy as np
import pytest

from capscope.insight.planning import _HALVES, plan_for
from capscope.insight.planning.mdp import divided
from capscope.insight.planning.wording import plan_lines
from capscope.logic import Condition
from capscope.model import LearnedModel, StateGraph
from capscope.seeds import child_seed
from support.plan_worlds import CLOSED, DOORS, OPEN, doors

GOAL = Condition.parse("a_open", DOORS)
BY_FREQUENCIES = "by the frequencies that chose these steps it would be"


def plan_through(graph, seed=0):
    return plan_for(LearnedModel.fitted(graph), GOAL, [0], seed)


def text_of(plan):
    return " ".join(line.strip() for line in plan_lines(plan, "doors"))


def halves_of(graph, seed):
    """Return for each half the opened and all executions of each door."""
    found = []
    for half in divided(graph, seed):
        counts = {}
        for (state, door, after), n in half.items():
            assert state == 0
            hits, executions = counts.get(door, (0, 0))
            counts[door] = hits + n * (after == OPEN), executions + n
        found.append(counts)
    return found


@pytest.mark.parametrize("executions", [5, 12, 40])
def test_of_twelve_equal_doors_a_plan_promises_the_truth(executions):
    rng = random.Random(executions)
    made = [plan_through(doors([0.5] * 12, executions, rng), seed) for seed in range(250)]
    assert abs(statistics.fmean(plan.success for plan in made) - 0.5) < 0.03
    assert statistics.fmean(p.interval[0] <= 0.5 <= p.interval[1] for p in made) >= 0.95
    lucky = statistics.fmean(plan.success_by_frequencies - plan.success for plan in made)
    assert lucky > 0.01
    for plan in made:
        assert plan.interval[0] <= plan.success <= plan.interval[1]
        text, own = text_of(plan), plan.success_by_frequencies
        uncertain = min(plan.success, own) < 1
        assert (BY_FREQUENCIES in text) == (uncertain and not plan.chosen_alike)
        lucky = own - plan.success >= 0.005 and not plan.chosen_alike
        assert ("probably by luck" in text) == lucky


def test_if_the_doors_differ_the_intervals_contain_the_success_of_the_door_chosen():
    rng, inside = random.Random(1), []
    for seed in range(100):
        odds = [rng.uniform(0.2, 0.8) for _ in range(12)]
        plan = plan_through(doors(odds, 12, rng), seed)
        low, high = plan.interval
        truth = odds[int(str(plan.steps[0].capability)[4:6])]
        inside.append(low <= truth <= high)
    assert statistics.fmean(inside) >= 0.95


def test_the_halves_are_all_executions_and_each_judges_what_the_other_chooses():
    rng = random.Random(3)
    for seed in range(20):
        graph = doors([0.5] * 4, 9, rng)
        one, other = halves_of(graph, seed)
        for door, pair in enumerate(graph.nodes[0].pairs):
            hits, executions = np.add(one[door], other[door])
            opened = sum(n for effect, n in pair.counts.items() if effect.apply(0) == OPEN)
            assert (hits, executions) == (opened, 9)
            assert {one[door][1], other[door][1]} == {4, 5}
        assert halves_of(graph, seed) == [one, other]
    assert halves_of(graph, 1) != halves_of(graph, 2)


def test_the_promise_is_the_mean_of_both_judgements():
    # No ties: each half has a best door by itself.
    rng, compared = random.Random(4), 0
    for seed in range(60):
        graph = doors([0.5] * 3, 31, rng)
        plan, judged = plan_through(graph, seed), []
        one, other = (opening(half, graph) for half in divided(graph, child_seed(seed, _HALVES)))
        for chooser, judge in ((one, other), (other, one)):
            ranked = sorted(chooser.values())
            judged.append(judge[max(chooser, key=chooser.get)])
            if ranked[-1] == pytest.approx(ranked[-2]):
                break
        else:
            if not plan.chosen_alike:
                compared += 1
                assert plan.success == pytest.approx(sum(judged) / 2)
    assert compared > 5


def opening(half, graph):
    """Return what a model of some executions says of each door."""
    some = StateGraph(graph.vocabulary, graph.capabilities)
    some.update(half)
    model = LearnedModel.fitted(some)
    return {c: model.predict(0, i).get(OPEN, 0.0) for c, i in enumerate(graph.capabilities)}


def test_if_there_is_one_door_its_frequency_is_the_promise():
    plan = plan_through(doors([0.5], 40, random.Random(0)))
    assert plan.success == plan.success_by_frequencies < 1
    assert "there was nothing to choose" in text_of(plan)
    assert plan.dead_ends == {CLOSED: pytest.approx(1 - plan.success)}


def test_the_best_door_is_chosen_by_both_halves_if_it_is_much_better():
    plan = plan_through(doors([0.2, 0.9, 0.2], 40, random.Random(0)))
    assert plan.chosen_alike and plan.success == plan.success_by_frequencies
    assert "each half of the executions chooses these steps" in text_of(plan)
    assert BY_FREQUENCIES not in text_of(plan)


def test_one_execution_of_each_door_promises_little():
    plan = plan_through(doors([0.5] * 12, 1, random.Random(0)))
    assert plan.interval[0] < 0.5 and plan.interval[1] == 1.0
