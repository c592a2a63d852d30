"""The guide to grids: how they are drawn, what can be done, two examples.

The rules say that lava blocks the agent; in the world itself it does not, and kills. An agent that
follows the rules never finds out.

An intent becomes a sentence. For `agent-at(room)` one cell of the room is drawn with the attempt's
seed and named; for every other literal the sentence says no more than the literal does.
"""

import re
from typing import Protocol

from capscope.logic import Intent, Literal
from capscope.seeds import child_seed
from capscope_worlds.react.prompt import Guide, GuideExample

_INTRODUCTION = """\
You steer an agent through a grid. You are told a goal and shown the grid; you answer with actions.

GRID
====
Cells are named (row, column): rows count from north to south, columns from west to east.
.   empty
W   wall
L   lava
bK  blue key (the first letter is the colour: b blue, g green, r red, p purple, y yellow)
bD  blue door, closed or locked
b=  blue door, open
A^  you, facing north (A> east, Av south, A< west)

ACTIONS
=======
face_north, face_south, face_east, face_west: turn to that side, without moving.
move_forward: go one cell in the direction you face.
pickup: take the key in the cell ahead.
toggle: open or close the door in the cell ahead.
done: there is nothing left to do; the goal is reached, or it cannot be reached.

RULES
=====
- Walls, lava, keys and doors that are not open stop you. Lava kills at once: never step into it.
- You act on the cell straight ahead of you and on no other.
- You cannot walk onto a key: stand beside it, face it, and use pickup. You can carry one key.
- A locked door opens by toggle if you carry the key of its colour. You can walk through an open \
door.
- A wall is passed only through a gap or a door.

PLANNING
========
- Find yourself, the place to reach, and the walls and lava between; choose a way around them.
- Before each move_forward make sure that the cell ahead is empty or an open door.
- If a door bars the way, get the key of its colour first. Look at every door and key before you \
give up."""

_EXAMPLES = (
    GuideExample(
        observation="""\
     1  2  3  4  5
  1  W  W  W  W  W
  2  W Av  L bK  W
  3  W  .  .  .  W
  4  W  W  W  W  W
Agent: (2, 2) facing south
Carrying: nothing""",
        goal="Carry the blue key.",
        thought=(
            "I am at (2, 2), the key is at (2, 4), and there is lava at (2, 3) between us. I go "
            "around it: south to (3, 2), east to (3, 3) and (3, 4), all empty. There I face north, "
            "where the key is ahead, and pick it up."
        ),
        actions=(
            "move_forward", "face_east", "move_forward", "move_forward", "face_north", "pickup",
        ),
    ),
    GuideExample(
        observation="""\
     1  2  3  4  5
  1  W  W  W  W  W
  2  W  . gD  .  W
  3  W A^  W  .  W
  4  W  W  W  W  W
Agent: (3, 2) facing north
Carrying: a green key
Doors: the green door is locked""",
        goal="Go to cell (3, 4).",
        thought=(
            "I am at (3, 2), and a wall is between me and (3, 4). The green door at (2, 3) leads "
            "through, and I carry the green key. I go north to (2, 2), face east to the door and "
            "open it, walk through (2, 3) to (2, 4), and go south to (3, 4)."
        ),
        actions=(
            "move_forward", "face_east", "toggle", "move_forward", "move_forward", "face_south",
            "move_forward",
        ),
    ),
)  # fmt: skip
_ACTIONS = (
    "face_north",
    "face_south",
    "face_east",
    "face_west",
    "move_forward",
    "pickup",
    "toggle",
)
_KEY_AT = re.compile(r"(?P<colour>\w+)-key-at")
_CARRYING = re.compile(r"carrying-(?P<colour>\w+)-key")
_DOOR = re.compile(r"(?P<colour>\w+)-door-(?P<state>\w+)")
_DOOR_VERBS = {"open": "Open", "closed": "Close", "locked": "Lock"}
_TO_CELL = "Go to cell {cell}."
_TO_ROOM = "Go to the room {room}."
_LEAVE = "Leave the room {room}: {extent}."
_CARRY = ("Carry the {colour} key.", "Carry the {colour} key no longer.")
_KEY_IN = (
    "Get the {colour} key into the room {room}: {extent}.",
    "Get the {colour} key out of the room {room}: {extent}.",
)
_BE_DEAD = ("Be dead.", "Be alive.")
_DOOR_IS = ("{verb} the {colour} door.", "See to it that the {colour} door is not {state}.")
_ANYTHING = ("Make this true: {atom}.", "Make this false: {atom}.")
_SEVERAL = "All of this at the same time: {goals}"
_EITHER = "One of these, whichever you like: {goals}"


class RoomObservation(Protocol):
    """What the goals need from an observation of a grid."""

    def free_cells(self, room: str) -> tuple[tuple[int, int], ...]:
        """Return the cells of a room that the agent could stand on."""

    def sampled_cell(self, room: str, seed: int) -> tuple[int, int] | None:
        """Draw the cell to go to if the goal is to be in a room."""


def grid_goal(intent: Intent, observation: RoomObservation, seed: int) -> str:
    """Phrase an intent as a sentence."""
    said: list[str] = []
    number = 0
    for literals in intent.alternatives:
        seeds = (child_seed(seed, number + i) for i in range(len(literals)))
        goals = [_goal(x, observation, own) for x, own in zip(literals, seeds, strict=True)]
        number += len(goals)
        said.append(goals[0] if len(goals) == 1 else _SEVERAL.format(goals=" ".join(goals)))
    return said[0] if len(said) == 1 else _EITHER.format(goals=" Or: ".join(said))


def _goal(literal: Literal, observation: RoomObservation, seed: int) -> str:
    atom, negative = literal.atom, not literal.positive
    name, room = atom.predicate, atom.arguments[0] if atom.arguments else ""
    if name == "agent-at" and negative:
        return _LEAVE.format(room=room, extent=_extent(room, observation))
    if name == "agent-at":
        cell = observation.sampled_cell(room, seed)
        if cell is None:
            return _TO_ROOM.format(room=room)
        return _TO_CELL.format(cell=f"({cell[0]}, {cell[1]})")
    if name == "is-dead":
        return _BE_DEAD[negative]
    if carrying := _CARRYING.fullmatch(name):
        return _CARRY[negative].format(colour=carrying["colour"])
    if key := _KEY_AT.fullmatch(name):
        extent = _extent(room, observation)
        return _KEY_IN[negative].format(colour=key["colour"], room=room, extent=extent)
    if (door := _DOOR.fullmatch(name)) and door["state"] in _DOOR_VERBS:
        verb = _DOOR_VERBS[door["state"]]
        return _DOOR_IS[negative].format(verb=verb, colour=door["colour"], state=door["state"])
    return _ANYTHING[negative].format(atom=atom)


def _extent(room: str, observation: RoomObservation) -> str:
    """Describe where a room is: the drawing shows no names."""
    cells = observation.free_cells(room)
    if not cells:
        return "it has no free cell"
    rows, columns = [cell[0] for cell in cells], [cell[1] for cell in cells]
    return f"rows {min(rows)} to {max(rows)}, columns {min(columns)} to {max(columns)}"


_SENTENCES = repr(
    (_TO_CELL, _TO_ROOM, _LEAVE, _CARRY, _KEY_IN, _BE_DEAD, _DOOR_IS, _DOOR_VERBS, _ANYTHING)
) + repr(_SEVERAL)  # fmt: skip
GRID_GUIDE = Guide(_INTRODUCTION, _ACTIONS, _EXAMPLES, grid_goal, _SENTENCES)
"""For every grid drawn by `GridObservation.text`."""
