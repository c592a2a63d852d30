import json
from dataclasses import replace
from pathlib import Path

import pytest

from capscope import Budget, Settings, assess, load
from capscope.errors import CapscopeError
from capscope.insight.evaluation.reference import enumerate_truth
from capscope.problems import load_problem
from capscope_experiments.bench_runs import CURVE, BenchRun, make_run, saved_curve
from capscope_experiments.measure import exact_distance, least_executions

TOYS = Path(__file__).parents[1] / "support" / "toy_worlds.py"
# All draws are alike, so that they are short and no budget here is spent within one.
SETTINGS = Settings(draws=2, iterations=10, depth=5, walks=1, walk_steps=40, replays=0)
SEARCHED = BenchRun("tireworld", "mcqs-s", 0, SETTINGS, Budget(executions=100), sequences=20)
ENOUGH = 0.241
CHANCE = BenchRun(
    "tireworld", "random", 0, replace(SETTINGS, draws=1, random_length=1),
    Budget(executions=500), ENOUGH, sequences=20,
)  # fmt: skip


def unheard(word):
    """Ignore the status."""


def timeless(curve):
    return replace(curve, points=tuple(replace(point, seconds=0.0) for point in curve.points))


# Names.


def test_a_run_of_the_defaults_is_named_as_assess_names_it():
    assert BenchRun("blocksworld", "mcqs-s", 3, Settings(), Budget()).name == "blocksworld-mcqs-s-3"
    mine = BenchRun("/somewhere/vacuum.py:problem", "random", 0, Settings(), Budget(queries=4))
    assert mine.name == "vacuum-problem-random-0"


def test_settings_that_are_not_the_default_are_part_of_the_name():
    changed = Settings(xi=0.0, draws=2, exploration=1.5)
    name = BenchRun("tireworld", "mcqs-e", 1, changed, Budget()).name
    assert name == "tireworld-mcqs-e-draws2-exploration1.5-xi0-1"


def test_other_intents_are_other_runs_whose_names_can_be_folders():
    names = {
        BenchRun("blocksworld", "exhaustive", 0, Settings(intents=intents), Budget()).name
        for intents in [(), ("on(a,b)",), ("on(b,a)",), ("on(a,b)", "on(b,a)")]
    }
    assert len(names) == 4
    assert all("(" not in name and "/" not in name for name in names)


def test_a_run_has_the_settings_that_its_problem_declares():
    kitchen = BenchRun("overcooked-hrl", "adaptive", 0, Settings(), Budget())
    assert kitchen.spec().settings.expected == tuple(load_problem("overcooked-hrl").expected) != ()


def test_budget_and_level_are_not_part_of_the_name_since_a_run_may_continue():
    assert replace(SEARCHED, budget=Budget(), enough=0.5).name == SEARCHED.name


