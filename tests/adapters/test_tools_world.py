import enum
import random
from typing import Literal

import pytest

from capscope.adapters.tools.problem import StateAbstraction
from capscope.adapters.tools.state import values
from capscope.adapters.tools.tool import tool_of
from capscope.adapters.tools.world import ToolWorld
from capscope.errors import ProblemError
from capscope.problem.tool_calls import ToolCall

pytest.importorskip("pydantic")


def put(box, item: str, count: int = 1) -> str:
    """Put something into the box.

    Args:
        item: what to put
        count: how many
    """
    if item in box["forbidden"]:
        box["items"].append("half of it")
        raise ValueError(f"{item} is forbidden")
    box["items"] += [item] * count
    return f"{len(box['items'])} things"


def toss(box, rng: random.Random) -> None:
    """Toss a coin."""
    box["items"].append("heads" if rng.random() < 0.5 else "tails")


def stamp(box) -> dict[str, int]:
    """Note the time."""
    box["time"] += 1
    return {"time": box["time"]}


def world(**options):
    start = {"items": [], "forbidden": ["fire"], "time": 0}
    return ToolWorld(start, [put, toss, stamp], {"item": ["hat", "fire"]}, **options)


def test_a_call_changes_the_state_and_returns_text():
    box = world()
    box.reset(0)
    seen = box.step(ToolCall("put", {"item": "hat", "count": 2}))
    assert (seen.result.text, seen.result.refused) == ("2 things", False)
    assert seen.state["items"] == ["hat", "hat"]
    assert box.step(ToolCall("stamp")).result.text == '{"time":1}'
    assert box.step(ToolCall("toss")).result.text == "done"


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (ToolCall("put", {"item": "fire"}), "error: fire is forbidden"),
        (ToolCall("put", {}), "error: item: Field required"),
        (ToolCall("put", {"item": "hat", "color": "red"}), "error: color: Extra inputs"),
        (ToolCall("put", {"item": "hat", "count": "many"}), "error: count: Input should be"),
        (ToolCall("burn", {}), "error: there is no tool 'burn'"),
        (ToolCall("toss", error="it cannot be read"), "error: it cannot be read"),
    ],
)
def test_a_refused_call_is_an_observation_and_changes_nothing(call, says):
    box = world()
    box.reset(0)
    before = box.snapshot()
    seen = box.step(call)
    assert seen.result.refused and seen.result.text.startswith(says)
    assert seen.state["items"] == [] and box.snapshot() == before


def test_a_restore_restores_everything_and_seeds_the_generator():
    box = world()
    box.reset(0)
    box.step(ToolCall("put", {"item": "hat"}))
    snapshot = box.snapshot()

    def tosses(seed):
        box.restore(snapshot, seed)
        for _ in range(12):
            box.step(ToolCall("toss"))
        return box.state["items"]

    assert tosses(1) == tosses(1) != tosses(2)
    assert box.restore(snapshot, 3).state["items"] == ["hat"]


def test_the_first_state_is_never_modified():
    start = {"items": [], "forbidden": [], "time": 0}
    box = ToolWorld(start, [put])
    box.step(ToolCall("put", {"item": "hat"}))
    assert start["items"] == [] == box.reset(0).state["items"]


def test_a_large_state_is_compressed_and_restored_from_a_cache():
    start = {"items": [], "forbidden": [], "time": 0, "text": ["x" * 100] * 1000}
    box = ToolWorld(start, [put])
    box.step(ToolCall("put", {"item": "hat"}))
    snapshot = box.snapshot()
    assert len(snapshot) < 1000
    other = ToolWorld(start, [put])
    for seed in range(3):  # read from the text once, from the cache later
        assert other.restore(snapshot, seed).state == box.state
        other.step(ToolCall("put", {"item": "shoe"}))


def test_paths_that_are_ignored_do_not_distinguish_positions():
    box = world(ignore=["time"])
    box.reset(0)
    before = box.position_name()
    box.step(ToolCall("stamp"))
    assert box.position_name() == before and box.state["time"] == 1
    assert not any("time" in name for name in box.inspect().parts)
    box.step(ToolCall("put", {"item": "hat"}))
    assert box.position_name() != before


