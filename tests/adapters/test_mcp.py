"""Worlds behind MCP servers: real processes over stdio, good ones and bad ones."""

import importlib.util
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

import capscope
from capscope import Budget
from capscope.adapters.mcp import ControlTools, McpWorld
from capscope.adapters.tools import ask, tool_problem
from capscope.adapters.tools.suggestion import suggested_lines
from capscope.errors import ProblemError, SimulatorError
from capscope.logic import Intent
from capscope.problem.attempt import Position, pursue
from capscope.problem.checks import check_problem, notes_on
from capscope.problem.tool_calls import ToolCall

ROOT = Path(__file__).parents[2]
LAMPS = [sys.executable, str(ROOT / "tests/support/mcp_server.py")]
NAMES = ["hall", "attic", "cellar"]
SAVES = ControlTools("save", "load", seed="seed", hidden=("peek", "process", "reset"))
RESETS = ControlTools(reset="reset", seed="seed", hidden=("peek", "process", "save", "load"))
RESTARTS = ControlTools(seed="seed", hidden=("peek", "process", "save", "load", "reset"))


@pytest.fixture
def lamps():
    """Return a function that makes a world of lamps; its servers end with the test."""
    made = []

    def make(control=SAVES, *arguments, **given):
        world = McpWorld([*LAMPS, *map(str, arguments)], "look", control, {"name": NAMES}, **given)
        made.append(world)
        return world

    yield make
    for world in made:
        world.close()


def switched_on(prompt, tools):
    next(tool for tool in tools if tool.__name__ == "switch")(name=prompt)


def lamp_problem(world):
    return tool_problem(
        world,
        predicates={"on(lamp)": lambda lamps, name: lamps[name]},
        objects={"lamp": NAMES},
        asks=[ask("on(l)", "{l}")],
        agent=switched_on,
        name="lamps",
    )


def process_of(world):
    return int(world._ask("process", {}).text)


def runs(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("control", [SAVES, RESETS, RESTARTS], ids=["save", "reset", "restart"])
def test_a_position_is_restored_by_the_same_and_by_another_server(lamps, control):
    world, other = lamps(control), lamps(control)
    rng, snapshots = random.Random(0), []
    world.reset(0)
    for _ in range(5):
        snapshots.append((world.snapshot(), world.state, world.position_name()))
        world.step(rng.choice(list(world.actions())))
    for snapshot, state, name in reversed(snapshots):
        for one in (world, other):
            assert one.restore(snapshot, 7).state == state
            assert one.position_name() == name


def test_check_finds_nothing_wrong_and_says_what_a_restore_costs(lamps):
    problem = lamp_problem(lamps())
    assert check_problem(problem) == []
    (cost,) = (note for note in notes_on(problem) if note.startswith("a restore takes "))
    assert re.search(r"by load of the MCP server; .* 150 draws wait [\d.]+ m?s for", cost)


@pytest.mark.parametrize(
    ("control", "way"),
    [
        (RESETS, "by reset of the MCP server and a repetition of 2 calls;"),
        (RESTARTS, "by a repetition of 2 calls, after a new start of the MCP server in 1 of 1;"),
    ],
)
def test_a_note_says_how_positions_are_restored(lamps, control, way):
    world = lamps(control)
    assert not any("a restore takes" in note for note in world.notes())
    world.step(ToolCall("switch", {"name": "hall"}))
    here = world.snapshot()
    world.step(ToolCall("switch", {"name": "attic"}))
    world.restore(here, 0)
    assert way in next(iter(world.notes()))


def test_a_server_that_draws_at_random_needs_a_seed(lamps):
    world = lamps(ControlTools("save", "load", hidden=("peek", "process", "reset", "seed")))
    (failure,) = check_problem(lamp_problem(world))
    assert "ControlTools(seed=…)" in failure.message


def test_restoring_where_the_server_is_already_starts_no_other(lamps):
    world = lamps(RESTARTS)
    world.reset(0)
    world.step(ToolCall("switch", {"name": "hall"}))
    first, here = process_of(world), world.snapshot()
    world.step(ToolCall("look"))  # only reads
    world.restore(here, 0)
    assert process_of(world) == first
    world.step(ToolCall("switch", {"name": "hall"}))
    world.restore(here, 0)
    assert process_of(world) != first and not runs(first)


def test_a_failing_call_is_an_observation_and_what_it_changed_stays(lamps):
    world = lamps()
    world.reset(0)
    for call in (ToolCall("dance"), ToolCall("load", {"saved": "{}"})):  # no tools of the agent
        assert world.step(call).result.text == f"error: there is no tool {call.tool!r}"
    observation = world.step(ToolCall("switch", {"name": "moon"}))
    assert observation.result.text == "error: there is no lamp moon" and observation.result.refused
    assert observation.state["hall"]


def test_a_call_that_cannot_be_read_does_not_reach_the_server(lamps):
    world = lamps()
    state = world.reset(0).state
    unread = ToolCall("switch", {"name": "hall"}, error="it cannot be read")
    observation = world.step(unread)
    assert observation.result.text == "error: it cannot be read" and observation.result.refused
    assert observation.state == state


def test_a_tool_that_claims_to_read_and_writes_is_an_error(lamps):
    world = lamps(ControlTools("save", "load"))
    world.reset(0)
    with pytest.raises(SimulatorError, match=r"peek\(\) changed the state, .* only reads"):
        world.step(ToolCall("peek"))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("die", r"at switch: .* \(its last line on stderr: out of memory\); fix it, and resume"),
        ("hang", r"did not answer \w+ within 0\.2 s; raise `timeout`, and resume the run"),
        ("garbage", r"printed 'switching\.\.\.'\); let it print to stderr, and resume the run"),
    ],
)
def test_a_run_with_a_bad_server_ends_with_one_line_and_can_be_resumed(
    lamps, tmp_path, how, message
):
    flag = tmp_path / "how"
    world = lamps(SAVES, flag)
    problem, folder = lamp_problem(world), tmp_path / "run"
    capscope.assess(problem, run=folder, budget=Budget(executions=4))
    flag.write_text(how)
    world._server._timeout = 0.2 if how == "hang" else 30.0
    bad = process_of(world)
    with pytest.raises(SimulatorError, match=message) as raised:
        capscope.resume(folder, problem=problem, budget=Budget(executions=12))
    assert "\n" not in str(raised.value)
    assert not runs(bad)
    flag.unlink()
    run = capscope.resume(folder, problem=problem, budget=Budget(executions=12))
    whole = capscope.assess(problem, run=tmp_path / "whole", budget=Budget(executions=12))
    assert run.usage.executions == 12
    assert run.graph.nodes.keys() == whole.graph.nodes.keys()


