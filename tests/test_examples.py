"""The example of the README is what users copy: it must keep the contracts and show its flaw."""

from pathlib import Path

from capscope import Budget, Intent, assess, check_problem
from capscope.problems import load_problem

VACUUM = f"{Path(__file__).parent.parent / 'examples' / 'vacuum.py'}:problem"


def test_the_vacuum_example_keeps_the_contracts():
    assert check_problem(load_problem(VACUUM)) == []


def test_the_vacuum_example_shows_that_cleaning_the_hall_drains_the_battery():
    result = assess(VACUUM, budget=Budget(executions=8000))
    words = result.models.vocabulary
    effects = [
        outcome.effect
        for rule in result.models.rules(Intent.parse("clean(hall)"))
        for outcome in rule.outcomes
    ]
    charged = words.literal_masks(Intent.parse("charged()").literals)[0]
    assert any(effect.deletes & charged for effect in effects)
