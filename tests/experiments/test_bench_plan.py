"""What is measured by default."""

import pytest

from capscope import Settings
from capscope.logic import Intent
from capscope.problems import load_problem
from capscope_experiments.plan import CASES, BenchCase, cases_of
from support.tiny_bench import SETTINGS, tiny_bench


def test_a_case_may_fix_the_intents_of_all_its_runs(tmp_path):
    case = BenchCase("tireworld", intents=("not-flattire()",))
    bench = tiny_bench(tmp_path)
    runs = [bench.planned_run(case, "mcqs-s", seed) for seed in (0, 1)]
    assert {run.settings.intents for run in runs} == {("not-flattire()",)}
    assert runs[0].settings.draws == SETTINGS.draws
    (tmp_path / "other").mkdir()
    asked = tiny_bench(tmp_path / "other", settings=Settings(intents=("vehicle-at(l-1-1)",)))
    assert asked.planned_run(case, "mcqs-s", 0).settings.intents == ("vehicle-at(l-1-1)",)


def test_the_intents_of_the_plan_are_in_the_vocabulary_of_their_problem():
    pytest.importorskip("crafter")
    fixed = [case for case in CASES if case.intents]
    assert fixed
    for case in fixed:
        vocabulary = load_problem(case.problem).vocabulary
        assert len(set(case.intents)) == len(case.intents)
        for intent in case.intents:
            vocabulary.literal_masks(Intent.parse(intent).literals)  # raises for an unknown atom


def test_an_agent_that_asks_a_language_model_is_measured_for_its_findings_only():
    problems = {
        suite: {case.problem for case in cases_of(suite)} for suite in ("findings", "efficiency")
    }
    assert problems["findings"] - problems["efficiency"] == {"tabletop-saycan"}
