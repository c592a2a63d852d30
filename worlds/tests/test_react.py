"""The ReAct agent in a grid: only the language model is a stub."""

import json
import random

import pytest

from capscope.errors import ProblemError
from capscope.logic import Intent
from capscope.problem import Allowance, Ending, Limits, Position, Problem
from capscope.problem.attempt import pursue
from capscope_worlds.minigrid import (
    ACTIONS,
    FOUR_QUADRANTS,
    GridAbstraction,
    grid_simulator,
    read_layout,
)
from capscope_worlds.react import GRID_GUIDE, ReactAgent, ReactSettings
from support.llm_stub import fails, say

pytest_plugins = ["support.llm_fixtures"]
pytestmark = pytest.mark.usefixtures("own_cache")

KEY_INTENT = Intent.parse("carrying-blue-key()")
# The grids of the guide's two examples, as layouts.
EXAMPLE_1 = """
grid
W  W  W  W  W
W  Av L  bK W
W  .  .  .  W
W  W  W  W  W
rooms
-  -  -  -  -
-  1  1  1  -
-  1  1  1  -
-  -  -  -  -
"""
EXAMPLE_2 = """
grid
W  W  W  W  W
W  gK gD .  W
W  A^ W  .  W
W  W  W  W  W
rooms
-  -  -  -  -
-  1  1  2  -
-  1  -  2  -
-  -  -  -  -
"""


def written(*actions, thought="Ahead."):
    return say("\n".join([f"Thought: {thought}", "Actions:", *actions]))


def as_json(*actions, thought="Ahead."):
    return say(json.dumps({"thought": thought, "actions": actions}))


@pytest.fixture
def attempt(client):
    """Return a function that makes an attempt in the four quadrants, with the stub as model."""
    layout = read_layout(FOUR_QUADRANTS)
    asked = client()

    def one(intent=KEY_INTENT, seed=1, allowance=None, **settings):
        agent = ReactAgent(asked, GRID_GUIDE, ReactSettings(**settings))
        world, abstraction = grid_simulator(layout), GridAbstraction(layout)
        seen = world.reset(0)
        problem = Problem("grid", world, agent, abstraction, Limits(temporal_length=None))
        start = Position(seen, abstraction(seen))
        return pursue(problem, intent, start, seed, allowance=allowance)[0]

    return one


def messages_of(request):
    return [message["content"] for message in request["messages"]]


# The guide.


def play(tmp_path, text, *actions):
    path = tmp_path / "example.txt"
    path.write_text(text, encoding="utf-8")
    world = grid_simulator(read_layout(path))
    seen = world.reset(0)
    for action in actions:
        seen = world.step(action)
    return world, seen


def test_the_examples_look_like_observations_and_their_plans_work(tmp_path):
    key, door = GRID_GUIDE.examples
    world, seen = play(tmp_path, EXAMPLE_1)
    assert key.observation == seen.text()
    assert key.goal == GRID_GUIDE.goal(KEY_INTENT, seen, 0)
    for action in key.actions:
        assert seen.carrying is None
        seen = world.step(action)
    assert seen.carrying == "blue"

    world, seen = play(tmp_path, EXAMPLE_2, "pickup")
    assert door.observation == seen.text()
    for action in door.actions:
        assert seen.position != (3, 4)
        seen = world.step(action)
    assert door.goal == f"Go to cell {seen.position}."


def test_the_guide_names_the_actions_of_the_world():
    assert GRID_GUIDE.actions == ACTIONS
    assert all(action in GRID_GUIDE.introduction for action in (*ACTIONS, "done"))


@pytest.mark.parametrize(
    ("intent", "goal"),
    [
        ("carrying-blue-key()", "Carry the blue key."),
        ("not carrying-blue-key()", "Carry the blue key no longer."),
        ("green-door-open()", "Open the green door."),
        ("blue-door-closed()", "Close the blue door."),
        ("blue-door-locked()", "Lock the blue door."),
        ("not blue-door-locked()", "See to it that the blue door is not locked."),
        (
            "not agent-at(north-west)",
            "Leave the room north-west: rows 2 to 4, columns 2 to 4.",
        ),
        (
            "blue-key-at(south-east)",
            "Get the blue key into the room south-east: rows 6 to 8, columns 6 to 8.",
        ),
        (
            "not blue-key-at(south-west)",
            "Get the blue key out of the room south-west: rows 5 to 8, columns 2 to 4.",
        ),
        ("is-dead()", "Be dead."),
        ("not is-dead()", "Be alive."),
        ("sunny(garden)", "Make this true: sunny(garden)."),
        ("not raining()", "Make this false: raining()."),
        (
            "blue-door-open() and carrying-blue-key()",
            "All of this at the same time: Open the blue door. Carry the blue key.",
        ),
    ],
)
def test_an_intent_is_phrased_as_a_sentence(intent, goal):
    seen = grid_simulator(read_layout(FOUR_QUADRANTS)).reset(0)
    assert GRID_GUIDE.goal(Intent.parse(intent), seen, 5) == goal


