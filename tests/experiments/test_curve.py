import itertools
import json
from dataclasses import replace

import pytest

from capscope import Budget, Settings, Usage, assess, load
from capscope.insight.evaluation.reference import enumerate_truth
from capscope.model import ExtremeModels
from capscope.problems import load_problem
from capscope_experiments.curve import Curve, Evaluation, Milestones, Point, Shares, learning_points
from capscope_experiments.measure import exact_distance

SETTINGS = Settings(draws=2, iterations=10, depth=5, walks=1, walk_steps=40)


def usages(*spent):
    return [Usage(queries=i, executions=e, simulator_steps=s) for i, (e, s) in enumerate(spent)]


def looked_at(*spent):
    milestones = Milestones()
    return [milestones.due(usage) for usage in usages(*spent)]


def test_the_first_stage_is_always_a_milestone():
    assert looked_at((0, 0)) == [True]
    assert looked_at((500, 9000)) == [True]


def test_a_milestone_is_due_when_executions_or_steps_have_grown_by_two_percent():
    spent = (100, 1000), (101, 1019), (102, 1019), (104, 1039), (104, 1040), (106, 1060)
    assert looked_at(*spent) == [True, False, True, False, True, False]


def test_growth_adds_up_between_milestones():
    # No query grows by 2 %, but twenty of them together do.
    due = looked_at(*((1000 + i, 10_000 + i) for i in range(60)))
    assert [i for i, looked in enumerate(due) if looked] == [0, 20, 41]


def test_at_the_start_every_execution_counts():
    assert looked_at((0, 0), (0, 0), (1, 0), (2, 0), (2, 1), (2, 2)) == [
        True, False, False, True, False, True,
    ]  # fmt: skip


def test_there_is_no_milestone_before_the_first_that_is_wanted():
    milestones = Milestones(first=50)
    due = [milestones.due(usage) for usage in usages((10, 900), (49, 990), (50, 991), (51, 992))]
    assert due == [False, False, True, True]


class Grown:
    """Stands for a graph that grows in place; its agreement is the number of stages."""

    seen = 0


def stages_seen(model):
    return {"agreement": model.graph.seen}


def growing(spent):
    graph = Grown()
    for usage in usages(*spent):
        graph.seen += 1
        yield usage, graph


def test_the_last_stage_is_evaluated_even_if_it_is_not_a_milestone():
    spent = [(1000, 1000), (1001, 1001), (1002, 1002), (1003, 1003)]
    points = list(learning_points(growing(spent), Evaluation(stages_seen)))
    assert [(point.executions, point.agreement) for point in points] == [(1000, 1), (1003, 4)]


def test_a_last_stage_that_is_a_milestone_is_evaluated_once():
    points = list(learning_points(growing([(10, 10), (20, 20)]), Evaluation(stages_seen)))
    assert [point.executions for point in points] == [10, 20]


def test_a_run_without_queries_has_no_points():
    assert list(learning_points([], Evaluation(lambda model: {"agreement": 1.0}))) == []


def test_each_stage_is_evaluated_before_the_next_one_is_requested():
    # The models are one object that is brought up to date in place.
    points = list(learning_points(growing([(i, i) for i in range(1, 9)]), Evaluation(stages_seen)))
    assert [point.agreement for point in points] == [point.executions for point in points]


def test_a_stage_is_evaluated_once_however_often_it_is_wanted():
    evaluated = []

    def agreements(model):
        evaluated.append(model)
        return {"agreement": 0.5}

    evaluation = Evaluation(agreements)
    [stage] = growing([(10, 10)])
    assert evaluation.at(*stage) == evaluation.at(*stage)
    assert len(evaluated) == 1


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run whose listener evaluated after every query, and its curve from the journal."""
    path = tmp_path_factory.mktemp("curve") / "run"
    truth = enumerate_truth(load_problem("tireworld").truth)
    heard = []
    milestones = Milestones()

    def agreements(model):
        return {"agreement": 1 - exact_distance(model, truth)}

    def listen(event):
        usage, model = event.usage, ExtremeModels(event.graph).pessimistic
        spent = usage.queries, usage.executions, usage.simulator_steps
        point = Point(*spent, **agreements(model), seconds=usage.seconds)
        heard.append((point, milestones.due(usage)))

    budget = Budget(executions=900)
    assess("tireworld", strategy="mcqs-s", settings=SETTINGS, budget=budget, run=path,
           listener=listen)  # fmt: skip
    points = list(learning_points(load(path).replay(), Evaluation(agreements)))
    return heard, points


def timeless(points):
    return [replace(point, seconds=0.0) for point in points]


def test_a_curve_from_the_journal_is_what_a_listener_would_have_recorded(made):
    heard, points = made
    recorded = [point for point, due in heard if due]
    if not heard[-1][1]:
        recorded.append(heard[-1][0])
    assert len(points) > 20
    assert timeless(points) == timeless(recorded)
    # The query that the budget cut was never finished; its draws alone say how long it took.
    assert [p.seconds for p in points[:-1]] == pytest.approx([p.seconds for p in recorded[:-1]])


def test_a_curve_has_points_of_the_twin_that_evaluates_after_every_query_and_misses_little(made):
    heard, points = made
    every = timeless(point for point, _ in heard)
    assert len(points) < len(every)
    assert set(timeless(points)) <= set(every)
    assert timeless(points)[-1] == every[-1]
    for level in (0.1, 0.2, 0.3):
        exact = next(point for point in every if point.agreement >= level)
        read = next(point for point in points if point.agreement >= level)
        before = max(p.executions for p in every if p.executions < read.executions)
        # Later than the twin by at most 2 %, or by the one query that was the next to be judged.
        assert exact.executions <= read.executions
        assert before < 1.02 * exact.executions or before < exact.executions


def test_what_is_spent_never_shrinks_along_a_curve(made):
    _, points = made
    for before, after in itertools.pairwise(points):
        assert before.queries < after.queries
        assert before.executions < after.executions
        assert before.simulator_steps <= after.simulator_steps
        assert before.seconds <= after.seconds


def test_agreement_is_a_share_and_something_is_learned(made):
    _, points = made
    assert all(0 <= point.agreement <= 1 for point in points)
    assert points[-1].agreement > points[0].agreement


def point(steps, agreement):
    return Point(1, steps, steps, agreement, 0.25)


def curve(*points):
    return Curve("p", "s", 3, points, "no news", Shares(1, 2, 3, 4), 17, "sampled")


def test_a_level_is_reached_at_the_first_point_that_is_not_below_it():
    points = (point(1, 0.2), point(5, 0.9), point(8, 0.7), point(9, 0.95))
    assert curve(*points).first_at(0.9) == points[1]
    assert curve(*points).first_at(0.91) == points[3]
    assert curve(*points).first_at(0.99) is None
    assert curve(*points).last == points[3]


def test_a_curve_survives_a_round_trip_through_json():
    one = curve(point(1, 0.1 + 0.2), point(9, 0.95))
    assert Curve.from_dict(json.loads(json.dumps(one.as_dict()))) == one
