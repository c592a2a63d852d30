"""The abstraction of a grid: rooms of agent and keys, what the agent carries, states of the doors.

Places are rooms, not cells, so that the model of an agent stays readable. Three conventions:

- A door is either open, closed or locked, as in minigrid. A locked door is not closed: otherwise
  "closed" would only mean "not open".
- A dead agent is still in the room where it died, and still carries what it carried.
- A carried key is in no room.
"""

from __future__ import annotations

from collections.abc import Iterator

from capscope.environments.minigrid.layout import Cell, DoorState, Layout
from capscope.environments.minigrid.observation import GridObservation
from capscope.symbolic import Atom, Predicate, State, Vocabulary

ROOM = "room"
AGENT_AT = "agent-at"
IS_DEAD = "is-dead"


def grid_vocabulary(layout: Layout) -> Vocabulary:
    """Return the vocabulary for a layout's rooms, keys, doors and lava."""
    return Vocabulary(list(_predicates(layout)), dict.fromkeys(layout.rooms, ROOM))


def _predicates(layout: Layout) -> Iterator[Predicate]:
    yield Predicate(AGENT_AT, (ROOM,))
    for key in layout.keys:
        yield Predicate(f"{key.colour}-key-at", (ROOM,))
        yield Predicate(f"carrying-{key.colour}-key")
    if layout.lava:
        yield Predicate(IS_DEAD)
    for door in layout.doors:
        for state in DoorState:
            yield Predicate(f"{door.colour}-door-{state}")


class GridAbstraction:
    """The abstraction of a grid.

    Each part of an observation has few values, so its bits are cached.
    """

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
