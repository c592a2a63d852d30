import re

import pytest

from capscope.errors import ProblemError
from capscope_worlds.minigrid import (
    FOUR_QUADRANTS,
    Cell,
    DoorState,
    grid_vocabulary,
    read_layout,
)

SMALL = """\
# A corridor with a door.
grid
W  W  W  W  W
W  A> rC yK W   # the way east
W  W  W  W  W
rooms
-  -  -  -  -
-  1  1  2  -
-  -  -  -  -
names
1 left
2 right
"""


@pytest.fixture
def written(tmp_path):
    """Write a layout and read it."""

    def read(text):
        path = tmp_path / "small.txt"
        path.write_text(text, encoding="utf-8")
        return read_layout(path)

    return read


def test_a_layout_is_read_as_it_is_drawn(written):
    layout = written(SMALL)
    assert (layout.name, layout.height, layout.width) == ("small", 3, 5)
    assert (layout.start, layout.facing) == (Cell(2, 2), "east")
    assert layout.rooms == ("left", "right")
    assert layout.room_of == {Cell(2, 2): "left", Cell(2, 3): "left", Cell(2, 4): "right"}
    assert [(d.colour, d.cell, d.state) for d in layout.doors] == [
        ("red", Cell(2, 3), DoorState.CLOSED)
    ]
    assert [(k.colour, k.cell) for k in layout.keys] == [("yellow", Cell(2, 4))]
    assert layout.floor_of == {"left": (Cell(2, 2),), "right": (Cell(2, 4),)}


def test_the_vocabulary_follows_from_the_layout(written):
    names = [str(atom) for atom in grid_vocabulary(written(SMALL)).atoms]
    assert names == [
        "agent-at(left)",
        "agent-at(right)",
        "yellow-key-at(left)",
        "yellow-key-at(right)",
        "carrying-yellow-key()",
        "red-door-open()",
        "red-door-closed()",
        "red-door-locked()",
    ]
    with_lava = SMALL.replace("A> rC yK", "A> L  yK")
    assert "is-dead()" in map(str, grid_vocabulary(written(with_lava)).atoms)


def test_a_room_without_a_name_has_its_word_as_name(written):
    layout = written(SMALL.replace("2 right", ""))
    assert layout.rooms == ("left", "2")


def test_the_fingerprint_depends_on_content_and_not_on_the_file(written, tmp_path):
    layout = written(SMALL)
    other = tmp_path / "other.txt"
    other.write_text(SMALL.replace("# A corridor with a door.", "\n\n"), encoding="utf-8")
    assert read_layout(other).fingerprint == layout.fingerprint
    assert written(SMALL.replace("A>", "A^")).fingerprint != layout.fingerprint


def test_the_four_quadrants_layout_is_that_of_the_paper():
    layout = read_layout(FOUR_QUADRANTS)
    assert (layout.height, layout.width) == (9, 9)
    assert set(layout.rooms) == {"north-west", "north-east", "south-west", "south-east"}
    assert layout.room_of[layout.start] == "north-west"
    assert [layout.room_of[key.cell] for key in layout.keys if key.colour == "blue"] == [
        "south-west"
    ]
    assert {layout.room_of[cell] for cell in layout.lava} == {"south-west"}
    assert {(d.colour, d.state) for d in layout.doors} == {("blue", "locked"), ("green", "locked")}
    rooms = list(layout.room_of.values())
    assert all(rooms.count(room) == 10 for room in layout.rooms)
    for near, far in (
        ("north-west", "north-east"),
        ("north-west", "south-west"),
        ("south-east", "north-east"),
        ("south-east", "south-west"),
    ):
        assert len(passages(layout, near, far)) == 1
    assert not passages(layout, "north-west", "south-east")
    assert not passages(layout, "north-east", "south-west")


def passages(layout, near, far):
    """List the pairs of cells by which one gets from one room to the other."""
    return [
        (cell, beside)
        for cell, room in layout.room_of.items()
        for beside in (Cell(cell.row + 1, cell.column), Cell(cell.row, cell.column + 1))
        if {room, layout.room_of.get(beside)} == {near, far}
    ]


@pytest.mark.parametrize(
    ("change", "place", "message"),
    [
        (("rC", "xC"), "4:7", "unknown cell 'xC'; write one of W . L"),
        (("rC", "r"), "4:7", "unknown cell 'r'"),
        (("rC", "A<"), "4:7", "a second agent; keep the one at (2, 2)"),
        (("A>", "."), "3:1", "the grid has no agent"),
        (("rC", "yK"), "4:10", "a second yellow key, after the one at (2, 3)"),
        (("A> rC yK W", "A> rC yK"), "4:10", "this row has 4 cells and the first has 5"),
        (("A> rC yK W", "A> rC yK L"), "4:13", "L is on the border; surround the grid with walls"),
        (("-  1  1  2  -", "-  1  -  2  -"), "8:7", "the grid has no wall here, rooms has -"),
        (("-  1  1  2  -", "-  1  1  2  1"), "8:13", "the grid has a wall here, rooms has 1"),
        (("-  1  1  2  -", "-  1  1  2"), "8:10", "this row has 4 cells and the grid's have 5"),
        (("-  1  1  2  -\n", ""), "8:1", "rooms has 2 rows and the grid has 3"),
        (("2 right", "3 right"), "12:1", "no room '3'; rooms has 1, 2"),
        (("2 right", "2 left"), "12:1", "2 left repeats a room or name"),
        (("2 right", "2 far right"), "12:7", "3 words; write the room's word and its name"),
        (("2 right", "2 (right)"), "12:3", "'(right)' is not a name"),
        (("grid\n", "W\ngrid\n"), "2:1", "'W' before any section; begin with the line: grid"),
        (("names", "rooms"), "10:1", "a second 'rooms'"),
        ((SMALL[SMALL.index("rooms") :], ""), "5:1", "there is no rooms"),
        ((SMALL, ""), "1:1", "there is no grid"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_column(change, place, message, written):
    text = SMALL.replace(*change, 1)
    with pytest.raises(ProblemError, match=re.escape(f"small.txt:{place}: {message}")):
        written(text)


def test_a_word_that_names_a_room_must_be_a_unique_name(written):
    unnamed = SMALL.replace("2 right\n", "")
    with pytest.raises(ProblemError, match=r"small\.txt:8:10: '2\)' is not a name"):
        written(unnamed.replace("1  1  2", "1  1  2)"))
    with pytest.raises(ProblemError, match=r"small\.txt:8:4: two rooms are named 2"):
        written(unnamed.replace("1 left", "1 2"))


def test_a_grid_too_small_or_too_large_is_refused(written):
    with pytest.raises(ProblemError, match="the grid is 2 by 3 cells; use 3 to 200"):
        written("grid\nW W W\nW A> W\nrooms\n- - -\n- 1 -\n")
    wide = "W " * 201
    with pytest.raises(ProblemError, match="the grid is 3 by 201 cells"):
        written(f"grid\n{wide}\n{wide}\n{wide}\nrooms\n-\n")


def test_a_file_that_cannot_be_read_is_a_problem_error(tmp_path):
    with pytest.raises(ProblemError, match=r"absent\.txt cannot be read as text"):
        read_layout(tmp_path / "absent.txt")
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(ProblemError, match="cannot be read as text"):
        read_layout(tmp_path / "binary.txt")
