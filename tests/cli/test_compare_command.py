"""`capscope compare` says its verdict by the exit code."""

import json
from pathlib import Path

import pytest

from capscope import assess

MAIL = f"{Path(__file__).parents[2] / 'examples' / 'mail.py'}:problem"


@pytest.fixture(scope="module")
def baseline(tmp_path_factory):
    run = tmp_path_factory.mktemp("v1") / "run"
    assess(MAIL, run=run)
    return run


def test_an_unchanged_agent_ends_with_0_and_says_what_it_cost(capscope, baseline, tmp_path):
    done = capscope("compare", MAIL, "--against", baseline, "--run", tmp_path / "v2", "--json")
    found = json.loads(done.out)
    assert done.code == found["exit_code"] == 0
    assert found["verdict"] == "unchanged"
    assert found["bound"] <= found["within"]
    assert found["usage"]["executions"] < found["baseline_executions"]


def test_a_small_budget_ends_with_3_and_says_how_many_more_would_decide(
    capscope, baseline, tmp_path
):
    budget = ("--max-executions", 20)
    done = capscope("compare", MAIL, "--against", baseline, "--run", tmp_path / "v2", *budget)
    assert done.code == 3
    assert "undecided" in done.out
    assert "more executions" in done.out


def test_a_baseline_that_is_missing_is_an_error(capscope, tmp_path):
    assert capscope("compare", MAIL, "--against", tmp_path / "none").code == 2
