"""What is printed of rules and of single capabilities."""

import pytest

from capscope import Budget, Settings, assess
from capscope.report.overview import model_lines, rule_lines


@pytest.fixture(scope="module")
def demo():
    return assess("blocksworld")


def test_the_rules_of_the_demo_fit_on_a_page(demo):
    lines = list(rule_lines(demo, None))
    assert len(lines) <= 40
    assert sum("at most 1 % of executions" in line for line in lines) == 1
    text = " ".join(" ".join(lines).split())
    for family in demo.model.families:
        assert family.name in text.partition("families of requests")[2]


def test_a_wanted_capability_is_shown_with_its_objects_and_all_are_shown_after_all_rules(demo):
    wanted = demo.graph.match_capabilities("on(a,*)")
    text = "\n".join(model_lines(demo, wanted, None))
    assert "as on(X,Y) with X = a, Y = b:" in text
    assert "behaviors" not in text
    every = list(model_lines(demo, demo.capabilities, None))
    assert every.count("rules of the families of requests:") == 1
    heads = [line for line in every if line.endswith("states)") and not line.startswith(" ")]
    assert len(heads) == len(demo.capabilities)
    few = list(model_lines(demo, demo.capabilities, 2))
    assert f"{len(demo.capabilities) - 2} more: capscope show {demo.path} '*'" in few


def test_a_run_without_executions_says_that_nothing_was_tried():
    run = assess("blocksworld", settings=Settings(intents=("on(a,b)",)), budget=Budget(queries=0))
    assert "never tried: on(X,Y)" in "\n".join(rule_lines(run, None))
    assert "never tried in any of" in "\n".join(model_lines(run, run.capabilities, None))
