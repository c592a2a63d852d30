"""Everything that is registered works: a new entry is tested as soon as it is added."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from capscope import Budget, Settings, assess
from capscope.agents.llm.client import close_shared_clients
from capscope.analysis.findings import Kind, find_findings
from capscope.problems import load_problem, registered_problems
from capscope.strategy.registry import STRATEGIES
from capscope.symbolic import Intent
from capscope.world import Ending, Position
from capscope.world.attempt import pursue
from support import quirky_worlds as quirky
from support.llm_stub import say, stub_server
from support.toy_worlds import slippery_board

TINY = Settings(draws=2, iterations=10, depth=4, random_length=4, walks=1, walk_steps=4)
PROBLEMS = registered_problems()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_learns_something_in_a_few_queries(strategy):
    result = assess(slippery_board(), strategy=strategy, settings=TINY, budget=Budget(queries=3))
    assert result.usage.queries == 3
    assert result.usage.executions >= 3
    assert result.graph.pairs_tried > 0


@pytest.fixture
def language_model(monkeypatch, tmp_path):
    """Serve an answer that gives up at once, for the problems that ask a language model."""
    with stub_server() as stub:
        stub.usual = say("Thought: no.\nActions:\ndone")
        monkeypatch.setenv("CAPSCOPE_LLM_BASE_URL", stub.url)
        monkeypatch.setenv("CAPSCOPE_LLM_MODEL", "stub")
        monkeypatch.setenv("CAPSCOPE_CACHE", str(tmp_path))
        yield
        close_shared_clients()


@pytest.mark.usefixtures("language_model")
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_installed_problem_loads_and_its_agent_attempts_an_intent(name):
    if not PROBLEMS[name].installed:
        pytest.skip(f"needs pip install 'capscope[{PROBLEMS[name].extra}]'")
    problem = load_problem(name)
    observation = problem.simulator.reset(0)
    start = Position(observation, problem.abstraction(observation))
    intent = Intent.parse(str(problem.abstraction.vocabulary.atoms[0]))
    attempt, end = pursue(problem, intent, start, seed=0, max_steps=5)
    assert attempt.trajectory[0] == start.state
    assert attempt.trajectory[-1] == end.state
    assert attempt.simulator_steps <= 5
    assert attempt.ending not in (Ending.AGENT_RAISED, Ending.INVALID_ACTION), attempt.detail


# An agent for each kind of finding whose quirk is of that kind.
PLANTED = {
    Kind.SIDE_EFFECT: (quirky.HOUSE, quirky.opens_the_door),
    Kind.CONDITION: (quirky.HOUSE, quirky.slack_with_the_key),
    Kind.PREFERENCE: (quirky.SHELVES, quirky.c_before_b_before_d),
    Kind.MEANS: (quirky.WOOD, quirky.fells_the_last_oak),
    Kind.ASYMMETRY: (quirky.WOOD, quirky.clumsy_with_elms),
}


def learned_of(kind):
    assert kind in PLANTED, f"add an agent to PLANTED in which {kind} is to be found"
    problem = quirky.problem(*PLANTED[kind])
    return assess(problem, budget=Budget(executions=2400)).graph


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_of_finding_is_found_in_an_agent_that_shows_it(kind):
    assert kind in {finding.kind for finding in find_findings(learned_of(kind))}


# The registry of finding kinds: to be adapted to what it exports as soon as it exists.
FINDING_REGISTRY = "capscope.analysis.findings.registry"


@pytest.mark.skipif(find_spec(FINDING_REGISTRY) is None, reason="there is no registry yet")
def test_every_registered_kind_of_finding_has_an_agent_that_shows_it():
    assert set(import_module(FINDING_REGISTRY).KINDS) == set(PLANTED)


def export_formats():
    """Return the names of all formats; those of the command until there is a registry."""
    if find_spec("capscope.export.formats") is not None:
        return list(import_module("capscope.export.formats").FORMATS)
    return list(import_module("capscope.cli.export")._FORMATS)


@pytest.mark.parametrize("name", export_formats())
def test_every_format_exports_a_small_run(name, capscope):
    assess(slippery_board(), settings=TINY, budget=Budget(executions=30), run="run")
    done = capscope("export", "run", "--to", name, "--output", "exported")
    assert (done.code, done.err) == (0, "")
    exported = Path("exported")
    files = list(exported.iterdir()) if exported.is_dir() else [exported]
    assert files
    assert all(file.stat().st_size > 0 for file in files)
