"""Agents built with other frameworks, unmodified; each test runs where its framework is installed.

They bring too many packages to be developed with, so `make test-frameworks` installs them into an
environment of their own.
"""

import importlib.util
import sys
from pathlib import Path

import pytest

from capscope.logic import Intent
from capscope.problem import Ending, Position
from capscope.problem.attempt import pursue
from support.mail_models import mail_model

pytest_plugins = ["support.llm_fixtures"]
pytestmark = [
    pytest.mark.usefixtures("own_cache"),
    # What they warn about is not ours.
    pytest.mark.filterwarnings("ignore"),
]
EXAMPLES = Path(__file__).parents[2] / "examples"
FRAMEWORKS = {
    "openai_agents": "agents.run",
    "langchain": "langchain_openai",
    "pydantic_ai": "pydantic_ai",
    "smolagents": "smolagents",
    "strands": "strands.models.openai",
}


def missing(module):
    try:
        return importlib.util.find_spec(module) is None
    except ModuleNotFoundError:
        return True


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_framework_works_as_it_is(name, in_environment, monkeypatch):
    if missing(FRAMEWORKS[name]):
        pytest.skip(f"{name} is not installed")
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    import agent_frameworks

    in_environment.usual = mail_model(bug=1.0)
    problem = getattr(agent_frameworks, name)()
    observation = problem.simulator.reset(0)
    start = Position(observation, problem.abstraction(observation))
    attempt, end = pursue(problem, Intent.parse("archived(alice)"), start, 7)
    assert attempt.ending is Ending.STOPPED, attempt.detail
    assert (attempt.simulator_steps, attempt.llm_tokens) == (3, 60)
    holding = set(map(str, problem.vocabulary.holding(end.state)))
    assert "archived(alice)" in holding and any(atom.startswith("deleted") for atom in holding)
