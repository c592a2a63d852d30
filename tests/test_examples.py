"""The example of the README is what users copy: it must keep the contracts and be learnable."""

from pathlib import Path

from capscope import Budget, Intent, assess, check_problem
from capscope.problems import load_problem

VACUUM = f"{Path(__file__).parent.parent / 'examples' / 'vacuum.py'}:problem"


def test_the_vacuum_example_keeps_the_contracts():
    assert check_problem(load_problem(VACUUM)) == []


def test_the_vacuum_example_learns_that_the_robot_can_clean_the_kitchen():
    result = assess(VACUUM, budget=Budget(executions=3000))
    clean = Intent.parse("clean(kitchen)")
    required, _ = result.models.vocabulary.literal_masks(clean.literals)
    rules = result.models.rules(clean)
    assert any(outcome.effect.adds & required for rule in rules for outcome in rule.outcomes)
