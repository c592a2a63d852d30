import dataclasses

from capscope_experiments.curve import CONSTANT, Curve, Point, Shares
from capscope_experiments.curve_report import (
    best_baseline,
    best_baseline_table,
    group,
    needed_table,
    ratio_to_baseline,
    variation_table,
)
from support.markdown_rows import cells

LEVELS = (0.9, 0.99)


def curve(strategy, seed, *points, problem="blocks", shares=None):
    """Make a curve of (steps, agreement); executions are half the steps."""
    made = tuple(Point(i, steps // 2, steps, a, i / 10) for i, (steps, a) in enumerate(points))
    return Curve(problem, strategy, seed, made, "no news", shares or Shares(1, 1, 1, 1))


def reaching(strategy, seed, steps, level=0.99):
    return curve(strategy, seed, (10, 0.1), (steps, level))


def ratio(curves, strategy, level, *cost):
    own, baseline = group(curves, "blocks", strategy), group(curves, "blocks", "random")
    return ratio_to_baseline(own, baseline, level, *cost)


def needed(curves):
    return needed_table(curves, LEVELS)


def test_the_ratio_is_that_of_the_mean_steps_over_the_seeds_that_both_have():
    curves = [
        reaching("mcqs-s", 0, 100),
        reaching("mcqs-s", 1, 300),
        reaching("mcqs-s", 2, 5),
        reaching("random", 0, 1000),
        reaching("random", 1, 3000),
        reaching("random", 7, 10**6),
    ]
    assert ratio(curves, "mcqs-s", 0.99) == (10.0, False)


def test_executions_are_compared_with_the_baseline_and_with_the_lower_bound():
    own = dataclasses.replace(reaching("exhaustive", 0, 100), least=40)
    row = cells(needed([own, reaching("random", 0, 1000)]), "blocks", "exhaustive")
    assert row["executions to 0.99"] == "50 (10.0×)"
    assert row["× the least, to 0.99"] == "1.25"


def test_a_baseline_that_was_cut_gives_a_lower_bound():
    curves = [
        reaching("mcqs-s", 0, 100),
        reaching("mcqs-s", 1, 100),
        reaching("random", 0, 1000),
        reaching("random", 1, 3000, level=0.95),
    ]
    assert ratio(curves, "mcqs-s", 0.99) == (20.0, True)
    assert ratio(curves, "mcqs-s", 0.9) == (20.0, False)


def test_there_is_no_ratio_if_the_strategy_missed_the_level_or_has_no_baseline():
    curves = [
        reaching("mcqs-s", 0, 100),
        reaching("mcqs-s", 1, 100, level=0.5),
        reaching("random", 0, 1000),
        reaching("random", 1, 1000),
    ]
    assert ratio(curves, "mcqs-s", 0.99) is None
    assert ratio(curves[:1], "mcqs-s", 0.99) is None
    assert ratio(curves, "mcqs-e", 0.99) is None


CURVES = [
    curve("mcqs-s", 0, (10, 0.1), (100, 0.9), (200, 0.995), shares=Shares(50, 30, 15, 5)),
    curve("mcqs-s", 1, (10, 0.1), (140, 0.9), (280, 0.999), shares=Shares(50, 30, 15, 5)),
    curve("mcqs-e", 0, (10, 0.1), (500, 0.9)),
    curve("mcqs-e", 1, (10, 0.1), (700, 0.99)),
    curve("random", 0, (10, 0.1), (4000, 0.91), (5000, 0.92)),
    curve("random", 1, (10, 0.1), (7000, 0.93)),
]


def test_the_table_shows_what_each_strategy_needed():
    row = cells(needed(CURVES), "blocks", "mcqs-s")
    assert row["executions to 0.9"] == "60 ± 14 (45.8×)"
    assert row["at the end"] == "0.9970 ± 0.0028"
    assert row["ended by"] == "no news"
    assert row["seeds"] == "2"


def test_a_ratio_to_a_baseline_that_was_cut_is_written_as_more_than():
    row = cells(needed(CURVES), "blocks", "mcqs-s")
    assert row["executions to 0.99"] == "120 ± 28 (> 25.0×)"


def test_what_the_baseline_did_not_reach_is_written_as_more_than_it_took():
    row = cells(needed(CURVES), "blocks", "random")
    assert row["executions to 0.9"] == "2,750 ± 1,061"
    assert row["executions to 0.99"] == "> 2,500"


def test_a_strategy_that_missed_a_level_in_some_runs_says_in_how_many():
    row = cells(needed(CURVES), "blocks", "mcqs-e")
    assert row["executions to 0.99"] == "1 of 2 runs"


def test_every_row_of_a_table_has_as_many_cells_as_its_header():
    assert len({line.count("|") for line in needed(CURVES).splitlines()}) == 1


def test_one_run_has_no_spread():
    row = cells(needed(CURVES[:1]), "blocks", "mcqs-s")
    assert row["executions to 0.9"] == "50"


def test_runs_are_grouped_by_problem_and_strategy():
    assert group(CURVES, "blocks", "mcqs-e") == CURVES[2:4]
    assert group(CURVES, "elsewhere", "mcqs-e") == []


def test_a_baseline_cut_before_it_had_spent_as_much_gives_no_ratio():
    curves = [reaching("mcqs-s", 0, 1000), reaching("random", 0, 900, level=0.5)]
    assert ratio(curves, "mcqs-s", 0.99) is None


def test_a_curve_without_weightings_has_none_to_show():
    assert CURVES[0].weighted("by_data").points == ()


BASELINE_CURVES = [
    reaching("mcqs-s", 0, 100),
    reaching("random", 0, 1000),
    reaching("random, --draws 1", 0, 300),
    reaching("uniform", 0, 200, level=0.95),
]


def test_the_best_baseline_has_the_fewest_executions_to_the_level():
    assert best_baseline(BASELINE_CURVES[:3], "blocks", 0.99).label == "random, --draws 1"
    row = cells(best_baseline_table(BASELINE_CURVES[:3], (0.99,)), "blocks", "mcqs-s")
    assert (row["best baseline at 0.99"], row["× its steps"]) == ("random, --draws 1", "3.0×")
    assert row["× its executions"] == "3.0×"


def test_a_baseline_that_was_cut_before_the_others_bounds_the_ratio():
    row = cells(best_baseline_table(BASELINE_CURVES, (0.99,)), "blocks", "mcqs-s")
    assert (row["best baseline at 0.99"], row["× its steps"]) == ("uniform", "> 2.0×")


def test_a_level_that_the_constant_predictor_has_is_not_compared():
    constant = curve(CONSTANT, 0, (0, 0.9))
    table = best_baseline_table([*BASELINE_CURVES[:3], constant], LEVELS)
    row = cells(table, "blocks", "mcqs-s")
    assert row["best baseline at 0.9"] == "–: the constant predictor has it"
    assert row["best baseline at 0.99"] == "random, --draws 1"
    assert CONSTANT not in table
    own = cells(needed([constant]), "blocks", CONSTANT)
    assert (own["executions to 0.9"], own["executions to 0.99"]) == ("0", "never")


def test_without_a_baseline_but_random_query_there_is_no_table_about_the_best():
    assert best_baseline_table(BASELINE_CURVES[:1], (0.99,)) == ""
    assert best_baseline_table(BASELINE_CURVES[:2], (0.99,)) == ""


def test_total_variation_is_shown_after_executions_and_at_the_end():
    points = [Point(i, n, n, 0.5, 0.0, changing_tv=tv) for i, (n, tv) in enumerate(VARIATIONS)]
    own = Curve("p", "mcqs-s", 0, tuple(points), "no news", Shares())
    row = cells(variation_table([own, reaching("random", 0, 9)], (5, 40)), "p", "mcqs-s")
    assert (row["changing, 5"], row["changing, 40"]) == ("–", "0.600")
    assert (row["changing, the end"], row["stochastic, the end"]) == ("0.200", "–")
    assert variation_table([reaching("random", 0, 9)], (5,)) == ""


VARIATIONS = ((10, 0.8), (30, 0.6), (90, 0.2))