def test_a_server_that_does_not_start_is_explained(lamps, tmp_path):
    with pytest.raises(ProblemError, match="the MCP server no-such-command cannot be started"):
        McpWorld(["no-such-command"], read="look")
    (tmp_path / "how").write_text("banner")
    with pytest.raises(ProblemError, match=r"at initialize: .* printed 'Welcome!'"):
        lamps(SAVES, tmp_path / "how")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"read": "stare"}, "has no tool stare; it has look, peek, switch"),
        ({"read": None}, "needs a command as a list"),
        ({"read": "look", "control": ControlTools(seed="reset")}, "must take one argument, not 0"),
    ],
)
def test_a_world_that_the_server_does_not_fit_is_refused(given, message):
    with pytest.raises(ProblemError, match=message):
        McpWorld(LAMPS, **given)
    with pytest.raises(ProblemError, match="both snapshot and restore"):
        ControlTools(snapshot="save")


def test_a_replay_that_leads_elsewhere_is_noticed(lamps):
    world = lamps(ControlTools(reset="reset", hidden=("peek", "process", "save", "load", "seed")))
    world.reset(0)
    snapshot = world.snapshot()
    # As if the server kept data across resets.
    world._control = ControlTools(reset="look")
    world.step(ToolCall("switch", {"name": "hall"}))
    with pytest.raises(SimulatorError, match=r"is in another state .* the same data"):
        world.restore(snapshot, 0)


def test_no_server_outlives_the_program():
    program = (
        "import sys; from capscope.adapters.mcp import McpWorld;"
        f"world = McpWorld({LAMPS!r}, read='look'); print(world._ask('process', {{}}).text)"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert not runs(int(result.stdout))
    assert result.stderr == ""


def test_a_vocabulary_is_suggested_from_what_is_read(lamps):
    lines = "\n".join(suggested_lines(lamps(), calls=40))
    assert "\"hall\": lambda state: state['hall'],  # hall: False, True" in lines


def test_the_example_with_the_official_server_shows_its_bug(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "examples"), *sys.path])
    spec = importlib.util.spec_from_file_location("mcp_mail", ROOT / "examples/mcp_mail.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    problem = module.problem
    assert set(module.world.tools) == {"list_mail", "archive", "delete"}
    start = problem.simulator.reset(0)
    first = problem.simulator.snapshot()
    gone = []
    for seed in range(30):
        observation = problem.simulator.restore(first, seed)
        assert observation.state == start.state
        position = Position(observation, problem.abstraction(observation))
        _, end = pursue(problem, Intent.parse("archived(alice)"), position, seed)
        holding = set(map(str, problem.vocabulary.holding(end.state)))
        assert "archived(alice)" in holding
        gone.append(any(atom.startswith("deleted") for atom in holding))
    assert 0 < sum(gone) < 30
    module.world.close()
