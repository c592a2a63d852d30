"""The mail agent with its bug, as a scripted model behind a server: found with its condition."""

import pytest

import capscope
from capscope import Budget
from support.mail_models import mail_model, mail_problem

pytest.importorskip("pydantic")
pytest_plugins = ["support.llm_fixtures"]
pytestmark = pytest.mark.usefixtures("own_cache")


def conditions(seed):
    run = capscope.assess(mail_problem(), seed=seed, budget=Budget(executions=150))
    return [[str(clause) for clause in finding.when] for finding in run.findings()]


def test_the_bug_is_reported_with_its_condition(in_environment):
    in_environment.usual = mail_model(bug=0.2)
    assert [conditions(seed) for seed in range(2)] == [[["when starred(x)"]]] * 2


def test_nothing_is_reported_of_the_twin_without_the_bug(in_environment):
    in_environment.usual = mail_model(bug=0.0)
    assert conditions(0) == []
