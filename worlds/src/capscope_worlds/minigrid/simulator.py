"""Simulate a grid with minigrid, with snapshots of a few bytes.

For speed, the agent's view is not rendered at every step, the cell ahead is computed with plain
numbers instead of NumPy, and a snapshot holds only what can change: the agent, the doors, the keys.

Actions are absolute: `face_west` turns the agent west at once. There is no action to drop a key.
Lava ends the episode. Grids are deterministic, so seeds are ignored.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from minigrid.core.actions import Actions
from minigrid.core.grid import Grid
from minigrid.core.mission import MissionSpace
from minigrid.core.world_object import Door, Key, Lava, Wall, WorldObj
from minigrid.minigrid_env import MiniGridEnv

from capscope.errors import ProblemError
from capscope.problem import InvalidAction, Snapshot
from capscope.problem.positions import png
from capscope_worlds.minigrid.layout import FACINGS, LAVA, WALL, Cell, DoorState, Layout
from capscope_worlds.minigrid.observation import ACTIONS, GridObservation

_TURNS = {f"face_{facing}": direction for direction, facing in enumerate(FACINGS)}
_MOVES = {
    "move_forward": int(Actions.forward),
    "pickup": int(Actions.pickup),
    "toggle": int(Actions.toggle),
}
_AHEAD = ((1, 0), (0, 1), (-1, 0), (0, -1))
_BUILT: dict[str, Callable[[], WorldObj]] = {WALL: Wall, LAVA: Lava}
_DOOR_STATES = tuple(DoorState)
_CARRIED = 255


class GridWorld(MiniGridEnv):
    """minigrid's environment, built from a layout and without rendered views."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self.keys: list[Any] = []
        self.doors: list[Any] = []
        super().__init__(
            MissionSpace(mission_func=lambda: layout.name),
            width=layout.width,
            height=layout.height,
            max_steps=sys.maxsize,
        )

    def _gen_grid(self, width: int, height: int) -> None:
        layout = self._layout
        self.grid = Grid(width, height)
        for cell in layout.cells:
            terrain = layout.terrain_at(cell)
            if terrain in _BUILT:
                self._put(_BUILT[terrain](), cell)
        self.keys = [self._put(Key(key.colour), key.cell) for key in layout.keys]
        self.doors = [self._put(Door(door.colour), door.cell) for door in layout.doors]
        for made, door in zip(self.doors, layout.doors, strict=True):
            made.is_open = door.state is DoorState.OPEN
            made.is_locked = door.state is DoorState.LOCKED
        self.agent_pos = (layout.start.column - 1, layout.start.row - 1)
        self.agent_dir = FACINGS.index(layout.facing)

    def _put(self, thing: WorldObj, cell: Cell) -> WorldObj:
        self.put_obj(thing, cell.column - 1, cell.row - 1)
        return thing

    def gen_obs(self) -> dict[str, Any]:
        """Return nothing: agents get a `GridObservation`."""
        return {}

    @property
    def front_pos(self) -> tuple[int, int]:
        """The cell ahead, as plain numbers."""
        x, y = self.agent_pos
        dx, dy = _AHEAD[self.agent_dir]
        return x + dx, y + dy


class GridSimulator:
    """Steps a grid; an observation is a `GridObservation`, an action a string."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.world = GridWorld(layout)
        self.world.reset(seed=0)
        self._dead = False
        self._doors = self._door_states()
        self._keys = self._key_cells()
        self._initial = self.snapshot()

    def reset(self, seed: int) -> GridObservation:
        """Go to the initial position of the layout."""
        return self.restore(self._initial, seed)

    def actions(self) -> Sequence[str]:
        """List the seven actions; a dead agent has none."""
        return () if self._dead else ACTIONS

    def step(self, action: str) -> GridObservation:
        """Take an action; without an object to act on it changes nothing, as in minigrid."""
        world = self.world
        if self._dead:
            raise InvalidAction("the agent is dead; no action is possible")
        if not isinstance(action, str) or action not in ACTIONS:
            raise InvalidAction(f"{action!r} is not an action; choose one of {', '.join(ACTIONS)}")
        direction = _TURNS.get(action)
        if direction is not None:
            world.agent_dir = direction
        else:
            self._dead = world.step(_MOVES[action])[2]
            if action == "toggle":
                self._doors = self._door_states()
            elif action == "pickup":
                self._keys = self._key_cells()
        return self._observation()

    def snapshot(self) -> Snapshot:
        """Encode the agent's place and direction, the doors' states and the keys' places."""
        x, y = self.world.agent_pos
        parts = [x, y, self.world.agent_dir]
        parts += [_DOOR_STATES.index(state) for state in self._doors]
        for cell in self._keys:
            parts += (_CARRIED, _CARRIED) if cell is None else (cell.column - 1, cell.row - 1)
        return bytes(parts)

    def restore(self, snapshot: Snapshot, seed: int) -> GridObservation:
        """Go back to a position."""
        world, doors = self.world, len(self.world.doors)
        if len(snapshot) != 3 + doors + 2 * len(world.keys):
            raise ProblemError(
                f"a snapshot of {len(snapshot)} bytes does not belong to {self.layout.name}; was "
                "its layout changed? Start a new run"
            )
        x, y, world.agent_dir = snapshot[:3]
        world.agent_pos = (x, y)
        for door, state in zip(world.doors, snapshot[3 : 3 + doors], strict=True):
            door.is_open, door.is_locked = state == 0, state == 2
        self._place_keys(snapshot[3 + doors :])
        self._doors = self._door_states()
        self._keys = self._key_cells()
        seen = self._observation()
        self._dead = seen.dead
        return seen

    def _place_keys(self, places: bytes) -> None:
        world = self.world
        world.carrying = None
        for key in world.keys:
            x, y = key.cur_pos
            if x >= 0:
                world.grid.set(x, y, None)
        for key, x, y in zip(world.keys, places[::2], places[1::2], strict=True):
            if x == _CARRIED:
                world.carrying = key
                key.cur_pos = (-1, -1)
            else:
                world.put_obj(key, x, y)

    def picture(self, snapshot: Snapshot, tile_pixels: int = 32) -> bytes:
        """Render a position with minigrid and return the PNG; the simulator stays where it is."""
        here = self.snapshot()
        self.restore(snapshot, 0)
        x, y = self.world.agent_pos
        pixels = self.world.grid.render(tile_pixels, (x, y), self.world.agent_dir)
        self.restore(here, 0)
        return png(pixels)

    def _observation(self) -> GridObservation:
        world, layout = self.world, self.layout
        x, y = world.agent_pos
        cell = layout.cells[y * layout.width + x]
        return GridObservation(layout, cell, FACINGS[world.agent_dir], self._doors, self._keys)

    def _door_states(self) -> tuple[DoorState, ...]:
        return tuple([_DOOR_STATES[door.encode()[2]] for door in self.world.doors])

    def _key_cells(self) -> tuple[Cell | None, ...]:
        carried = self.world.carrying
        places = ((key is carried, *key.cur_pos) for key in self.world.keys)
        return tuple([None if held else Cell(y + 1, x + 1) for held, x, y in places])
