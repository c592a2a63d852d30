import csv
import statistics
from dataclasses import replace

import pytest

from capscope import Budget, load
from capscope.strategy import STRATEGIES
from capscope_experiments.bench_runs import BenchRun
from capscope_experiments.curve import CONSTANT, Curve, Point, Shares
from capscope_experiments.plan import CASES, BenchCase
from capscope_experiments.suites.efficiency import (
    _cut,
    audits_table,
    efficiency,
    efficiency_curves,
    executions_without_audit,
    steps_to_beat,
)
from capscope_experiments.table import spread
from capscope_experiments.variant import Variant
from support.markdown_rows import cells, links
from support.tiny_bench import BUDGET, section_and_jobs, tiny_bench

CUT = 20


@pytest.fixture(scope="module", autouse=True)
def early_cut():
    """Cut Random Query before it reaches the highest level on blocksworld."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("capscope_experiments.suites.efficiency.CUT", CUT)
        yield


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return tiny_bench(tmp_path_factory.mktemp("bench"))


@pytest.fixture(scope="module")
def curves(bench):
    return efficiency_curves(bench)


AS_PRINTED = ", --paper"


def of(curves, problem, strategy):
    return [curve for curve in curves if (curve.problem, curve.strategy) == (problem, strategy)]


def test_every_planned_run_has_a_curve(curves, bench):
    assert sorted((curve.problem, curve.strategy, curve.seed) for curve in curves) == sorted(
        (case.problem, strategy, seed)
        for case in bench.cases
        for strategy in case.strategies
        for seed in bench.seeds
    )


def test_runs_as_printed_have_no_departure_from_the_paper(bench, curves):
    printed = (
        bench.runs / BenchRun("tireworld", "mcqs-s", 0, bench.settings.as_in_paper(), BUDGET).name
    )
    assert load(printed).identity.settings.starts == 1
    assert [c.problem for c in curves if c.strategy.endswith(AS_PRINTED)] == ["tireworld"] * 2


def test_settings_that_decide_about_departures_leave_no_runs_as_printed(bench):
    own = replace(bench, settings=replace(bench.settings, starts=2))
    assert not own.planned_runs(("mcqs-s, --paper",))
    assert bench.planned_runs(("mcqs-s, --paper",))


def test_runs_as_printed_set_the_cut():
    printed, shared = curve(f"mcqs-s{AS_PRINTED}", (90, 0.995)), curve("mcqs-s", (70, 0.995))
    assert _cut([shared, printed], 0.99) == Budget(simulator_steps=CUT * 90)


def test_runs_start_seed_by_seed_and_random_query_after_the_others(tmp_path):
    bench = tiny_bench(tmp_path)
    few = Budget(executions=2)
    cases = [replace(c, budgets=dict.fromkeys(c.strategies, few)) for c in bench.cases]
    _, names = section_and_jobs(efficiency_curves, replace(bench, cases=tuple(cases)))
    assert names[:2] == ["dataset of tireworld", "dataset of blocksworld"]
    made = [(name.split("-draws")[0], name[-1]) for name in names[2:]]
    assert made == [
        (kind, seed)
        for kinds in (
            (
                *("tireworld-exhaustive", "tireworld-mcqs-s"),
                *("tireworld-mcqs-s", "blocksworld-mcqs-s"),  # the first as printed
            ),
            ("tireworld-random", "blocksworld-random"),
        )
        for seed in "01"
        for kind in kinds
    ]


def test_saved_runs_are_not_repeated(curves, bench):
    again, names = section_and_jobs(efficiency_curves, bench)
    assert again == curves
    assert names == []


def test_a_searching_strategy_keeps_to_its_budget(curves):
    for curve in curves:
        if curve.strategy != "random":
            assert curve.last.executions == (60 if curve.problem == "tireworld" else 20)
            assert curve.stopped_because == "budget of executions spent"


def test_random_query_is_cut_at_a_multiple_of_the_steps_of_the_papers_strategy(curves):
    own, chance = (of(curves, "blocksworld", strategy) for strategy in ("mcqs-s", "random"))
    for searched, run in zip(own, chance, strict=True):
        assert searched.last.agreement < 0.5  # so that all its steps count
        assert run.stopped_because == "budget of simulator_steps spent"
        assert run.last.simulator_steps == CUT * searched.last.simulator_steps


def test_random_query_ends_once_it_has_reached_the_highest_level(curves):
    for run in of(curves, "tireworld", "random"):
        assert run.stopped_because == "enough learned"
        assert run.first_at(0.5) == run.last


def test_a_budget_of_its_own_replaces_the_cut(tmp_path):
    budgets = dict.fromkeys(("mcqs-s", "random"), BUDGET)
    case = BenchCase("tireworld", tuple(budgets), budgets, sequences=20)
    curves = efficiency_curves(tiny_bench(tmp_path, cases=(case,), seeds=(0,)))
    assert [curve.last.executions for curve in curves] == [60, 60]


def test_random_query_alone_runs_until_it_reaches_the_level(tmp_path):
    case = BenchCase("tireworld", ("random",), sequences=20)
    bench = tiny_bench(tmp_path, cases=(case,), seeds=(0,), levels=(0.05,))
    [curve] = efficiency_curves(bench)
    assert curve.stopped_because == "enough learned"


def curve(strategy, *points):
    made = tuple(Point(1, steps, steps, agreement, 0.0) for steps, agreement in points)
    return Curve("blocksworld", strategy, 0, made, "no news", Shares())


def test_the_fewest_steps_to_a_level_are_to_be_beaten():
    runs = [curve("mcqs-s", (30, 0.5), (70, 0.995), (99, 1.0)), curve("mcqs-e", (50, 0.99))]
    assert steps_to_beat(runs, 0.99) == 50
    assert steps_to_beat(runs, 0.995) == 70
    assert steps_to_beat(runs[:1], 0.5) == 30


def test_if_no_run_reached_the_level_the_longest_is_to_be_beaten():
    runs = [curve("mcqs-s", (30, 0.5), (70, 0.9)), curve("mcqs-e", (50, 0.95))]
    assert steps_to_beat(runs, 0.99) == 70


def test_the_exhaustive_strategy_sets_the_cut_only_if_it_is_alone(tmp_path):
    case = BenchCase("tireworld", ("exhaustive", "random"), {"exhaustive": BUDGET}, sequences=20)
    bench = tiny_bench(tmp_path, cases=(case,), seeds=(0,), levels=(0.99,))
    own, chance = efficiency_curves(bench)
    assert chance.last.simulator_steps == CUT * own.last.simulator_steps


@pytest.mark.parametrize("strategy", ["adaptive", "exhaustive"])
def test_beside_one_of_the_papers_strategies_ours_do_not_set_the_cut(strategy):
    # They reach the level long before, and Random Query would be cut before it can.
    quick, paper = curve(strategy, (10, 0.999)), curve("mcqs-s", (70, 0.995))
    assert _cut([quick, paper], 0.99) == Budget(simulator_steps=CUT * 70)
    assert _cut([quick], 0.99) == Budget(simulator_steps=CUT * 10)


def test_what_adaptive_runs_need_is_measured_without_an_audit(tmp_path):
    case = BenchCase("tireworld", ("adaptive",), {"adaptive": Budget(executions=80)}, sequences=20)
    bench = tiny_bench(tmp_path, cases=(case,), levels=(0.2, 0.5))
    needed = executions_without_audit(bench)
    assert needed.keys() == {("tireworld", 0), ("tireworld", 1)}
    assert all(1 <= n < 80 for n in needed.values())
    never = executions_without_audit(replace(bench, levels=(1.0,)))
    assert list(never.values()) == [None, None]


def audit(problem, passed, rate, needed, level=0.99):
    return {
        "problem": problem, "strategy": "adaptive", "seed": "0", "passed": str(passed),
        "audited": "0.01", "executions": "500", "rate": rate, "level": str(level),
        "executions_without_audit": needed,
    }  # fmt: skip


def test_only_statements_whose_truth_is_known_count_as_true_or_not():
    audits = [audit("a", True, "", "90"), audit("a", True, "0.02", "110")]
    audits += [audit("a", True, "0.01", ""), audit("a", False, "0.5", "100")]
    row = cells(audits_table(audits, 0.99), "a")
    assert (row["passed"], row["true"], row["stated after"]) == ("3 of 4", "1 of 2", "500 ± 0")
    assert row["executions to 0.99"] == "3 of 4 runs"
    assert row["surprises"].startswith("1.500% ± ")


def test_runs_whose_numbers_are_known_only_together_are_shown_with_those():
    audits = [audit("a", True, "0.002 ± 0.001", "90 ± 5")] * 5
    audits += [audit("b", True, "0.003 ± 0.001", "90 ± 5")] * 5
    low, high = (cells(audits_table(audits, 0.99), name) for name in "ab")
    assert (low["executions to 0.99"], low["surprises"]) == ("90 ± 5", "0.200% ± 0.100%")
    # Rates are not negative: five with a mean of 0.002 are at most 0.01 each.
    assert (low["true"], high["true"]) == ("5 of 5", "0 of 5")


def test_executions_to_another_level_are_not_shown():
    row = cells(audits_table([audit("a", True, "", "90", 0.9)], 0.99), "a")
    assert row["executions to 0.99"] == "–"


@pytest.fixture(scope="module")
def section(bench):
    return efficiency(bench)


def test_the_section_shows_the_numbers_of_the_curves(bench, curves, section):
    assert section.title == "E1: learning efficiency"
    tables = [table for table in section.body.split("\n\n") if table.startswith("| problem")]
    own, chance = (of(curves, "tireworld", name) for name in ("mcqs-s", "random"))
    # No ratios: the predictor that expects no change has both levels without an execution.
    low, high, end = (cells(table, "tireworld") for table in tables)
    mean = statistics.fmean(curve.last.agreement for curve in own)
    assert end["mcqs-s"].startswith(f"{mean:.3f}, ")
    assert end["mcqs-s"].endswith(" (2*)")
    assert low["mcqs-s"] == spread([curve.first_at(0.02).executions for curve in own])
    assert high["random"] == spread([curve.first_at(0.5).executions for curve in chance])
    labels = [label for case in bench.cases for label in case.strategies]
    assert set(end) == {"problem", *labels, CONSTANT}


def test_the_section_lists_the_files_that_it_shows(bench, curves, section):
    figures = ("efficiency", "efficiency-paper")
    pictures = tuple(f"{name}.{kind}" for name in figures for kind in ("png", "svg"))
    tables = ("efficiency.csv", "efficiency-runs.csv")
    assert section.files == (*tables, *pictures)
    assert set(links(section.body)) == {*tables, pictures[0]}
    assert all((bench.output / name).stat().st_size for name in section.files)
    with (bench.output / "efficiency.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(len(curve.points) for curve in curves) + len(bench.cases)
    last = of(curves, "tireworld", "random")[-1].last
    assert float(rows[-2]["agreement"]) == round(last.agreement, 6)
    assert (rows[-1]["strategy"], rows[-1]["executions"]) == (CONSTANT, "0")


def test_the_plan_names_known_strategies_and_limits_only_those_it_runs():
    assert len({case.problem for case in CASES}) == len(CASES)
    for case in CASES:
        assert set(case.strategies) <= set(STRATEGIES.all)
        assert case.budgets.keys() <= set(case.strategies)
        for label in case.variants:
            assert Variant.parse(label).check().label == label
        assert case.budget("none such") == Budget()


def test_runs_with_a_budget_of_steps_are_not_audited(tmp_path):
    budgets = dict.fromkeys(("adaptive", "random"), Budget(simulator_steps=60))
    case = BenchCase("tireworld", tuple(budgets), budgets, sequences=20)
    body = efficiency(tiny_bench(tmp_path, cases=(case,), levels=(0.2, 0.5))).body
    assert "stated after" not in body
