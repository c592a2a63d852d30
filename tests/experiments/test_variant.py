import pytest

from capscope import Settings
from capscope.errors import CapscopeError
from capscope_experiments.plan import CASES, CHOICES, BenchCase, case_for, cases_of
from capscope_experiments.variant import Variant, strategy_of


@pytest.mark.parametrize("text", ["random --draws 1", "random, --draws 1", "random,--draws 1"])
def test_a_label_is_read_with_or_without_its_comma(text):
    variant = Variant.parse(text)
    assert (variant.strategy, variant.label) == ("random", "random, --draws 1")
    assert Variant.parse(variant.label) == variant


def test_a_variant_changes_the_settings_that_it_names_and_no_others():
    given = Settings(depth=7)
    assert Variant.parse("random --draws 3").applied(given) == Settings(depth=7, draws=3)
    assert Variant.parse("mcqs-s --xi 0").applied(given) == Settings(depth=7, xi=0.0)
    assert Variant.parse("mcqs-s --paper").applied(given) == given.as_in_paper()
    both = Variant.parse("mcqs-e --paper --draws 3").applied(given)
    assert both == Settings(depth=7, draws=3).as_in_paper()
    assert Variant.parse("mcqs-s").applied(given) is not None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("oracle --paper", "no strategy 'oracle'"),
        ("random --speed 3", "a variant cannot have '--speed'"),
        ("random draws 3", "a variant cannot have 'draws'"),
        ("random --draws many", "--draws needs a number, not 'many'"),
        ("random --draws", "--draws needs a number, not ''"),
        ("random --draws 0", "--set draws must be at least 1"),
    ],
)
def test_a_mistake_in_a_variant_is_reported(text, line):
    with pytest.raises(CapscopeError, match=line):
        Variant.parse(text).check()


def test_the_plan_runs_every_baseline_in_e1_only():
    compared = [case for case in cases_of("efficiency") if "random" in case.strategies]
    assert len(compared) > 10
    for case in compared:
        assert {"random, --draws 3", "random, --draws 1", "uniform"} <= set(case.strategies)
    for suite in ("agreement", "findings", "reachability"):
        assert all(strategy_of(s) == s for case in cases_of(suite) for s in case.strategies)


def test_named_strategies_replace_what_is_planned():
    [case] = cases_of("efficiency", ["tireworld"], ["mcqs-s, --paper"])
    assert case.strategies == ("mcqs-s, --paper",)
    [case] = cases_of("ablation", ["tireworld"], ["mcqs-s"])
    assert case.strategies == ("mcqs-s", "mcqs-s, --xi 0")
    assert {case.strategies for case in cases_of("choice")} == {CHOICES}


def test_a_variant_has_the_budget_of_its_strategy_and_a_baseline_that_of_random_query():
    case = next(case for case in CASES if case.problem == "first-responders")
    assert case.budget("mcqs-s, --paper") == case.budget("mcqs-s")
    assert case.budget("uniform") == case.budget("random, --draws 1") == case.budget("random")
    assert case_for("agreement", BenchCase("tireworld")) == BenchCase("tireworld")
