"""Examples are what users copy: they must keep the contracts and be learnable."""

import subprocess
import sys
from pathlib import Path

from capscope import Budget, Intent, assess, check_problem
from capscope.problems import load_problem

EXAMPLES = Path(__file__).parent.parent / "examples"
VACUUM = f"{EXAMPLES / 'vacuum.py'}:problem"


def test_the_vacuum_example_keeps_the_contracts():
    assert check_problem(load_problem(VACUUM)) == []


def test_the_vacuum_example_learns_that_the_robot_can_clean_the_kitchen():
    result = assess(VACUUM, budget=Budget(executions=3000))
    clean = Intent.parse("clean(kitchen)")
    required, _ = result.models.vocabulary.literal_masks(clean.literals)
    rules = result.models.rules(clean)
    assert any(outcome.effect.adds & required for rule in rules for outcome in rule.outcomes)


def test_the_grid_example_trains_an_agent_that_opens_the_door_of_its_own_grid():
    problem = load_problem(f"{EXAMPLES / 'vault.py'}:problem")
    assert check_problem(problem) == []
    result = assess(problem, budget=Budget(executions=400))
    opened = Intent.parse("yellow-door-open()")
    required, _ = result.models.vocabulary.literal_masks(opened.literals)
    rules = result.models.rules(opened)
    assert any(outcome.effect.adds & required for rule in rules for outcome in rule.outcomes)


def test_the_example_of_a_test_passes_under_pytest():
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, str(EXAMPLES / "test_my_agent.py")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
