"""What an agent observes of a grid: all of it, as one frozen value.

A learned policy uses the few parts that change; a language model reads `text()`; the abstraction
turns it into a symbolic state. One is made at every step, so it refers to the layout for everything
that never changes.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import NamedTuple

from capscope.environments.minigrid.layout import Cell, DoorState, Layout
from capscope.environments.minigrid.layout_file import POINTERS

ACTIONS = (
    "face_north",
    "face_south",
    "face_east",
    "face_west",
    "move_forward",
    "pickup",
    "toggle",
)
"""The actions in a grid; a key cannot be dropped."""

_POINTER = {facing: sign for sign, facing in POINTERS.items()}


class GridObservation(NamedTuple):
    """A grid at one time."""

    layout: Layout
    position: Cell
    facing: str
    """One of east, south, west, north."""
    doors: tuple[DoorState, ...]
    """The state of each of the layout's doors."""
    keys: tuple[Cell | None, ...]
    """The cell of each of the layout's keys; None for the one that the agent carries."""

    @property
    def dead(self) -> bool:
        """Whether the agent went into lava."""
        return self.position in self.layout.lava

    @property
    def carrying(self) -> str | None:
        """The colour of the key that the agent carries."""
        held = (k.colour for k, at in zip(self.layout.keys, self.keys, strict=True) if at is None)
        return next(held, None)

    @property
    def door_states(self) -> Mapping[str, DoorState]:
        """The state of the door of each colour."""
        colours = (door.colour for door in self.layout.doors)
        return dict(zip(colours, self.doors, strict=True))

    def free_cells(self, room: str) -> tuple[Cell, ...]:
        """List the cells of a room that the agent could stand on: no lava, key or doorway."""
        return tuple(cell for cell in self.layout.floor_of[room] if cell not in self.keys)

    def sampled_cell(self, room: str, seed: int) -> Cell | None:
        """Draw a free cell of a room to go to; None if it has none."""
        cells = self.free_cells(room)
        return random.Random(seed).choice(cells) if cells else None

    def rows(self) -> tuple[tuple[str, ...], ...]:
        """Return what each cell holds, in the notation of `text`."""
        things: dict[Cell, str] = {}
        for door, state in zip(self.layout.doors, self.doors, strict=True):
            things[door.cell] = door.colour[0] + ("=" if state is DoorState.OPEN else "D")
        for key, at in zip(self.layout.keys, self.keys, strict=True):
            if at is not None:
                things[at] = f"{key.colour[0]}K"
        things[self.position] = f"A{_POINTER[self.facing]}"
        return tuple(
            tuple(things.get(Cell(r, c), terrain) for c, terrain in enumerate(row, start=1))
            for r, row in enumerate(self.layout.terrain, start=1)
        )

    def text(self) -> str:
        """Draw the grid with numbered rows and columns, and add what that cannot show."""
        numbers = "".join(f"{column:3}" for column in range(1, self.layout.width + 1))
        lines = [f"   {numbers}"]
        for number, row in enumerate(self.rows(), start=1):
            lines.append(f"{number:3}" + "".join(f"{thing:>3}" for thing in row))
        held = f"a {self.carrying} key" if self.carrying else "nothing"
        doors = [f"the {colour} door is {state}" for colour, state in self.door_states.items()]
        lines.append(f"Agent: {self.position} facing {self.facing}")
        lines.append(f"Carrying: {held}")
        if doors:
            lines.append(f"Doors: {', '.join(doors)}")
        if self.dead:
            lines.append("The agent went into lava and is dead.")
        return "\n".join(lines)
