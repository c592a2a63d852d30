from dataclasses import replace

import pytest

from capscope import Budget
from capscope.errors import CapscopeError
from capscope_experiments.curve import Curve, Point, Shares
from capscope_experiments.plan import BenchCase, case_for
from capscope_experiments.suites.ablation import ablation, change_with_bonus
from capscope_experiments.suites.efficiency import efficiency_curves
from support.markdown_rows import cells, links
from support.tiny_bench import section_and_jobs, tiny_bench

FEW = dict.fromkeys(("exhaustive", "mcqs-s"), Budget(executions=20))
PLANNED = BenchCase("blocksworld", ("exhaustive", "mcqs-s", "random"), FEW, sequences=20)
BLOCKS = (case_for("ablation", PLANNED),)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return tiny_bench(tmp_path_factory.mktemp("bench"), cases=BLOCKS, levels=(0.005, 0.01))


@pytest.fixture(scope="module")
def measured(bench):
    """The section, and the names of the runs that it made besides those of efficiency."""
    efficiency_curves(replace(bench, cases=(PLANNED,), levels=(0.5, 0.98)))
    return section_and_jobs(ablation, bench)


def test_only_the_runs_without_the_bonus_are_made(measured):
    _, names = measured
    assert names[0] == "dataset of blocksworld"
    assert [name.replace("-draws2-depth5-iterations10", "") for name in names[1:]] == [
        f"blocksworld-mcqs-s-xi0-walks1-walk_steps40-{seed}" for seed in (0, 1)
    ]


def test_every_strategy_is_listed_with_and_without_the_bonus(measured):
    section, _ = measured
    rows = [line.split("|")[1:3] for line in section.body.splitlines() if line.startswith("| ")]
    listed = [("blocksworld", strategy) for strategy in ("mcqs-s", "mcqs-s, --xi 0", "random")]
    assert [(problem.strip(), strategy.strip()) for problem, strategy in rows] == [
        ("problem", "strategy"), *listed,
    ]  # fmt: skip
    assert "exhaustive" not in section.body


def test_runs_ended_by_a_budget_have_no_change_to_the_end(measured):
    section, _ = measured
    own, chance = (cells(section.body, "blocksworld", s) for s in ("mcqs-s", "random"))
    assert own["at the end (seeds)"].endswith("(2*)")
    assert own["with ξ to without"] == ""
    assert chance["fewer than Random"] == "–"
    assert own["steps to 0.98"] == "0 of 2 runs"


def ended(strategy, steps, because="no news"):
    return Curve("p", strategy, 0, (Point(1, 1, steps, 0.5, 0.0),), because, Shares())


def test_the_change_is_that_of_the_steps_until_the_end():
    curves = [ended("mcqs-s", 120), ended("mcqs-s, --xi 0", 100), ended("random", 9)]
    assert change_with_bonus(curves, "p", "mcqs-s") == "+20%"
    assert change_with_bonus(curves, "p", "random") == ""
    cut = [ended("mcqs-s", 120), ended("mcqs-s, --xi 0", 100, "budget of executions spent")]
    assert change_with_bonus(cut, "p", "mcqs-s") == ""


def test_the_section_lists_the_files_that_it_shows(measured, bench):
    section, _ = measured
    assert section.title == "E4: without the revisitation bonus"
    assert set(section.files) == {
        "ablation.csv", "ablation-runs.csv", "ablation.png", "ablation.svg", "ablation-steps.png",
        "ablation-steps.svg",
    }  # fmt: skip
    assert set(links(section.body)) == {"ablation.png", "ablation-steps.png"}
    assert all((bench.output / name).stat().st_size for name in section.files)


def test_random_query_continues_to_the_level_of_the_ablation_if_others_are_lower(measured):
    # For the levels that were asked for its first query was enough.
    section, _ = measured
    chance = cells(section.body, "blocksworld", "random")
    assert chance["at the end (seeds)"].endswith("*)")


@pytest.mark.parametrize("strategies", [("random",), ("exhaustive",), ("exhaustive", "random")])
def test_the_ablation_needs_a_strategy_with_the_bonus(bench, strategies):
    with pytest.raises(CapscopeError, match="choose mcqs-s or mcqs-e, which use it"):
        ablation(replace(bench, cases=(case_for("ablation", BenchCase("tireworld", strategies)),)))


def test_the_ablation_needs_a_bonus(bench):
    with pytest.raises(CapscopeError, match="with --set xi=0 it is off already"):
        ablation(replace(bench, settings=replace(bench.settings, xi=0.0)))