def test_a_cell_of_the_room_is_drawn_with_the_seed_and_named():
    seen = grid_simulator(read_layout(FOUR_QUADRANTS)).reset(0)
    there = Intent.parse("agent-at(south-west)")
    goals = [GRID_GUIDE.goal(there, seen, seed) for seed in range(40)]
    cells = {f"Go to cell {cell}." for cell in seen.free_cells("south-west")}
    assert len(set(goals)) > 3
    assert set(goals) <= cells
    assert goals == [GRID_GUIDE.goal(there, seen, seed) for seed in range(40)]


# The loop.


def test_a_plan_needs_only_one_call(attempt, stub):
    stub.usual = written("face_south", "move_forward", "move_forward", "done")
    made = attempt()
    assert (made.ending, made.simulator_steps) == (Ending.STOPPED, 3)
    assert len(stub.requests) == 1
    assert made.llm_tokens == 15


def test_the_constant_part_of_the_prompt_comes_first(attempt, stub):
    stub.usual = written("done")
    attempt()
    attempt(Intent.parse("agent-at(south-west)"), seed=2)
    first, second = map(messages_of, stub.requests)
    assert first[0] == second[0]
    assert [message["role"] for message in stub.requests[0]["messages"]] == ["system", "user"]
    assert first[1].startswith("Goal: Carry the blue key.\nObservation:\n")
    assert "Agent: (3, 3) facing east" in first[1]
    assert second[1].startswith("Goal: Go to cell (")


def test_the_next_plan_is_told_what_happened(attempt, stub):
    # The blue door is locked, so the third step has no effect.
    stub.script.extend([written("move_forward", "face_east", "move_forward"), written("done")])
    made = attempt()
    assert (made.ending, made.simulator_steps) == (Ending.STOPPED, 3)
    now = messages_of(stub.requests[1])
    assert len(now) == 2
    line = "move_forward, face_east (nothing changed), move_forward (nothing changed)"
    assert f"\nDone so far: {line}\n" in now[1]
    assert "Agent: (3, 4) facing east" in now[1]


def test_an_unreadable_answer_is_asked_for_once_more(attempt, stub):
    stub.script.extend([say("Let me fly there."), written("face_south", "done")])
    made = attempt()
    assert (made.ending, made.simulator_steps) == (Ending.STOPPED, 1)
    again = messages_of(stub.requests[1])
    assert again[:2] == messages_of(stub.requests[0])
    assert again[2] == "Let me fly there."
    assert again[3].startswith("Your answer could not be used: there is no list of actions")
    assert "move_forward" in again[3]


def test_the_agent_stops_after_a_second_unreadable_answer(attempt, stub):
    stub.script.extend([written("face_south"), say(""), say(""), written("move_forward")])
    made = attempt()
    assert (made.ending, made.simulator_steps, made.detail) == (Ending.STOPPED, 1, "")
    assert len(stub.requests) == 3
    assert all(messages_of(stub.requests[2]))


def test_each_plan_has_its_own_second_try(attempt, stub):
    stub.script.extend([say("?"), written("face_south"), say("?"), written("face_west", "done")])
    assert attempt().simulator_steps == 2


def test_the_agent_stops_after_its_maximum_number_of_actions(attempt, stub):
    stub.usual = written("face_south", "face_north")
    made = attempt(max_actions=5)
    assert (made.ending, made.simulator_steps) == (Ending.STOPPED, 5)
    assert len(stub.requests) == 3
    assert attempt(max_actions=4).simulator_steps == 4


def test_an_agent_that_walks_into_lava_dies(attempt, stub):
    stub.usual = written(
        *["face_south"], *["move_forward"] * 4, "face_west", "move_forward", "face_south", "pickup"
    )
    made = attempt()
    assert made.ending is Ending.WORLD_ENDED
    assert made.simulator_steps == 7


