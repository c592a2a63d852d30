"""Test an agent like any other code: assess it once, then assert what it can do.

pytest examples/test_my_agent.py
"""

from pathlib import Path

import pytest

from capscope import Budget, assess
from capscope.testing import assert_capability, assert_no_side_effect

PROBLEM = f"{Path(__file__).parent / 'vacuum.py'}:problem"


@pytest.fixture(scope="session")
def run():
    """Assess the robot vacuum cleaner of `vacuum.py`: a few seconds, once for all tests."""
    return assess(PROBLEM, strategy="exhaustive", budget=Budget(executions=3000))


def test_it_cleans_the_kitchen_while_it_has_power(run):
    assert_capability(run, "clean(kitchen)", when="charged()", at_least=0.8)


def test_it_leaves_the_hall_as_it_is_when_it_goes_to_charge(run):
    assert_no_side_effect(run, "charged()", "clean(hall)", when="in(kitchen)", at_most=0.2)
