"""Play Crafter on a fixed map, with snapshots below a hundred bytes.

The rules are those of the `crafter` package: its objects update themselves, in its order. Nothing
is rendered while playing, which would take most of the time and, at night, draw random numbers from
the world's own generator.

Three things are different from the package. The terrain comes from a map, and the player begins
with an energy below the maximum, since one cannot fall asleep otherwise. Creatures that appear and
disappear by themselves are optional. The package keeps the creatures of a chunk in a set, whose
order depends on memory addresses; here they are in order of appearance, so that a game can be
repeated in another process.

A snapshot holds everything that the future depends on: 62 bytes for a map of 9 by 9 cells, and 4
for each plant or creature. With creatures, that includes the time of day.
"""

import struct
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import crafter
import numpy as np
from crafter import engine, objects

from capscope.errors import ProblemError
from capscope.problem import InvalidAction, Snapshot
from capscope.problem.positions import png
from capscope_worlds.crafter.game_map import FACINGS, GameMap
from capscope_worlds.crafter.observation import CrafterObservation, Creature
from capscope_worlds.crafter.rules import ACHIEVEMENTS, ACTIONS, ITEMS, MATERIALS

ENERGY = 8
"""Of the player at the beginning; the other stats are at their maximum of 9."""
_DAY = 300  # steps
_VIEW = (9, 9)
_FACINGS = tuple(FACINGS.values())
_KINDS = ("plant", "cow", "zombie", "skeleton", "arrow")
_CLASSES = (objects.Plant, objects.Cow, objects.Zombie, objects.Skeleton, objects.Arrow)
_KIND_OF = dict(zip(_CLASSES, _KINDS, strict=True))
_NUMBER_OF = {kind: number for number, kind in enumerate(_CLASSES)}
_RIPE = 301
"""A plant that has grown this long is ripe; longer makes no difference."""
_HEAD = struct.Struct("<BBBbBbBHI")
_CREATURE = struct.Struct("<BBH")
_ACTION_SET = frozenset(ACTIONS)


class InsertionOrderedSet(dict[Any, None]):
    """A set that keeps the order of insertion."""

    def add(self, member: object) -> None:
        """Add a member at the end."""
        self[member] = None

    def remove(self, member: object) -> None:
        """Remove a member."""
        del self[member]


class CrafterGame(crafter.Env):  # type: ignore[misc]
    """The package's environment on a fixed map, without its views."""

    def __init__(self, game_map: GameMap, spawn: bool) -> None:
        area = (game_map.width, game_map.height)
        # The base class would load all textures and draw every step.
        self._area, self._view = area, np.array(_VIEW)
        self._spawn = spawn
        self._world = engine.World(area, list(MATERIALS), (12, 12))
        self._player = objects.Player(self._world, game_map.start)
        self.time = 0

    @property
    def world(self) -> Any:
        """The package's world."""
        return self._world

    @property
    def player(self) -> Any:
        """The package's player."""
        return self._player

    def clear(self) -> None:
        """Remove all objects but the player, which is not on the map then."""
        world = self._world
        world._objects = [None]
        world._obj_map.fill(0)
        world._chunks = defaultdict(InsertionOrderedSet)

    def advance(self, action: str) -> None:
        """Take a step as the package's `step` does, without observations and rewards."""
        player = self._player
        player.action = action
        if self._spawn:
            self.time += 1
            self._step = self.time
            self._update_time()
        # Objects are at most 22 steps apart on maps of this size; the package skips those farther
        # away than twice its view, which here would be 18.
        for thing in self._world.objects:
            if thing is player or player.distance(thing) < 2 * max(_VIEW):
                thing.update()
        if self._spawn and self.time % 10 == 0:
            for chunk, members in self._world.chunks.items():
                self._balance_chunk(chunk, members)


