"""The fixed parts of a grid: walls, lava, rooms, and the initial places of keys, doors and agent.

Cells are `Cell(row, column)`, counted from 1 at the top left corner. minigrid's own x and y, from
0, are used in the simulator only.

A layout determines its vocabulary: its rooms are the objects, and each colour of a key or door
gives the predicates of that colour. So there is at most one key and one door of a colour. Every
cell that is not a wall belongs to a room, doorways and lava included, so that the agent is always
in one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

FLOOR, WALL, LAVA = ".", "W", "L"
FACINGS = ("east", "south", "west", "north")
"""In minigrid's order: direction 0 is east."""


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
