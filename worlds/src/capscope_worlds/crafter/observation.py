"""What a player of Crafter observes, and the abstraction of it.

An observation is the whole game as one value: every cell, the player, its inventory, the creatures,
and what it has achieved so far. The abstraction keeps only what surrounds the player and what it
could do next. Conventions:

- `next_to` is a Manhattan distance of 1, `close_to` one of at most 3; where the player looks does
  not matter.
- `can_make` and `can_build` are about the inventory only: a tool also needs a table nearby.
- `achieved` never becomes false again.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from capscope.logic import Atom, Predicate, State, Vocabulary
from capscope_worlds.crafter.game_map import FACINGS, SIGNS, GameMap
from capscope_worlds.crafter.rules import (
    ACHIEVEMENTS,
    ITEMS,
    MAKE,
    MATERIALS,
    PLACE,
    Producible,
    producible,
)

NEXT_TO, CLOSE_TO = 1, 3
"""Manhattan distances."""
OBSTACLE, STRUCTURE, TOOL, ACHIEVEMENT = "obstacle", "structure", "tool", "achievement"
_MOST_CACHED = 50_000
_SIGN_OF = {material: sign for sign, material in SIGNS.items()}
_POINTER = {step: sign for sign, step in FACINGS.items()}


class Creature(NamedTuple):
    """Something on top of the terrain: one of `CREATURES`."""

    kind: str
    x: int
    y: int


class CrafterObservation(NamedTuple):
    """A game at one time."""

    game_map: GameMap
    """The map at the beginning, for its size."""
    terrain: bytes
    """The number of each cell's material (from 1), column by column: cell (x, y) is at
    `x * height + y`."""
    x: int
    y: int
    facing: tuple[int, int]
    inventory: tuple[int, ...]
    """The amount of each of `ITEMS`."""
    sleeping: bool
    achieved: int
    """Bit i is set if the i-th of `ACHIEVEMENTS` was unlocked."""
    creatures: tuple[Creature, ...]

    @property
    def dead(self) -> bool:
        """Whether the player has no health left."""
        return not self.inventory[0]

    def amount(self, item: str) -> int:
        """Return how many of an item the player has."""
        return self.inventory[ITEMS.index(item)]

    def material(self, x: int, y: int) -> str | None:
        """Return the material of a cell; None outside the map."""
        if not (0 <= x < self.game_map.width and 0 <= y < self.game_map.height):
            return None
        return MATERIALS[self.terrain[x * self.game_map.height + y] - 1]

    def text(self) -> str:
        """Draw the map with the signs of map files, and add what it cannot show."""
        creatures = {(c.x, c.y): c.kind[0] for c in self.creatures}
        creatures[self.x, self.y] = _POINTER[self.facing]
        lines = []
        for y in range(self.game_map.height):
            cells = [(x, y) for x in range(self.game_map.width)]
            lines.append(
                " ".join(creatures.get(c) or _SIGN_OF[self.material(*c) or ""] for c in cells)
            )
        held = [f"{n} {item}" for item, n in zip(ITEMS, self.inventory, strict=True) if n]
        lines.append(", ".join(held) or "nothing")
        if self.sleeping:
            lines.append("asleep")
        return "\n".join(lines)


def crafter_vocabulary(game_map: GameMap, spawn: bool = False) -> Vocabulary:
    """Return the vocabulary of a map: the objects and achievements that it can lead to."""
    possible = producible(game_map.materials, spawn)
    # A small map may have no object of some type.
    types = dict.fromkeys((OBSTACLE, STRUCTURE, TOOL, ACHIEVEMENT), "object")
    return Vocabulary(list(_predicates()), _objects(possible), types)


def _predicates() -> Iterator[Predicate]:
    yield Predicate("next_to", (OBSTACLE,), "the player is next to {0}")
    yield Predicate("close_to", (OBSTACLE,), "{0} is close to the player")
    yield Predicate("exists", (OBSTACLE,), "{0} is on the map")
    yield Predicate("is_sleeping", (), "the player is asleep", "the player is awake")
    yield Predicate("is_dead", (), "the player is dead", "the player is alive")
    yield Predicate("has", (TOOL,), "the player has the {0}", "the player has no {0}")
    yield Predicate("can_make", (TOOL,), "the player has what the {0} is made of")
    yield Predicate("can_build", (STRUCTURE,), "the player has what it takes to place the {0}")
    yield Predicate("achieved", (ACHIEVEMENT,), "the player has achieved {0}")


def _objects(possible: Producible) -> dict[str, tuple[str, ...]]:
    types: dict[str, tuple[str, ...]] = {}
    for names, kind in (
        (possible.things, OBSTACLE),
        (possible.structures, STRUCTURE),
        (possible.tools, TOOL),
        (possible.achievements, ACHIEVEMENT),
    ):
        for name in names:
            types[name] = (*types.get(name, ()), kind)
    return types


class CrafterAbstraction:
    """The abstraction of a map; what depends on the same parts of an observation is cached."""

    def __init__(self, game_map: GameMap, spawn: bool = False) -> None:
        self.vocabulary = crafter_vocabulary(game_map, spawn)
        self._map = game_map
        self._around: dict[object, State] = {}
        self._held: dict[object, State] = {}
        bit = self.vocabulary.bit
        self._achieved_bits = [bit.get(Atom("achieved", (name,)), 0) for name in ACHIEVEMENTS]
        self._sleeping = bit[Atom("is_sleeping")]
        self._dead = bit[Atom("is_dead")]

    def __call__(self, observation: CrafterObservation) -> State:
        """Return the atoms that hold."""
        _, terrain, x, y, _, inventory, sleeping, achieved, creatures = observation
        place = (terrain, x, y, creatures) if creatures else (terrain, x, y)
        around = self._around.get(place)
        if around is None:
            around = self._remember(self._around, place, self._bits_around(observation))
        own = (inventory, achieved)
        held = self._held.get(own)
        if held is None:
            held = self._remember(self._held, own, self._bits_held(observation))
        state = around | held
        return state | self._sleeping if sleeping else state

    @staticmethod
    def _remember(cache: dict[object, State], key: object, bits: State) -> State:
        if len(cache) >= _MOST_CACHED:
            cache.clear()
        cache[key] = bits
        return bits

    @cached_property
    def _near(self) -> list[tuple[int, dict[str, State]]]:
        """For each distance, the bits of each thing at most that far away."""
        predicates = ((NEXT_TO, "next_to"), (CLOSE_TO, "close_to"), (None, "exists"))
        anywhere = self._map.width + self._map.height
        return [
            (distance or anywhere, {a.arguments[0]: self.vocabulary.bit[a] for a in
             self.vocabulary.groundings(predicate)})
            for distance, predicate in predicates
        ]  # fmt: skip

    def _bits_around(self, observation: CrafterObservation) -> State:
        nearest: dict[str, int] = {}
        cells = ((c.kind, c.x, c.y) for c in observation.creatures)
        height = self._map.height
        terrain = (
            (MATERIALS[number - 1], *divmod(i, height))
            for i, number in enumerate(observation.terrain)
        )
        for source in (terrain, cells):
            for kind, x, y in source:
                distance = abs(x - observation.x) + abs(y - observation.y)
                if distance < nearest.get(kind, 1000):
                    nearest[kind] = distance
        state = 0
        for most, bits in self._near:
            for kind, bit in bits.items():
                if nearest.get(kind, 1000) <= most:
                    state |= bit
        return state

    def _bits_held(self, observation: CrafterObservation) -> State:
        amounts = dict(zip(ITEMS, observation.inventory, strict=True))
        recipes = {"can_make": MAKE, "can_build": PLACE}
        state = self._dead if observation.dead else 0
        for predicate, recipe in recipes.items():
            for atom in self.vocabulary.groundings(predicate):
                uses = recipe[atom.arguments[0]]
                if all(amounts[item] >= amount for item, amount in uses.items()):
                    state |= self.vocabulary.bit[atom]
        for atom in self.vocabulary.groundings("has"):
            if amounts[atom.arguments[0]]:
                state |= self.vocabulary.bit[atom]
        for i, bit in enumerate(self._achieved_bits):
            if observation.achieved >> i & 1:
                state |= bit
        return state
