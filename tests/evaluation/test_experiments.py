import itertools
import json

import pytest

from capscope import Budget, assess
from capscope.errors import CapscopeError
from capscope.evaluation.accounting import Shares
from capscope.evaluation.experiments import Curve, Experiment, Job, Point, learn
from capscope.evaluation.speed import covered_models
from capscope.problems import load_problem
from capscope.query import Settings
from toy_worlds import board_problem

SETTINGS = Settings(draws=2, iterations=20, depth=5, walks=1, walk_steps=40)


def experiment(strategies, steps=150, seeds=(0,), **given):
    return Experiment(
        load_problem, ["blocksworld"], strategies, seeds, SETTINGS,
        Budget(simulator_steps=steps), **given,
    )  # fmt: skip


@pytest.fixture(scope="module")
def finished():
    """The curves in the order in which the runs ended."""
    return []


@pytest.fixture(scope="module")
def curves(finished):
    curves = experiment(["random", "mcqs-s", "mcqs-e"], cut=3).run(finished.append)
    return {curve.strategy: curve for curve in curves}


def test_every_strategy_has_a_curve_in_the_order_asked_for_but_random_runs_last(curves, finished):
    assert list(curves) == ["random", "mcqs-s", "mcqs-e"]
    assert [curve.strategy for curve in finished] == ["mcqs-s", "mcqs-e", "random"]
    assert all((c.problem, c.seed) == ("blocksworld", 0) for c in finished)


def test_what_is_spent_never_shrinks_along_a_curve(curves):
    for curve in curves.values():
        assert len(curve.points) > 2
        for before, after in itertools.pairwise(curve.points):
            assert before.queries <= after.queries
            assert before.executions <= after.executions
            assert before.simulator_steps <= after.simulator_steps
            assert before.seconds <= after.seconds


def test_a_point_is_recorded_whenever_steps_or_executions_have_grown_by_two_percent(curves):
    for curve in curves.values():
        *recorded, last = curve.points
        for before, after in itertools.pairwise(recorded):
            assert (
                after.simulator_steps >= 1.02 * before.simulator_steps
                or after.executions >= 1.02 * before.executions
            )
        assert last == curve.last


def test_agreement_is_a_share_and_something_is_learned(curves):
    for curve in curves.values():
        assert all(0.0 <= point.agreement <= 1.0 for point in curve.points)
        assert curve.last.agreement > curve.points[0].agreement


def test_the_executions_of_a_curve_are_accounted_for(curves):
    for curve in curves.values():
        shares = curve.shares
        counted = shares.new + shares.repeat + shares.walk + shares.nowhere
        assert counted == curve.last.executions


def test_a_searching_strategy_keeps_to_the_budget(curves):
    for strategy in ("mcqs-s", "mcqs-e"):
        assert curves[strategy].last.simulator_steps <= 150
        assert curves[strategy].stopped_because == "budget of simulator_steps spent"


def test_random_query_is_cut_at_a_multiple_of_what_the_others_took(curves):
    dearest = max(curves[s].last.simulator_steps for s in ("mcqs-s", "mcqs-e"))
    random = curves["random"]
    # None of the others got to 0.99, so the dearest of them counts.
    assert max(curves[s].last.agreement for s in ("mcqs-s", "mcqs-e")) < 0.99
    assert random.stopped_because == "budget of simulator_steps spent"
    assert random.last.simulator_steps == 3 * dearest


def test_random_query_is_cut_at_25_times_unless_told_otherwise():
    assert experiment(["random"]).cut == 25


def test_random_query_does_not_stop_for_lack_of_news():
    # One draw of one capability: news run out soon.
    settings = Settings(draws=1, random_length=1, patience=1)
    budget = Budget(executions=200)
    outside = assess("tireworld", strategy="random", settings=settings, budget=budget)
    assert outside.stopped_because == "no news"
    (curve,) = Experiment(load_problem, ["tireworld"], ["random"], [0], settings, budget).run(
        lambda curve: None
    )
    assert curve.stopped_because == "budget of executions spent"


def test_one_seed_one_curve(curves):
    (again,) = experiment(["mcqs-s"]).run(lambda curve: None)
    mine = curves["mcqs-s"]
    assert again.shares == mine.shares
    assert [(p.executions, p.simulator_steps, p.agreement) for p in again.points] == [
        (p.executions, p.simulator_steps, p.agreement) for p in mine.points
    ]


def test_runs_that_are_done_are_not_made_again(curves):
    made = []
    both = experiment(["mcqs-s", "random"], cut=3).run(made.append, [curves["mcqs-s"]])
    assert [curve.strategy for curve in made] == ["random"]
    assert both == [curves["mcqs-s"], *made]


def test_a_curve_survives_the_way_through_json(curves):
    for curve in curves.values():
        assert Curve.from_dict(json.loads(json.dumps(curve.as_dict()))) == curve


def test_the_baseline_is_measured_by_the_papers_strategies_where_there_are_any():
    def curve(strategy, steps):
        point = Point(1, steps, steps, 0.995, 0.0)
        return Curve("blocksworld", strategy, 0, (point,), "no news", Shares())

    few, many = curve("adaptive", 10), curve("mcqs-s", 70)
    for done, limit in (([few, many], 3 * 70), ([few], 3 * 10)):
        names = [c.strategy for c in done]
        (job,) = experiment([*names, "random"], seeds=[0], cut=3)._random(done)
        assert job.budget.simulator_steps == limit


def test_a_run_may_end_as_soon_as_it_knows_enough():
    job = Job(
        load_problem, "blocksworld", "mcqs-s", 0, SETTINGS, Budget(executions=2000), enough=0.3
    )
    curve = learn(job)
    assert curve.stopped_because == "enough learned"
    assert curve.last.agreement >= 0.3
    assert all(point.agreement < 0.3 for point in curve.points[:-1])


def test_a_problem_without_a_truth_has_no_curve():
    job = Job(lambda name: board_problem(), "board", "random", 0, SETTINGS, Budget(executions=9))
    with pytest.raises(CapscopeError, match="board does not know its truth"):
        learn(job)


def point(steps, agreement):
    return Point(1, steps, steps, agreement, 0.0)


def test_a_level_is_reached_at_the_first_point_that_is_not_below_it():
    points = (point(1, 0.2), point(5, 0.9), point(8, 0.7), point(9, 0.95))
    curve = Curve("p", "s", 0, points, "no news", Shares())
    assert curve.first_at(0.9) == points[1]
    assert curve.first_at(0.91) == points[3]
    assert curve.first_at(0.99) is None
    assert curve.last == points[3]


def test_covered_models_have_seen_their_share_of_the_pairs_so_many_times():
    problem = load_problem("blocksworld")
    models = covered_models(problem, problem.truth, share=0.5, draws=7)
    everything = len(problem.truth.reachable_states()) * len(list(problem.truth.intents()))
    assert 0.4 < models.pairs_tried / everything < 0.6
    totals = {p.total for place in models.places.values() for p in place.pairs if p is not None}
    assert totals == {7}