# A curve.


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with one run, the reported status, and its curve."""
    folder, heard = tmp_path_factory.mktemp("folder"), []
    return folder, heard, make_run(folder, SEARCHED, heard.append)


def test_the_curve_is_that_of_the_run_in_the_directory_of_its_name(made):
    folder, heard, curve = made
    assert (curve.problem, curve.strategy, curve.seed) == ("tireworld", "mcqs-s", 0)
    assert (curve.stopped_because, curve.measure) == ("budget of executions spent", "exact")
    run = load(folder / SEARCHED.name)
    assert curve.last.executions == run.usage.executions == 100
    truth = enumerate_truth(load_problem("tireworld").truth)
    exact = 1 - exact_distance(run.models.pessimistic, truth)
    assert curve.last.agreement == pytest.approx(exact)
    assert curve.least == least_executions(truth)
    assert heard[-1] == "computing the learning curve"
    assert heard[:-1] == sorted(heard[:-1], key=lambda word: int(word.split()[0]))


def test_the_executions_of_a_curve_are_accounted_for(made):
    _, _, curve = made
    shares = curve.shares
    assert shares.new + shares.repeat + shares.walk + shares.nowhere == curve.last.executions


def test_one_seed_one_curve_and_another_seed_another(made, tmp_path):
    _, _, curve = made
    assert timeless(make_run(tmp_path, SEARCHED, unheard)) == timeless(curve)
    other = make_run(tmp_path, replace(SEARCHED, seed=1), unheard)
    steps = [[point.simulator_steps for point in each.points] for each in (curve, other)]
    assert steps[0] != steps[1]


def test_a_saved_curve_is_reused_and_the_journal_is_not_opened(made, tmp_path):
    saved, _, curve = made
    folder = tmp_path / SEARCHED.name
    folder.mkdir()
    (folder / CURVE).write_bytes((saved / SEARCHED.name / CURVE).read_bytes())
    heard = []
    assert saved_curve(tmp_path, SEARCHED) == make_run(tmp_path, SEARCHED, heard.append) == curve
    assert heard == []
    assert [path.name for path in folder.iterdir()] == [CURVE]


def test_a_curve_made_under_other_terms_is_not_used(made):
    folder, _, _ = made
    for other in (
        replace(SEARCHED, budget=Budget(executions=101)),
        replace(SEARCHED, enough=0.99),
        replace(SEARCHED, seed=1),
        replace(SEARCHED, settings=replace(SETTINGS, xi=0.0)),
    ):
        assert saved_curve(folder, other) is None


def test_the_curve_of_a_problem_of_the_same_name_in_another_folder_is_not_used(tmp_path):
    source = "from capscope.problems import load_problem\ndef make(): return load_problem('{}')\n"
    orders = []
    for folder, name in (("one", "tireworld"), ("two", "blocksworld")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(source.format(name))
        mine = f"{tmp_path / folder / 'mine.py'}:make"
        orders.append(replace(SEARCHED, problem=mine, budget=Budget(executions=20)))
    assert orders[0].name == orders[1].name
    make_run(tmp_path, orders[0], unheard)
    with pytest.raises(CapscopeError, match="was started differently: source was"):
        make_run(tmp_path, orders[1], unheard)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[:100],
        lambda text: "",
        lambda text: "[]",
        lambda text: json.dumps({**json.loads(text), "result": {}}),
        lambda text: json.dumps({**json.loads(text), "result": {"points": 3}}),
        lambda text: text.replace('"least"', '"lost"'),
    ],
    ids=["torn", "empty", "no object", "no result", "odd result", "another version"],
)
def test_a_damaged_curve_is_computed_from_the_journal_again(made, damage):
    folder, _, curve = made
    path = folder / SEARCHED.name / CURVE
    text = path.read_text()
    path.write_text(damage(text))
    assert saved_curve(folder, SEARCHED) is None
    assert make_run(folder, SEARCHED, unheard) == curve
    assert path.read_text() == text


def test_a_run_on_a_problem_without_a_truth_is_evaluated_on_a_sample(tmp_path):
    board = replace(SEARCHED, problem=f"{TOYS}:slippery_board", sequences=20)
    curve = make_run(tmp_path, board, unheard)
    assert (curve.measure, curve.least) == ("sampled", 0)
    assert 0 < curve.points[0].agreement < curve.last.agreement <= 1
    assert saved_curve(tmp_path, board) == curve
    assert saved_curve(tmp_path, replace(board, sequences=21)) is None


# Runs that are there already.


def test_a_run_that_assess_made_with_the_same_settings_is_reused(made, tmp_path):
    _, _, curve = made
    assess(
        "tireworld", strategy="mcqs-s", settings=SETTINGS, budget=Budget(executions=60),
        run=tmp_path / SEARCHED.name,
    )  # fmt: skip
    heard = []
    taken = make_run(tmp_path, SEARCHED, heard.append)
    assert timeless(taken) == timeless(curve)
    assert int(heard[0].split()[0]) > 50  # what was there is not executed again


def test_a_run_that_was_started_differently_is_refused_and_not_changed(tmp_path):
    folder = tmp_path / SEARCHED.name
    budget = Budget(executions=20)
    assess("tireworld", strategy="mcqs-s", seed=9, settings=SETTINGS, budget=budget, run=folder)
    with pytest.raises(CapscopeError, match="was started differently: seed was 9, now 0"):
        make_run(tmp_path, SEARCHED, unheard)
    assert load(folder).usage.executions == 20
    assert not (folder / CURVE).exists()
    # It is closed again, too.
    with pytest.raises(CapscopeError, match="was started differently"):
        make_run(tmp_path, SEARCHED, unheard)


def test_a_larger_budget_continues_to_the_curve_of_a_run_that_had_it_from_the_start(made, tmp_path):
    _, _, curve = made
    small = make_run(tmp_path, replace(SEARCHED, budget=Budget(executions=50)), unheard)
    assert small.last.executions == 50
    assert timeless(make_run(tmp_path, SEARCHED, unheard)) == timeless(curve)


def test_a_run_that_went_further_gives_the_curve_of_what_was_asked_for(made):
    folder, _, curve = made
    less = make_run(folder, replace(SEARCHED, budget=Budget(executions=50)), unheard)
    assert less.stopped_because == "budget of executions spent"
    # To the end of the query in which the budget was spent: it was not cut then.
    assert 50 <= less.last.executions < 50 + SETTINGS.draws * SETTINGS.depth
    assert sum([less.shares.new, less.shares.repeat, less.shares.walk, less.shares.nowhere]) == (
        less.last.executions
    )
    count = len(less.points) - 1
    assert timeless(less).points[:count] == timeless(curve).points[:count]
    assert timeless(make_run(folder, SEARCHED, unheard)) == timeless(curve)


def test_a_budget_that_discovery_spends_gives_a_curve_of_one_point(tmp_path):
    order = replace(SEARCHED, problem="blocksworld", budget=Budget(simulator_steps=20))
    curve = make_run(tmp_path, order, unheard)
    assert curve.stopped_because == "budget of simulator_steps spent"
    [point] = curve.points
    assert (point.queries, point.executions, point.simulator_steps) == (0, 0, 20)
    assert point.agreement == 0.0


# Interruptions.


class Interrupted:
    """Is interrupted after a number of reports."""

    def __init__(self, words):
        self.left = words

    def __call__(self, word):
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1


@pytest.mark.parametrize("words", [0, 7])
def test_an_interrupted_run_continues_to_the_curve_of_one_never_interrupted(made, words, tmp_path):
    _, heard, curve = made
    assert len(heard) > 8
    with pytest.raises(KeyboardInterrupt):
        make_run(tmp_path, SEARCHED, Interrupted(words))
    assert not (tmp_path / SEARCHED.name / CURVE).exists()
    assert timeless(make_run(tmp_path, SEARCHED, unheard)) == timeless(curve)


def test_an_interruption_before_the_curve_is_computed_loses_nothing(made, tmp_path):
    _, heard, curve = made
    with pytest.raises(KeyboardInterrupt):
        make_run(tmp_path, SEARCHED, Interrupted(len(heard) - 1))
    again = []
    assert timeless(make_run(tmp_path, SEARCHED, again.append)) == timeless(curve)
    # The query that the budget cut is gone through again; the agent is asked nothing.
    assert again[-1] == heard[-1]
    assert len(again) <= 2


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A run that ended because it had learned enough, and its reports."""
    folder, heard = tmp_path_factory.mktemp("learned"), []
    return folder, heard, make_run(folder, CHANCE, heard.append)


