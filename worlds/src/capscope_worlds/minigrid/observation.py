"""What an agent observes of a grid, and the abstraction of it.

An observation is the whole grid as one frozen value. One is made at every step, so it refers to the
layout for everything that never changes. Places in the abstraction are rooms, not cells, so that
the model of an agent stays readable. Three conventions:

- A door is either open, closed or locked, as in minigrid; a locked door is not closed.
- A dead agent is still in the room where it died, and still carries what it carried.
- A carried key is in no room.
"""

import random
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from capscope.logic import Atom, Predicate, State, Vocabulary
from capscope_worlds.minigrid.layout import POINTERS, Cell, DoorState, Layout

ACTIONS = ("face_north", "face_south", "face_east", "face_west", "move_forward", "pickup", "toggle")
"""The actions in a grid; a key cannot be dropped."""

ROOM = "room"
AGENT_AT = "agent-at"
IS_DEAD = "is-dead"

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


def grid_vocabulary(layout: Layout) -> Vocabulary:
    """Return the vocabulary for a layout's rooms, keys, doors and lava."""
    rooms = dict.fromkeys(layout.rooms, ROOM)
    # Walls and doors make each room a place of its own.
    return Vocabulary(list(_predicates(layout)), rooms, distinct_types=[ROOM] if rooms else [])


def _predicates(layout: Layout) -> Iterator[Predicate]:
    yield Predicate(AGENT_AT, (ROOM,), "the agent is in {0}")
    for key in layout.keys:
        yield Predicate(f"{key.colour}-key-at", (ROOM,), f"the {key.colour} key is in {{0}}")
        carrying = f"the agent carries the {key.colour} key"
        carrying_not = f"the agent does not carry the {key.colour} key"
        yield Predicate(f"carrying-{key.colour}-key", (), carrying, carrying_not)
    if layout.lava:
        yield Predicate(IS_DEAD, (), "the agent is dead", "the agent is alive")
    for door in layout.doors:
        for state in DoorState:
            phrase = f"the {door.colour} door is {state}"
            yield Predicate(f"{door.colour}-door-{state}", (), phrase)


class GridAbstraction:
    """The abstraction of a grid; each part of an observation has few values, which are cached."""

    def __init__(self, layout: Layout) -> None:
        self.vocabulary = grid_vocabulary(layout)
        self._layout = layout
        self._position = {cell: self._bits_of_position(cell) for cell in layout.room_of}
        self._doors: dict[tuple[DoorState, ...], State] = {}
        self._keys: dict[tuple[Cell | None, ...], State] = {}

    def __call__(self, observation: GridObservation) -> State:
        """Return the atoms that hold."""
        _, position, _, doors, keys = observation
        try:
            return self._position[position] | self._doors[doors] | self._keys[keys]
        except KeyError:
            self._doors[doors] = self._bits_of_doors(doors)
            self._keys[keys] = self._bits_of_keys(keys)
            return self._position[position] | self._doors[doors] | self._keys[keys]

    def _bits_of_position(self, cell: Cell) -> State:
        atoms = [Atom(AGENT_AT, (self._layout.room_of[cell],))]
        if cell in self._layout.lava:
            atoms.append(Atom(IS_DEAD))
        return self.vocabulary.state(atoms)

    def _bits_of_doors(self, states: tuple[DoorState, ...]) -> State:
        pairs = zip(self._layout.doors, states, strict=True)
        return self.vocabulary.state(Atom(f"{door.colour}-door-{state}") for door, state in pairs)

    def _bits_of_keys(self, cells: tuple[Cell | None, ...]) -> State:
        pairs = zip(self._layout.keys, cells, strict=True)
        return self.vocabulary.state(
            Atom(f"carrying-{key.colour}-key")
            if cell is None
            else Atom(f"{key.colour}-key-at", (self._layout.room_of[cell],))
            for key, cell in pairs
        )