def test_a_start_may_be_drawn():
    box = ToolWorld(lambda rng: {"items": [rng.choice("abc")], "forbidden": []}, [put])
    drawn = {box.reset(seed).state["items"][0] for seed in range(20)}
    assert drawn == set("abc")
    assert box.reset(4).state == box.reset(4).state


def test_random_walks_use_values_the_schema_and_defaults():
    class Size(enum.Enum):
        S = "s"
        M = "m"

    def order(box, item: str, size: Size, gift: bool, way: Literal["air", "sea"] = "air"):
        """Order."""

    box = ToolWorld({"shop": ["hat", "cap"]}, [order], {"item": values("shop.*")})
    calls = list(box.actions())
    assert len(calls) == len(set(map(str, calls))) == 2 * 2 * 2 * 2
    assert all(not box.step(call).result.refused for call in calls)


def test_a_tool_without_values_is_noted_and_a_wrong_name_is_an_error():
    box = ToolWorld({"items": [], "forbidden": []}, [put])
    assert list(box.actions()) == []
    assert box.actions(), "an agent may always call something"
    assert any("random walks do not call put: give values for item" in n for n in box.notes())
    with pytest.raises(ProblemError, match="which no tool takes; parameters are count, item"):
        ToolWorld({}, [put], {"itme": ["hat"]})


def test_many_combinations_are_thinned_out_evenly():
    box = ToolWorld({}, [put], {"item": [f"i{i}" for i in range(100)], "count": range(100)})
    calls = list(box.actions())
    assert len(calls) == 60
    assert len({call.arguments["item"] for call in calls}) > 2
    assert len({call.arguments["count"] for call in calls}) > 30


def test_the_schema_comes_from_annotations_and_the_docstring():
    described = tool_of(put).as_openai()["function"]
    assert described["description"] == "Put something into the box."
    assert described["parameters"]["properties"] == {
        "item": {"type": "string", "description": "what to put"},
        "count": {"type": "integer", "description": "how many", "default": 1},
    }
    assert described["parameters"]["required"] == ["item"]
    assert "properties" not in tool_of(toss).schema or not tool_of(toss).schema["properties"]


def test_a_function_that_is_no_tool_is_refused_with_a_reason():
    def untyped(box, item):
        """Do it."""

    def anything(box, **rest):
        """Do it."""

    with pytest.raises(ProblemError, match="parameter item of tool untyped needs a type"):
        tool_of(untyped)
    with pytest.raises(ProblemError, match="name all others"):
        tool_of(anything)
    with pytest.raises(ProblemError, match="two tools have the same name"):
        ToolWorld({}, [put, put])


def test_predicates_are_functions_of_the_state_and_the_objects():
    abstraction = StateAbstraction(
        {"has(thing)": lambda box, thing: thing in box["items"], "empty": lambda b: not b["items"]},
        {"thing": ["hat", "cap"]},
    )
    box = world()
    assert [str(a) for a in abstraction.vocabulary.holding(abstraction(box.reset(0)))] == [
        "empty()"
    ]
    seen = box.step(ToolCall("put", {"item": "hat"}))
    assert [str(a) for a in abstraction.vocabulary.holding(abstraction(seen))] == ["has(hat)"]


def test_a_predicate_that_raises_is_named():
    abstraction = StateAbstraction({"has(thing)": lambda box, t: box["x"]}, {"thing": ["hat"]})
    with pytest.raises(ProblemError, match=r"predicate has raised KeyError: 'x' for has\(hat\)"):
        abstraction(world().reset(0))


@pytest.mark.parametrize("name", ["two words", "a,b", "", 3])
def test_a_name_that_no_atom_can_hold_is_refused(name):
    with pytest.raises(ProblemError, match="cannot name an object"):
        StateAbstraction({}, {"thing": [name]})