def test_a_run_ends_at_the_first_milestone_at_which_it_has_learned_enough(learned):
    _, _, curve = learned
    assert curve.stopped_because == "enough learned"
    assert curve.last.agreement >= ENOUGH
    assert all(point.agreement < ENOUGH for point in curve.points[:-1])
    assert curve.last.executions < 500
    assert len(curve.points) < curve.last.queries  # not every query is a milestone


@pytest.mark.parametrize("before_the_end", [0, 3])
def test_an_interrupted_run_ends_where_one_never_interrupted_had_learned_enough(
    learned, before_the_end, tmp_path
):
    # It passes the level two queries before the milestone at which it is checked; milestones that
    # restarted after the interruption would come too soon.
    _, heard, curve = learned
    with pytest.raises(KeyboardInterrupt):
        make_run(tmp_path, CHANCE, Interrupted(len(heard) - 1 - before_the_end))
    assert timeless(make_run(tmp_path, CHANCE, unheard)) == timeless(curve)


def test_a_lower_level_is_read_from_the_run_that_went_further(learned):
    folder, _, curve = learned
    heard = []
    lower = make_run(folder, replace(CHANCE, enough=0.2), heard.append)
    assert heard == ["computing the learning curve"]
    assert lower.stopped_because == "enough learned"
    assert lower.points == curve.points[: len(lower.points)]
    assert lower.last == curve.first_at(0.2) != curve.last
    assert make_run(folder, CHANCE, heard.append) == curve


def test_a_higher_level_continues_the_run(learned):
    folder, _, curve = learned
    higher = make_run(folder, replace(CHANCE, enough=0.26), unheard)
    assert higher.points[: len(curve.points)] == curve.points
    assert higher.last.agreement >= 0.26


# Random Query.


def test_random_query_does_not_stop_for_lack_of_news(tmp_path):
    # One draw of one capability: news run out soon.
    settings = Settings(draws=1, random_length=1, patience=1, walks=1)
    budget = Budget(executions=100)
    outside = assess("tireworld", strategy="random", settings=settings, budget=budget)
    assert str(outside.stop_reason) == "no news"
    curve = make_run(
        tmp_path, BenchRun("tireworld", "random", 0, settings, budget, sequences=20), unheard
    )
    assert curve.stopped_because == "budget of executions spent"
    assert curve.last.executions == 100


def test_the_stopping_rule_of_the_other_strategies_is_not_switched_off(tmp_path):
    settings = Settings(draws=1, depth=1, iterations=1, patience=1, walks=1)
    order = BenchRun("tireworld", "mcqs-s", 0, settings, Budget(executions=3000), sequences=20)
    assert make_run(tmp_path, order, unheard).stopped_because == "no news"
