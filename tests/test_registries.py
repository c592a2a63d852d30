"""Everything that is registered works: a new entry is tested as soon as it is added."""

from pathlib import Path

import pytest

from capscope import Budget, Settings, assess
from capscope.adapters.llm.client import close_shared_clients
from capscope.export import FORMATS
from capscope.insight.findings import FINDING_KINDS, find_findings
from capscope.logic import Intent
from capscope.problem import Ending, Position
from capscope.problem.attempt import pursue
from capscope.problems import load_problem, registered_problems
from capscope.strategy import STRATEGIES
from capscope_experiments.worlds import habits
from support import quirky_worlds as quirky
from support.choosing_agents import hand
from support.llm_stub import say, stub_server
from support.toy_worlds import slippery_board

TINY = Settings(draws=2, iterations=10, depth=4, random_length=4, walks=1, walk_steps=4)
PROBLEMS = registered_problems()


@pytest.mark.parametrize("strategy", STRATEGIES.all)
def test_every_strategy_learns_something_in_a_few_queries(strategy):
    run = assess(slippery_board(), strategy=strategy, settings=TINY, budget=Budget(queries=3))
    assert run.usage.queries == 3
    assert run.usage.executions >= 3
    assert run.graph.pairs_tried > 0


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
    if not problem.intents:
        problem.simulator.reset(0)
        either = Intent.parse(" or ".join(map(str, problem.abstraction.vocabulary.atoms[:2])))
        attempt, _ = pursue(problem, either, start, seed=0, max_steps=5)
        assert attempt.ending not in (Ending.AGENT_RAISED, Ending.INVALID_ACTION), attempt.detail


# An agent for each kind of finding whose quirk is of that kind.
PLANTED = {
    "beyond the request": lambda: quirky.problem(quirky.LAMPS, quirky.lights_another),
    "success": habits.night,
    "change over time": habits.tired,
    "preferences": lambda: hand(lambda free, rng: free[0]),
}


@pytest.mark.parametrize("kind", list(FINDING_KINDS.all.values()), ids=lambda kind: kind.name)
def test_every_kind_of_finding_is_found_in_an_agent_that_shows_it(kind):
    assert kind.name in PLANTED, f"add an agent to PLANTED in which {kind.name} is to be found"
    run = assess(PLANTED[kind.name](), budget=Budget(executions=600))
    assert find_findings(run, kinds=[kind])


def test_no_agent_is_left_of_a_kind_that_is_no_longer_registered():
    assert PLANTED.keys() == set(FINDING_KINDS.all)


@pytest.fixture(scope="module")
def small_run():
    return assess(slippery_board(), settings=TINY, budget=Budget(executions=30))


@pytest.mark.parametrize("name", FORMATS.all)
def test_every_format_exports_a_small_run(name, small_run, tmp_path):
    content = small_run.export(name, tmp_path / "exported")
    if isinstance(content, str):
        assert (tmp_path / "exported").read_text(encoding="utf-8") == content != ""
        return
    written = {file.name: file.read_bytes() for file in (tmp_path / "exported").iterdir()}
    assert written == {
        name: part.encode() if isinstance(part, str) else part for name, part in content.items()
    }
    assert all(written.values())


@pytest.mark.parametrize("name", FORMATS.all)
def test_the_command_writes_what_python_exports(name, capscope):
    run = assess(slippery_board(), settings=TINY, budget=Budget(executions=30), run="run")
    done = capscope("export", "run", "--to", name, "--output", "exported")
    assert (done.code, done.err) == (0, "")
    run.export(name, "again")
    assert contents(Path("exported")) == contents(Path("again"))


def contents(path):
    """Return the bytes of a file, or of the files in a directory by name."""
    if path.is_file():
        return path.read_bytes()
    return {file.name: file.read_bytes() for file in path.iterdir()}