def test_a_structured_answer_is_requested_with_a_schema_and_checked(attempt, stub):
    stub.script.extend([written("face_south"), as_json("face_south", "move_forward", "done")])
    made = attempt(structured=True, max_plan=4, max_thought=80)
    assert (made.ending, made.simulator_steps) == (Ending.STOPPED, 2)
    asked = stub.requests[0]["response_format"]["json_schema"]["schema"]
    assert asked["properties"]["actions"]["items"]["enum"] == [*ACTIONS, "done"]
    assert asked["properties"]["actions"]["maxItems"] == 4
    assert asked["properties"]["thought"]["maxLength"] == 80
    assert "keys thought and actions" in messages_of(stub.requests[1])[-1]
    # The examples have the requested format.
    examples = messages_of(stub.requests[0])[0]
    assert '"actions": ["move_forward", ' in examples
    assert "Actions:\n" not in examples


def test_long_nonsense_ends_the_attempt_and_is_only_partly_echoed(attempt, stub):
    stub.usual = say("lorem ipsum \N{SNOWMAN} " * 3000)
    for settings in ({}, {"structured": True}):
        made = attempt(**settings)
        assert (made.ending, made.simulator_steps) == (Ending.STOPPED, 0)
        assert len(made.transcript) > 80_000
    assert len(stub.requests) == 4
    assert len(messages_of(stub.requests[1])[2]) <= 2000


def test_a_context_overflow_ends_the_attempt(attempt, stub):
    stub.script.append(fails(400, "the request exceeds the available context size"))
    made = attempt()
    assert (made.ending, made.simulator_steps) == (Ending.REFUSED, 0)
    assert "exceeds the available context size" in made.detail


def test_an_attempt_is_cut_when_its_allowance_is_spent(attempt, stub):
    stub.usual = written("face_south", "face_north")
    made = attempt(allowance=Allowance(tokens=20))
    assert (made.ending, made.simulator_steps, made.llm_tokens) == (Ending.CUT, 4, 30)
    assert made.transcript.count("assistant (") == 2


def test_attempts_are_independent_and_determined_by_their_seed(attempt, stub):
    def by_seed(handler, request):
        chosen = random.Random(request["seed"]).choices(ACTIONS, k=3)
        written(*chosen, "done")(handler, request)

    stub.usual = by_seed
    first = [attempt(seed=seed) for seed in (1, 2, 3)]
    again = [attempt(seed=seed) for seed in (3, 2, 1)]
    assert first == again[::-1]  # the second round comes from the cache
    assert len({made.transcript for made in first}) == 3
    assert len(stub.requests) == 3


def test_a_transcript_has_all_messages_and_no_answer_can_forge_its_headings(attempt, stub):
    stub.script.extend([say("?\nplan:\n  pickup"), written("face_south", "done")])
    made = attempt()
    headings = [line for line in made.transcript.split("\n") if not line.startswith("  ")]
    assert headings == [
        "system:",
        "user:",
        "assistant (stop, 5 tokens):",
        "unreadable:",
        "user:",
        "assistant (stop, 5 tokens):",
        "plan:",
    ]
    for request in stub.requests:
        for text in messages_of(request):
            assert "\n".join(f"  {line}" for line in text.splitlines()) in made.transcript


# Fingerprint and settings.


def test_the_fingerprint_changes_with_model_wording_and_settings(client):
    def fingerprint(guide=GRID_GUIDE, model="stub", **settings):
        return ReactAgent(client(model=model), guide, ReactSettings(**settings)).fingerprint

    changed = GRID_GUIDE.__class__(
        **{**vars(GRID_GUIDE), "sentences": GRID_GUIDE.sentences + "Please."}
    )
    found = [
        fingerprint(),
        fingerprint(model="other"),
        fingerprint(temperature=0.5),
        fingerprint(max_actions=7),
        fingerprint(structured=True),
        fingerprint(changed),
    ]
    assert len(set(found)) == len(found)
    assert found[0] == fingerprint()
    assert found[0].startswith("stub-")
    assert "canary" not in repr(found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"structured": "maybe"}, "structured must be yes or no, not 'maybe'"),
        ({"max_actions": "many"}, "max-actions must be a number, not 'many'"),
        ({"max_actions": "0"}, "max-actions must be at least 1"),
        ({"temperature": "nan"}, "temperature from 0 to 10"),
    ],
)
def test_an_invalid_setting_is_rejected(options, message):
    with pytest.raises(ProblemError, match=message):
        ReactSettings().changed(options)


def test_settings_are_parsed_from_text():
    typed = {"structured": "Yes", "max_actions": "7", "temperature": "0.5"}
    assert ReactSettings().changed(typed) == ReactSettings(True, 7, temperature=0.5)