class CrafterSimulator:
    """Steps a game; an observation is a `CrafterObservation`, an action one of `ACTIONS`."""

    def __init__(self, game_map: GameMap, spawn: bool = False) -> None:
        self.game_map = game_map
        self.spawn = spawn
        self.game = CrafterGame(game_map, spawn)
        self._set_up()
        self._initial = self.snapshot()
        self._textures: Any = None

    def _set_up(self) -> None:
        game, game_map = self.game, self.game_map
        game.clear()
        numbers = [[MATERIALS.index(m) + 1 for m in row] for row in game_map.rows]
        game.world._mat_map[:] = np.array(numbers, np.uint8).T
        player = game.player
        player.facing = game_map.facing
        player.inventory["energy"] = ENERGY
        game.world.add(player)

    def reset(self, seed: int) -> CrafterObservation:
        """Begin a game on the map."""
        return self.restore(self._initial, seed)

    def actions(self) -> Sequence[str]:
        """List the package's 17 actions; a dead player has none."""
        return ACTIONS if self.game.player.inventory["health"] > 0 else ()

    def step(self, action: str) -> CrafterObservation:
        """Take an action; one that is not possible changes nothing but the time."""
        if self.game.player.inventory["health"] <= 0:
            raise InvalidAction("the player is dead; no action is possible")
        if not isinstance(action, str) or action not in _ACTION_SET:
            raise InvalidAction(f"{action!r} is not an action; choose one of {', '.join(ACTIONS)}")
        self.game.advance(action)
        return self._observation()

    def _observation(self) -> CrafterObservation:
        world, player = self.game.world, self.game.player
        x, y = player.pos.tolist()
        achieved = 0
        for i, count in enumerate(player.achievements.values()):
            if count:
                achieved |= 1 << i
        creatures: tuple[Creature, ...] = ()
        if len(world._objects) > 2:
            creatures = tuple(
                Creature(_KIND_OF[type(thing)], *thing.pos.tolist())
                for thing in world._objects
                if thing is not None and thing is not player
            )
        return CrafterObservation(
            self.game_map,
            world._mat_map.tobytes(),
            x,
            y,
            player.facing,
            tuple(player.inventory.values()),
            player.sleeping,
            achieved,
            creatures,
        )

    def snapshot(self) -> Snapshot:
        """Encode the position: terrain and inventory in half bytes, counters, creatures."""
        world, player = self.game.world, self.game.player
        x, y = player.pos.tolist()
        achieved = sum(1 << i for i, count in enumerate(player.achievements.values()) if count)
        head = _HEAD.pack(
            x << 4 | y,
            _FACINGS.index(player.facing) << 1 | player.sleeping,
            player._last_health,
            int(2 * player._recover),
            int(2 * player._hunger),
            player._fatigue,
            int(2 * player._thirst),
            self.game.time % _DAY,
            achieved,
        )
        held = bytes(player.inventory.values())
        cells = world._mat_map.tobytes()
        if len(cells) % 2:
            cells += b"\0"
        things = [t for t in world._objects if t is not None and t is not player]
        # Objects update in this order, after the player.
        return b"".join(
            (head, _packed(held), _packed(cells), *(self._encoded(thing) for thing in things))
        )

    def _encoded(self, thing: Any) -> bytes:
        x, y = thing.pos.tolist()
        number = _NUMBER_OF[type(thing)]
        match number:
            case 0:
                rest = min(thing.grown, _RIPE)
            case 2:
                rest = thing.cooldown
            case 3:
                rest = thing.reload
            case 4:
                rest = _FACINGS.index(tuple(np.asarray(thing.facing).tolist()))
            case _:
                rest = 0
        health = max(0, int(thing.health))
        return _CREATURE.pack(x << 4 | y, number << 4 | health, rest)

    def restore(self, snapshot: Snapshot, seed: int) -> CrafterObservation:
        """Go back to a position; `seed` seeds the world's generator."""
        game, world, player = self.game, self.game.world, self.game.player
        size = self.game_map.width * self.game_map.height
        start = _HEAD.size + len(ITEMS) // 2
        end = start + (size + 1) // 2
        if len(snapshot) < end or (len(snapshot) - end) % _CREATURE.size:
            raise ProblemError(
                f"a snapshot of {len(snapshot)} bytes does not belong to {self.game_map.name}; was "
                "the map changed? Start a new run"
            )
        where, mode, last_health, recover, hunger, fatigue, thirst, time, achieved = _HEAD.unpack(
            snapshot[: _HEAD.size]
        )
        world.random.seed(seed & 0xFFFFFFFF)
        world.daylight = 1.0
        game.clear()
        world._mat_map.ravel()[:] = _unpacked(snapshot[start:end])[:size]
        player.pos = np.array((where >> 4, where & 15))
        player.facing = _FACINGS[mode >> 1]
        player.sleeping = bool(mode & 1)
        player._last_health = last_health
        player._recover, player._hunger, player._thirst = recover / 2, hunger / 2, thirst / 2
        player._fatigue = fatigue
        amounts = _unpacked(snapshot[_HEAD.size : start]).tolist()
        player.inventory = dict(zip(ITEMS, amounts, strict=True))
        player.achievements = {name: achieved >> i & 1 for i, name in enumerate(ACHIEVEMENTS)}
        game.time = time
        world.add(player)
        for at in range(end, len(snapshot), _CREATURE.size):
            self._add_creature(*_CREATURE.unpack(snapshot[at : at + _CREATURE.size]))
        return self._observation()

    def _add_creature(self, where: int, kind: int, rest: int) -> None:
        world, player = self.game.world, self.game.player
        number, health = kind >> 4, kind & 15
        extra = {2: (player,), 3: (player,), 4: (np.array(_FACINGS[rest % 4]),)}.get(number, ())
        thing = _CLASSES[number](world, (where >> 4, where & 15), *extra)
        thing.inventory["health"] = health
        match number:
            case 0:
                thing.grown = rest
            case 2:
                thing.cooldown = rest
            case 3:
                thing.reload = rest
        world.add(thing)

    def picture(self, snapshot: Snapshot, cell_pixels: int = 32) -> bytes:
        """Draw a position by daylight and return the PNG; the simulator stays where it is."""
        here = self.snapshot()
        generator = self.game.world.random.get_state()
        self.restore(snapshot, 0)
        pixels = self._drawn(cell_pixels)
        self.restore(here, 0)
        self.game.world.random.set_state(generator)
        return png(pixels)

    def _drawn(self, cell_pixels: int) -> np.ndarray[Any, Any]:
        """Draw the whole map with what the player carries below it."""
        if self._textures is None:
            self._textures = engine.Textures(crafter.constants.root / "assets")
        game, game_map = self.game, self.game_map
        unit = np.array((cell_pixels, cell_pixels))
        columns = game_map.width
        item_rows = -(-len(ITEMS) // columns)
        world = game.world
        canvas = np.zeros((columns * cell_pixels, game_map.height * cell_pixels, 3), np.uint8)
        for x in range(columns):
            for y in range(game_map.height):
                texture = self._textures.get(world[x, y][0], unit)
                engine._draw(canvas, np.array((x, y)) * unit, texture)
        for thing in world.objects:
            engine._draw_alpha(canvas, thing.pos * unit, self._textures.get(thing.texture, unit))
        items = engine.ItemView(self._textures, (columns, item_rows))
        held = items(game.player.inventory, unit)
        return np.concatenate([canvas, held], axis=1).transpose((1, 0, 2))


def _packed(numbers: bytes) -> bytes:
    """Put two numbers below 16 into each byte."""
    each = np.frombuffer(numbers, np.uint8)
    return (each[::2] << 4 | each[1::2]).tobytes()


def _unpacked(packed: bytes) -> np.ndarray[Any, np.dtype[np.uint8]]:
    each = np.frombuffer(packed, np.uint8)
    return np.stack((each >> 4, each & 15), axis=1).ravel()
