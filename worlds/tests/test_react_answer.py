"""Which answers are plans, which are not, and that reading takes linear time."""

import json

import pytest

from capscope_worlds.react.answer import (
    ActionPlan,
    UnreadableAnswer,
    read_plan,
    read_structured,
    schema,
)

ACTIONS = ("face_east", "face_north", "move_forward", "pickup")
EAST = ActionPlan(("face_east", "move_forward"), ends=False)


def read(text, most=10):
    return read_plan(text, ACTIONS, most)


@pytest.mark.parametrize(
    "text",
    [
        "Thought: east.\nActions:\nface_east\nmove_forward",
        "Thought: east.\n\nActions:\n\nface_east\nmove_forward\n",
        "Thought: east.\r\nActions:\r\nface_east\r\nmove_forward\r\n",
        "**Thought:** east.\n\n**Actions:**\n- face_east\n- move_forward",
        "### Thought\neast\n### Actions\n1. `face_east`\n2. `move_forward`",
        "Thought: east.\nActions:\n```\nface_east\nmove_forward\n```",
        "```text\nThought: east.\nActions:\nface_east\nmove_forward\n```\nGood luck!",
        "Thought: east.\nActions: face_east, move_forward",
        "Thought: east.\nACTIONS: Face East -> Move Forward.",
        "Thought: east.\nactions:\nFACE_EAST\nMove-Forward",
        "Thought: east.\nActions:\n(1) face_east (I now face east)\n(2) move_forward: to (3, 4)",
        "Thought: east.\nActions:\nface_east # turn\nmove_forward - to the key",
        "Thought: east.\nActions:\nface_east\nmove_forward\n\nThis brings me to (3, 4).",
        "Actions:\nface_east\nmove_forward\nObservation:\n  1 2 3\nActions:\npickup",
        "I must take actions now.\nActions:\n* face_east\n* move_forward",
        "face_east\nmove_forward",
    ],
)
def test_a_plan_is_found_despite_decoration(text):
    assert read(text) == EAST


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no list"),
        ("   \n\n", "no list"),
        ("I am sorry, I cannot do that.", "no list"),
        ("Thought: east.\nface_east\nmove_forward", "no list"),
        ("Thought: east.\nActions:", "no list"),
        ("Thought: east.\nActions:\n\nNone are needed.", "'none_are_needed' is no action"),
        ("Thought: east.\nActions:\nface_east\nfly_home\nmove_forward", "'fly_home' is no action"),
        ("Thought: east.\nActions:\nface_east and move_forward", "is no action"),
        ("Thought: east.\nActions:\nmove_forward (3 times)", "is no action"),
        ("Thought: east.\nActions:\nmove_forward x2", "'move_forward_x2' is no action"),
        ("Thought: east.\nActions:\nmove_for", "'move_for' is no action"),
        ("Thought: I should\nI should\nI should", "no list"),
        (json.dumps({"thought": "east", "actions": ["face_east"]}), "no list"),
        ("\x1b[2J\x00", "no list"),
    ],
)
def test_an_answer_without_a_plan_is_unreadable_with_a_reason(text, reason):
    answer = read(text)
    assert isinstance(answer, UnreadableAnswer)
    assert reason in answer.reason


def test_done_ends_a_plan_and_later_actions_are_ignored():
    assert read("Actions:\nDone.") == ActionPlan((), ends=True)
    assert read("Actions:\npickup\ndone\nface_east") == ActionPlan(("pickup",), ends=True)


def test_only_the_first_actions_of_a_long_plan_are_taken():
    text = "Actions:\n" + "move_forward\n" * 9 + "done"
    assert read(text, most=9) == ActionPlan(("move_forward",) * 9, ends=True)
    # The rest will be planned again, so the plan does not end.
    assert read(text, most=4) == ActionPlan(("move_forward",) * 4, ends=False)


@pytest.mark.parametrize(
    "nonsense",
    [
        "lorem ipsum ☃ ",
        " ",
        "#*_> ",
        "\t\n ",
        "(",
        "x 1",
        "actions",
        "->",
        "1.",
        "[[{",
        "Actions:\n",
    ],
)
def test_nonsense_is_read_in_linear_time(nonsense):
    # Quadratic time would take minutes for these 40 kB.
    text = nonsense * (40_000 // len(nonsense))
    for answer in (text, f"Actions:\na{text}b", f"Thought: {text}\nActions:\nface_east{text}"):
        read(answer)
        assert isinstance(read_structured(answer, ACTIONS, 10), UnreadableAnswer)
    assert isinstance(read(text), UnreadableAnswer)


def test_a_structured_answer_is_read():
    text = json.dumps({"thought": "east", "actions": ["face_east", "move_forward"]})
    assert read_structured(text, ACTIONS, 10) == EAST
    assert read_structured(f"```json\n{text}\n```\n", ACTIONS, 10) == EAST
    assert read_structured('{"thought": "", "actions": ["done"]}', ACTIONS, 1) == ActionPlan(
        (), True
    )
    odd = '{"thought": "one\u2028two", "actions": ["done"]}'
    assert read_structured(odd, ACTIONS, 1) == ActionPlan((), True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "face_east",
        "Thought: east.\nActions:\nface_east",
        '{"thought": "east", "actions": ["face_east"',
        '["face_east"]',
        "null",
        '{"actions": ["face_east"]}',
        '{"thought": "east", "actions": []}',
        '{"thought": "east", "actions": ["fly_home"]}',
        '{"thought": "east", "actions": ["Face East"]}',
        '{"thought": "east", "actions": [1]}',
        '{"thought": "east", "actions": [["face_east"]]}',
        '{"thought": "east", "actions": "face_east"}',
        '{"thought": 5, "actions": ["face_east"]}',
        '{"thought": "east", "actions": ["face_east"], "mood": "good"}',
        '{"thought": "east", "actions": ["face_east", "pickup", "pickup", "pickup"]}',
        "[" * 50_000,
        '{"thought": "", "actions": [' + "9" * 6000 + "]}",
    ],
)
def test_an_answer_that_violates_the_schema_is_unreadable(text):
    assert isinstance(read_structured(text, ACTIONS, 3), UnreadableAnswer)


def test_the_schema_allows_exactly_what_is_accepted():
    asked = schema(ACTIONS, 7, max_thought=50)
    actions = asked["properties"]["actions"]
    assert actions["items"]["enum"] == [*ACTIONS, "done"]
    assert (actions["minItems"], actions["maxItems"]) == (1, 7)
    assert asked["properties"]["thought"] == {"type": "string", "maxLength": 50}
    assert asked["required"] == list(asked["properties"])
    assert schema(ACTIONS, 7)["properties"]["thought"] == {"type": "string"}
