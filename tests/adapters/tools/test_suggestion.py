from pathlib import Path

import pytest

from capscope.adapters.tools import ToolWorld, values
from capscope.adapters.tools.suggestion import changed_paths, suggested_lines, world_of
from capscope.errors import ProblemError

pytest.importorskip("pydantic")
EXAMPLE = f"{Path(__file__).parents[3] / 'examples' / 'mail_tools.py'}"


def test_paths_of_several_objects_are_one_predicate(capscope):
    shown = capscope("suggest", f"{EXAMPLE}:problem").out
    assert '"archived(mail)": lambda state, mail: state.mails[int(mail)].archived,' in shown
    assert '"deleted(mail)"' in shown and "starred" not in shown
    assert "'mail': ['0', '1', '2', '3', '4', '5']" in shown


def test_values_become_an_argument_unless_there_are_many():
    def move(state, place: str, steps: int) -> None:
        """Move."""
        state["robot"]["place"] = place
        state["robot"]["odometer"] += steps

    world = ToolWorld(
        {"robot": {"place": "dock", "odometer": 0}, "places": ["dock", "yard"]},
        [move],
        {"place": values("places.*"), "steps": range(1, 30)},
    )
    by_path = {".".join(one.pattern): one for one in changed_paths(world)}
    assert by_path["robot.place"].predicate == "robot-place(place-value)"
    assert by_path["robot.odometer"].predicate is None
    lines = list(suggested_lines(world))
    assert any("has many values" in line for line in lines)
    assert lines[-1] == "objects = {'place-value': ['dock', 'yard']}"
    predicate = eval(by_path["robot.place"].function)
    assert predicate({"robot": {"place": "yard"}}, "yard")


def test_a_world_whose_tools_cannot_be_called_is_explained():
    def name(state, new: str) -> None:
        """Name it."""

    (line,) = suggested_lines(ToolWorld({"name": ""}, [name]))
    assert "give values for the parameters" in line


def test_only_tool_worlds_are_taken():
    with pytest.raises(ProblemError, match=r"x\.py:y is a int, and no tool world"):
        world_of(3, "x.py:y")
