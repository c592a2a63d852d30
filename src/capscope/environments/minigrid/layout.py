"""What never changes in a grid: walls, lava, rooms, and where keys, doors and the agent begin.

Cells are named as people count them in a picture: `Cell(row, column)` from the top left corner,
both from 1. minigrid's own x and y, from 0, stay inside the simulator.

A layout says which words describe it: its rooms are the objects, and each colour of key or door
that it holds gives the predicates of that colour. Hence there is at most one key and one door of a
colour. Every cell that is not a wall belongs to a room, a doorway and lava too: an agent that is
nowhere would need a word of its own.
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
"""In minigrid's order: its direction 0 is east."""


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
    """How a door stands, as minigrid tells doors apart; exactly one of the three is true."""

    OPEN = "open"
    CLOSED = "closed"
    LOCKED = "locked"


@dataclass(frozen=True, slots=True)
class Key:
    """A key, and where it lies at first."""

    colour: str
    cell: Cell


@dataclass(frozen=True, slots=True)
class Door:
    """A door, and how it stands at first."""

    colour: str
    cell: Cell
    state: DoorState


@dataclass(frozen=True)
class Layout:
    """A grid before anything has happened in it."""

    name: str
    terrain: tuple[tuple[str, ...], ...]
    """Rows of `FLOOR`, `WALL` and `LAVA`; keys, doors and the agent stand on floor."""
    room_rows: tuple[tuple[str, ...], ...]
    """The name of each cell's room; a wall's is empty."""
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
        """Return what a cell is made of."""
        return self.terrain[cell.row - 1][cell.column - 1]

    @cached_property
    def room_of(self) -> Mapping[Cell, str]:
        """The room of each cell that is not a wall."""
        named = ((cell, self.room_rows[cell.row - 1][cell.column - 1]) for cell in self.cells)
        return {cell: room for cell, room in named if room}

    @cached_property
    def rooms(self) -> tuple[str, ...]:
        """The rooms, in the order in which they are met row by row."""
        return tuple(dict.fromkeys(self.room_of.values()))

    @cached_property
    def lava(self) -> frozenset[Cell]:
        """The cells that kill."""
        return frozenset(cell for cell in self.cells if self.terrain_at(cell) == LAVA)

    @cached_property
    def floor_of(self) -> Mapping[str, tuple[Cell, ...]]:
        """The cells of each room that one can stand on, doorways left out."""
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
