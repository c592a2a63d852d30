"""Examples are what users copy: they must satisfy the contracts, be short, and be true."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from capscope import Budget, Intent, Settings, assess, check_problem
from capscope.insight.tried_rules import tried_rules
from capscope.problems import load_problem
from support.llm_stub import say
from support.processes import SECONDS

pytest_plugins = ["support.llm_fixtures"]

EXAMPLES = Path(__file__).parent.parent / "examples"
SHORT = ("frozen_lake", "function_agent", "llm_agent", "taxi", "vault")


def source(name):
    return f"{EXAMPLES / name}.py:problem"


def achieved(run, text):
    """Return the outcomes of an intent that achieve it."""
    intent = Intent.parse(text)
    required, _ = run.graph.vocabulary.literal_masks(intent.literals)
    rules = tried_rules(run.model, intent)
    return [
        outcome for rule in rules for outcome in rule.outcomes if outcome.effect.adds & required
    ]


@pytest.mark.parametrize("name", SHORT)
def test_an_example_is_short(name):
    assert len((EXAMPLES / f"{name}.py").read_text().splitlines()) < 60


@pytest.mark.parametrize(
    "name", ["vacuum", "vault", "function_agent", "frozen_lake", "taxi", "mail"]
)
def test_an_example_keeps_the_contracts(name):
    assert check_problem(load_problem(source(name))) == []


def test_the_vacuum_example_learns_that_the_robot_can_clean_the_kitchen():
    assert achieved(assess(source("vacuum"), budget=Budget(executions=3000)), "clean(kitchen)")


def test_the_findings_about_the_mail_assistant_begin_with_a_lost_attachment():
    run = assess(source("mail"), budget=Budget(executions=2000))
    first = next(one for one in run.findings() if one.change == "not attachment(x)")
    assert first.lasting
    assert [str(step.intent) for step in first.path] == ["full()"]


def test_the_grid_example_trains_an_agent_that_opens_the_door_of_its_own_grid():
    assert achieved(assess(source("vault"), budget=Budget(executions=400)), "yellow-door-open()")


def test_the_butler_lights_nine_lamps_in_ten():
    run = assess(source("function_agent"))
    for room in ("hall", "study"):
        (lit,) = achieved(run, f"lit({room})")
        assert abs(lit.probability - 0.9) < 0.05  # as closely as the run says it knows


def ice(example, cell, action):
    """Return the distribution of the next cell, given that it is another one."""
    ways = {}
    for probability, to, _, _ in example.LAKE.P[cell][action]:
        if to != cell:
            ways[to] = ways.get(to, 0.0) + probability
    return {to: probability / sum(ways.values()) for to, probability in ways.items()}


def test_the_model_of_the_agent_on_ice_shows_how_slippery_it_is(monkeypatch):
    pytest.importorskip("gymnasium")
    monkeypatch.syspath_prepend(EXAMPLES)
    import frozen_lake as example

    states = {example.VOCABULARY.state(example.label(cell)): cell for cell in example.LAKE.P}
    run = assess(source("frozen_lake"), strategy="exhaustive", budget=Budget(executions=2000))
    thirds = covered = all_outcomes = 0
    for intent in run.graph.capabilities:
        for rule in tried_rules(run.model, intent):
            if len(rule.states) > 1 or len(rule.outcomes) < 2:
                continue
            (state,) = rule.states
            truth = ice(example, states[state], example.plan(intent)[states[state]])
            if not truth:  # no episode goes on from there
                continue
            for outcome in rule.outcomes:
                # Some outcomes are expected from other cells, and can lead nowhere here.
                true = truth.get(states.get(outcome.effect.apply(state)), 0.0)
                assert true or not outcome.count
                low, high = outcome.interval
                thirds += abs(true - 1 / 3) < 1e-9
                covered += low <= true <= high
                all_outcomes += 1
    assert thirds > 100
    assert covered / all_outcomes > 0.93


def test_the_drivers_habit_is_found():
    pytest.importorskip("gymnasium")
    run = assess(source("taxi"), budget=Budget(executions=1500))
    found = [finding.sentence for finding in run.findings()]
    assert any("taxi-at(" in text and "riding()" in text for text in found), found


def ferry(handler, request):
    """A model that takes the goat whatever is asked, or gives up; by the question and its seed."""
    words = f"{request['messages'][-1]['content']}{request['seed']}"
    chance = hashlib.sha256(words.encode()).digest()[0] % 4
    say(("I take goat.", "Take Goat", "row alone", "done")[chance])(handler, request)


def test_the_language_model_brings_the_goat_across(in_environment, own_cache):
    in_environment.usual = ferry
    problem = load_problem(source("llm_agent"))
    assert check_problem(problem) == []
    run = assess(problem, budget=Budget(executions=120), settings=Settings(walks=2))
    assert achieved(run, "across(goat)")
    assert run.usage.llm_tokens > 60
    assert "Goal: across(goat)" in str(in_environment.requests)


def test_the_wolf_eats_the_goat(monkeypatch):
    pytest.importorskip("openai")
    monkeypatch.syspath_prepend(EXAMPLES)
    import llm_agent as river

    assert river.row(river.START, "take wolf")["cabbage"] == "eaten"
    assert river.row(river.START, "take cabbage")["goat"] == "eaten"
    assert river.row(river.START, "take goat") == river.START | {"ferryman": "far", "goat": "far"}
    assert river.actions(river.row(river.START, "row alone")) == ["row alone"]


def test_the_example_of_a_test_passes_under_pytest():
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, str(EXAMPLES / "test_my_agent.py")],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
