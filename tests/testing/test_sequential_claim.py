"""Claims about agents that are tested by running them, and the pytest plugin."""

import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from capscope import Problem
from capscope.errors import CapscopeError
from capscope.problem import FunctionAgent
from capscope.testing import assert_capability
from capscope.testing.sequential_claim import ExecutionBudget

BERNOULLI = '''
from capscope import Limits, Problem, Vocabulary
from capscope.problem import FunctionAbstraction, FunctionAgent, FunctionWorld


def bernoulli(rate):
    """Achieves `done` with a fixed probability, else nothing."""
    return Problem(
        "bernoulli",
        FunctionWorld(False, lambda state, action: True, ["do"]),
        FunctionAgent(lambda done, _, rng: None if done or rng.random() >= rate else "do"),
        FunctionAbstraction(Vocabulary.of_atoms(["done"]), lambda done: ["done"] if done else []),
        Limits(temporal_length=None, horizon=5),
    )
'''
namespace = {}
exec(BERNOULLI, namespace)
bernoulli = namespace["bernoulli"]


@pytest.fixture
def budget():
    used = ExecutionBudget()
    ExecutionBudget.current = used
    yield used
    ExecutionBudget.current = ExecutionBudget()


@pytest.mark.parametrize(("rate", "passes"), [(0.9, True), (0.7, False)])
def test_the_claim_is_decided_soon_and_rarely_wrongly(budget, rate, passes):
    problem, wrong = bernoulli(rate), 0
    for seed in range(1_000):
        try:
            assert_capability(problem, "done", at_least=0.8, seed=seed)
            wrong += not passes
        except AssertionError:
            wrong += passes
    assert wrong <= 50
    assert budget.made / 1_000 <= 40


def test_the_message_says_what_happened_instead(budget):
    with pytest.raises(AssertionError) as failed:
        assert_capability(bernoulli(0.3), "done", at_least=0.8)
    text = str(failed.value)
    assert text.startswith("done(): not shown (decides between at least 0.9 and at most 0.7")
    assert "not achieved: nothing changed" in text and "failed by:" in text
    assert "agent stopped" in text


def test_an_agent_that_raises_is_named_in_the_message(budget):
    problem = bernoulli(1.0)

    def act(done):
        raise ValueError("no idea")

    broken = Problem(
        "broken", problem.simulator, FunctionAgent(act), problem.abstraction, problem.limits
    )
    with pytest.raises(AssertionError, match="agent raised: ValueError"):
        assert_capability(broken, "done")


def test_a_claim_about_states_that_no_reset_reaches_is_an_error(budget):
    with pytest.raises(CapscopeError, match="200 resets of bernoulli never led to a state"):
        assert_capability(bernoulli(0.9), "not done()")
    assert budget.made == 0


def test_a_spent_budget_leaves_the_claim_undecided():
    ExecutionBudget.current = ExecutionBudget(3)
    try:
        with pytest.raises(AssertionError, match=r"undecided[\s\S]*this test takes about \d+ exec"):
            assert_capability(bernoulli(0.9), "done")
        assert ExecutionBudget.current.made == 3
    finally:
        ExecutionBudget.current = ExecutionBudget()


TESTS = (
    BERNOULLI
    + """
import pytest
from capscope.testing import assert_capability


def test_it_works():
    assert_capability(bernoulli(0.98), "done")


@pytest.mark.capscope_cost(5)
def test_it_is_stopped():
    assert_capability(bernoulli(0.9), "done")


@pytest.mark.capscope_cost(900)
def test_it_is_not_begun():
    assert_capability(bernoulli(0.9), "done")


def test_it_fails():
    assert_capability(bernoulli(0.2), "done")
"""
)


def test_the_plugin_limits_and_records_executions(tmp_path):
    (tmp_path / "test_agent.py").write_text(TESTS)
    command = [
        sys.executable, "-m", "pytest", "test_agent.py", "--capscope-budget=300", "-rs",
        "--junitxml=junit.xml", "-p", "no:cacheprovider", "--strict-markers",
    ]  # fmt: skip
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert "2 failed, 1 passed, 1 skipped" in result.stdout, result.stdout + result.stderr
    assert "needs 900 executions, and" in result.stdout
    assert "of 300 executions" in result.stdout
    cases = {c.get("name"): c for c in ElementTree.parse(tmp_path / "junit.xml").iter("testcase")}
    used = {
        name: int(p.get("value"))
        for name, case in cases.items()
        for p in case.iter("property")
        if p.get("name") == "capscope_executions"
    }
    assert used["test_it_is_stopped"] == 5 and used["test_it_works"] > 5
    (message,) = (f.get("message") for f in cases["test_it_fails"].iter("failure"))
    assert "done(): not shown" in message
