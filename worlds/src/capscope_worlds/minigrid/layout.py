"""The fixed parts of a grid, read from a text file.

A file has two pictures of the same size and, optionally, longer names for the rooms. Cells are
separated by spaces; `#` starts a comment.

    grid                    W wall   . floor   L lava
    W  W  W  W  W           A> the agent, facing east (A^ north, Av south, A< west)
    W  A> W  bK W           bK blue key
    W  .  bD .  W           bD blue door, locked   bC closed   b= open
    W  W  W  W  W           colours: red, green, blue, purple, yellow
    rooms
    -  -  -  -  -           - wall; any other word is a room
    -  1  -  2  -
    -  1  1  2  -
    -  -  -  -  -
    names
    1 left                  without this line the room would be called 1
    2 right

A layout determines its vocabulary: its rooms are the objects, and each colour of a key or door
gives predicates. So there is at most one key and one door of a colour, and every cell that is not a
wall belongs to a room, doorways and lava included.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, NoReturn

from capscope.errors import ProblemError

FLOOR, WALL, LAVA = ".", "W", "L"
FACINGS = ("east", "south", "west", "north")
"""In minigrid's order: direction 0 is east."""
COLOURS = {"r": "red", "g": "green", "b": "blue", "p": "purple", "y": "yellow"}
POINTERS = {">": "east", "v": "south", "<": "west", "^": "north"}
_SECTIONS = ("grid", "rooms", "names")
_MAX_SIZE = 200  # rows or columns: a coordinate is one byte in a snapshot
_NO_ROOM = "-"
_WORD = re.compile(r"\S+")
_NAME = re.compile(r"\w[\w-]*")
_NAME_REMEDY = "use letters, digits and hyphens"
_UNIQUE_REMEDY = "give each room its own name"


class Cell(NamedTuple):
    """A place in the grid, counted from 1 at the top left corner.

    >>> print(Cell(2, 3))
    (2, 3)
    """

    row: int
    column: int

    def __str__(self) -> str:
        return f"({self.row}, {self.column})"


class DoorState(StrEnum):
    """The state of a door; exactly one of the three holds."""

    OPEN = "open"
    CLOSED = "closed"
    LOCKED = "locked"


_DOORS = {"D": DoorState.LOCKED, "C": DoorState.CLOSED, "=": DoorState.OPEN}


@dataclass(frozen=True, slots=True)
class Key:
    """A key and its initial cell."""

    colour: str
    cell: Cell


@dataclass(frozen=True, slots=True)
class Door:
    """A door and its initial state."""

    colour: str
    cell: Cell
    state: DoorState


@dataclass(frozen=True)
class Layout:
    """A grid in its initial state."""

    name: str
    terrain: tuple[tuple[str, ...], ...]
    """Rows of `FLOOR`, `WALL` and `LAVA`; keys, doors and the agent are on floor."""
    room_rows: tuple[tuple[str, ...], ...]
    """The name of each cell's room; empty for a wall."""
    keys: tuple[Key, ...]
    doors: tuple[Door, ...]
    start: Cell
    facing: str

    @property
    def height(self) -> int:
        """The number of rows."""
        return len(self.terrain)

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.terrain[0])

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """All cells, row by row."""
        rows, columns = range(1, self.height + 1), range(1, self.width + 1)
        return tuple(Cell(row, column) for row in rows for column in columns)

    def terrain_at(self, cell: Cell) -> str:
        """Return the terrain of a cell."""
        return self.terrain[cell.row - 1][cell.column - 1]

    @cached_property
    def room_of(self) -> Mapping[Cell, str]:
        """The room of each cell that is not a wall."""
        named = ((cell, self.room_rows[cell.row - 1][cell.column - 1]) for cell in self.cells)
        return {cell: room for cell, room in named if room}

    @cached_property
    def rooms(self) -> tuple[str, ...]:
        """The rooms, in the order in which they appear row by row."""
        return tuple(dict.fromkeys(self.room_of.values()))

    @cached_property
    def lava(self) -> frozenset[Cell]:
        """The cells that kill."""
        return frozenset(cell for cell in self.cells if self.terrain_at(cell) == LAVA)

    @cached_property
    def floor_of(self) -> Mapping[str, tuple[Cell, ...]]:
        """The cells of each room that the agent can stand on, without doorways."""
        doorways = {door.cell for door in self.doors}
        return {
            room: tuple(
                cell
                for cell, where in self.room_of.items()
                if where == room and cell not in self.lava and cell not in doorways
            )
            for room in self.rooms
        }

    @cached_property
    def fingerprint(self) -> str:
        """Hash everything but the name: the same grid in another file is the same grid."""
        parts = (self.terrain, self.room_rows, self.keys, self.doors, self.start, self.facing)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


