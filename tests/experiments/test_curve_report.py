import dataclasses

from capscope_experiments.curve import CONSTANT, Curve, Point, Shares
from capscope_experiments.curve_report import (
    best_baseline,
    end_table,
    group,
    needed_tables,
    ratio_to_baseline,
    ratios_table,
    tabulated,
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


def needed(curves, level=0.99):
    """Return the row of executions to a level."""
    tables = dict(table.split(":\n\n") for table in needed_tables(curves, LEVELS))
    return cells(tables[f"Executions to {level:g}"], "blocks")


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


def test_the_tables_show_what_each_strategy_needed():
    assert needed(CURVES, 0.9)["mcqs-s"] == "60 ± 14"
    assert needed(CURVES, 0.9)["random"] == "2,750 ± 1,061"
    assert needed(CURVES[:1], 0.9)["mcqs-s"] == "50"  # one run has no spread


def test_a_level_that_was_missed_is_written_as_more_than_was_spent_or_in_how_many_runs():
    assert needed(CURVES)["random"] == "> 2,500"
    assert needed(CURVES)["mcqs-e"] == "1 of 2 runs"


def test_a_problem_is_shown_at_the_two_highest_levels_that_were_reached():
    easy, hard = reaching("mcqs-s", 0, 100), curve("mcqs-s", 0, (10, 0.6), problem="hard")
    tables = list(needed_tables([easy, hard], (0.5, *LEVELS)))
    shown = [[name for name in ("blocks", "hard") if cells(t, name)] for t in tables]
    assert shown == [["hard"], ["blocks"], ["blocks"]]


def test_the_table_of_ratios_has_the_level_and_those_to_both_baselines():
    row = cells(ratios_table(CURVES, LEVELS), "blocks")
    assert row == {
        "problem": "blocks",
        "mcqs-s": "0.99: > 25.0×, > 25.0×, > 25.0×",
        "mcqs-e": "0.9: 9.2×, 9.2×, 9.2×",
    }


def test_the_end_has_agreement_total_variation_and_seeds():
    measured = Point(1, 9, 9, 0.5, 0.0, changing_tv=0.25)
    own = Curve("p", "mcqs-s", 0, (measured,), "budget of executions spent", Shares())
    table = end_table([own, dataclasses.replace(own, strategy=CONSTANT), *CURVES])
    assert cells(table, "p")["mcqs-s"] == "0.500, 0.250 (1*)"
    assert cells(table, "p")[CONSTANT] == "0.500, 0.250"
    assert cells(table, "blocks")["mcqs-s"] == "0.997 (2)"
    assert cells(table, "blocks")[CONSTANT] == ""


def test_variants_that_a_page_has_no_room_for_are_left_out():
    many = [reaching(f"mcqs-s, --draws {n}", 0, 9) for n in range(2, 12)]
    assert tabulated(many) == many
    assert tabulated([*many, *CURVES]) == CURVES


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
    row = cells(ratios_table(BASELINE_CURVES[:3], (0.99,)), "blocks")
    assert row["mcqs-s"] == "0.99: 10.0×, 3.0×, 3.0×"


def test_a_baseline_that_was_cut_before_the_others_bounds_the_ratio():
    row = cells(ratios_table(BASELINE_CURVES, (0.99,)), "blocks")
    assert row["mcqs-s"] == "0.99: 10.0×, > 2.0×, > 2.0×"


def test_a_level_that_the_constant_predictor_has_is_not_compared():
    own, constant = reaching("mcqs-s", 0, 100, level=0.9), curve(CONSTANT, 0, (0, 0.9))
    assert ratios_table([own, *BASELINE_CURVES[1:3]], LEVELS)
    assert ratios_table([own, *BASELINE_CURVES[1:3], constant], LEVELS) == ""


def test_without_a_baseline_there_are_no_ratios():
    assert ratios_table(BASELINE_CURVES[:1], (0.99,)) == ""