class _Word(NamedTuple):
    """A piece of the file's text and where it begins."""

    text: str
    line: int
    column: int


_Rows = list[list[_Word]]


class _File(NamedTuple):
    """A file's path and its words by section."""

    path: Path
    sections: Mapping[str, _Rows]

    def fail(self, where: _Word, what: str, remedy: str) -> NoReturn:
        """Raise a `ProblemError` at a word."""
        raise ProblemError(f"{self.path}:{where.line}:{where.column}: {what}; {remedy}")


def read_layout(path: str | Path) -> Layout:
    """Read a layout file; raise `ProblemError` with line and column for a mistake."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ProblemError(f"{path} cannot be read as text: {error}") from error
    file = _divided(path, text)
    grid = file.sections["grid"]
    _check_shape(file, grid)
    things = _Things(file)
    terrain = tuple(
        tuple(things.read(word, Cell(r, c)) for c, word in enumerate(row, start=1))
        for r, row in enumerate(grid, start=1)
    )
    _check_border(file, grid)
    if things.start is None:
        file.fail(grid[0][0], "the grid has no agent", "write A> where it starts, facing east")
    return Layout(
        name=path.stem,
        terrain=terrain,
        room_rows=_rooms(file, terrain),
        keys=tuple(things.keys.values()),
        doors=tuple(things.doors.values()),
        start=things.start,
        facing=things.facing,
    )


def _divided(path: Path, text: str) -> _File:
    """Split the lines into sections."""
    sections: dict[str, _Rows] = {}
    file = _File(path, sections)
    rows: _Rows | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        code = line.partition("#")[0]
        words = [_Word(m.group(), number, m.start() + 1) for m in _WORD.finditer(code)]
        if not words:
            continue
        if len(words) == 1 and words[0].text in _SECTIONS:
            if words[0].text in sections:
                file.fail(words[0], f"a second {words[0].text!r}", "keep one of them")
            rows = sections[words[0].text] = []
        elif rows is None:
            file.fail(
                words[0], f"{words[0].text!r} before any section", "begin with the line: grid"
            )
        else:
            rows.append(words)
    for name in ("grid", "rooms"):
        if not sections.get(name):
            last = _Word("", max(1, len(text.splitlines())), 1)
            file.fail(last, f"there is no {name}", f"write the line: {name}, with its rows below")
    return file


def _check_shape(file: _File, rows: _Rows) -> None:
    width = len(rows[0])
    for row in rows:
        if len(row) != width:
            what = f"this row has {len(row)} cells and the first has {width}"
            file.fail(row[min(len(row), width) - 1], what, "make all rows the same length")
    if min(width, len(rows)) < 3 or max(width, len(rows)) > _MAX_SIZE:
        what = f"the grid is {len(rows)} by {width} cells"
        file.fail(rows[0][0], what, f"use 3 to {_MAX_SIZE} rows and columns")


def _check_border(file: _File, rows: _Rows) -> None:
    for row in rows:
        border = row if row in (rows[0], rows[-1]) else (row[0], row[-1])
        for word in border:
            if word.text != WALL:
                what = f"{word.text} is on the border"
                file.fail(word, what, f"surround the grid with walls ({WALL})")


class _Things:
    """The keys, doors and the agent in the picture, collected word by word."""

    def __init__(self, file: _File) -> None:
        self._file = file
        self.keys: dict[str, Key] = {}
        self.doors: dict[str, Door] = {}
        self.start: Cell | None = None
        self.facing = ""

    def read(self, word: _Word, cell: Cell) -> str:
        """Collect what a word stands for and return the terrain below it."""
        text = word.text
        if text in (FLOOR, WALL, LAVA):
            return text
        colour = COLOURS.get(text[0]) if len(text) == 2 else None
        if len(text) == 2 and text[0] == "A" and text[1] in POINTERS:
            if self.start is not None:
                self._file.fail(word, "a second agent", f"keep the one at {self.start} or this one")
            self.start, self.facing = cell, POINTERS[text[1]]
        elif colour and text[1] == "K":
            self._one(word, f"{colour} key", self.keys.get(colour))
            self.keys[colour] = Key(colour, cell)
        elif colour and text[1] in _DOORS:
            self._one(word, f"{colour} door", self.doors.get(colour))
            self.doors[colour] = Door(colour, cell, _DOORS[text[1]])
        else:
            known = "W . L, A> Av A< A^, or a colour (r g b p y) with K, D, C or ="
            self._file.fail(word, f"unknown cell {text!r}", f"write one of {known}")
        return FLOOR

    def _one(self, word: _Word, thing: str, earlier: Key | Door | None) -> None:
        if earlier is not None:
            what = f"a second {thing}, after the one at {earlier.cell}"
            self._file.fail(word, what, "give it another colour: predicates use the colour")


def _rooms(file: _File, terrain: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Return the name of each cell's room, after checking it against the grid."""
    rows = file.sections["rooms"]
    height, width = len(terrain), len(terrain[0])
    if len(rows) != height:
        what = f"rooms has {len(rows)} rows and the grid has {height}"
        file.fail(rows[-1][0], what, "make both the same size")
    for cells, words in zip(terrain, rows, strict=True):
        if len(words) != width:
            what = f"this row has {len(words)} cells and the grid's have {width}"
            file.fail(words[min(len(words), width) - 1], what, "make both the same size")
        for cell, word in zip(cells, words, strict=True):
            if (cell == WALL) != (word.text == _NO_ROOM):
                where = "the grid has a wall here" if cell == WALL else "the grid has no wall here"
                file.fail(word, f"{where}, rooms has {word.text}", "write - for walls only")
    names = _names(file, {word.text for row in rows for word in row} - {_NO_ROOM})
    return tuple(tuple(names.get(word.text, "") for word in row) for row in rows)


def _names(file: _File, rooms: set[str]) -> Mapping[str, str]:
    """Return the name of each room's word; by default the word itself."""
    given: dict[str, str] = {}
    for words in file.sections.get("names", []):
        room = words[0].text
        if len(words) != 2:
            file.fail(words[-1], f"{len(words)} words", "write the room's word and its name")
        if room not in rooms:
            file.fail(words[0], f"no room {room!r}", f"rooms has {', '.join(sorted(rooms))}")
        if not _NAME.fullmatch(words[1].text):
            file.fail(words[1], f"{words[1].text!r} is not a name", _NAME_REMEDY)
        if room in given or words[1].text in given.values():
            file.fail(words[0], f"{room} {words[1].text} repeats a room or name", _UNIQUE_REMEDY)
        given[room] = words[1].text
    names = {room: given.get(room, room) for room in rooms}
    for row in file.sections["rooms"]:
        for word in row:
            if word.text in rooms and not _NAME.fullmatch(names[word.text]):
                file.fail(word, f"{word.text!r} is not a name", _NAME_REMEDY)
            if word.text in rooms and list(names.values()).count(names[word.text]) > 1:
                file.fail(word, f"two rooms are named {names[word.text]}", _UNIQUE_REMEDY)
    return names
