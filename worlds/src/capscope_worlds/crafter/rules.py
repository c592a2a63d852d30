"""The rules of Crafter that a vocabulary depends on: what can be collected, placed and made.

They are copied from the package, which is an extra, so that vocabularies can be made without it; a
test compares the two. `producible` finds out what a map can lead to: an achievement that no
sequence of actions can unlock there would be an atom that is never true.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

MATERIALS = (
    *("water", "grass", "stone", "path", "sand", "tree"),
    *("lava", "coal", "iron", "diamond", "table", "furnace"),
)
"""In the package's order; the number of a material is its place, from 1."""
ITEMS = (
    *("health", "food", "drink", "energy"),
    *("sapling", "wood", "stone", "coal", "iron", "diamond"),
    *("wood_pickaxe", "stone_pickaxe", "iron_pickaxe"),
    *("wood_sword", "stone_sword", "iron_sword"),
)
TOOLS = ITEMS[10:]
CREATURES = ("plant", "cow", "zombie", "skeleton", "arrow")
ACTIONS = (
    *("noop", "move_left", "move_right", "move_up", "move_down", "do", "sleep"),
    *("place_stone", "place_table", "place_furnace", "place_plant"),
    *("make_wood_pickaxe", "make_stone_pickaxe", "make_iron_pickaxe"),
    *("make_wood_sword", "make_stone_sword", "make_iron_sword"),
)
ACHIEVEMENTS = (
    *("collect_coal", "collect_diamond", "collect_drink", "collect_iron", "collect_sapling"),
    *("collect_stone", "collect_wood", "defeat_skeleton", "defeat_zombie", "eat_cow", "eat_plant"),
    *("make_iron_pickaxe", "make_iron_sword", "make_stone_pickaxe", "make_stone_sword"),
    *("make_wood_pickaxe", "make_wood_sword", "place_furnace", "place_plant", "place_stone"),
    *("place_table", "wake_up"),
)
WALKABLE = frozenset(("grass", "sand", "path"))
MOST = 9
"""The most of an item that a player can have."""


@dataclass(frozen=True)
class Collecting:
    """What `do` in front of a material takes and gives."""

    item: str
    requires: str | None
    leaves: str
    probability: float = 1.0


COLLECT: Mapping[str, Collecting] = {
    "tree": Collecting("wood", None, "grass"),
    "stone": Collecting("stone", "wood_pickaxe", "path"),
    "coal": Collecting("coal", "wood_pickaxe", "path"),
    "iron": Collecting("iron", "stone_pickaxe", "path"),
    "diamond": Collecting("diamond", "iron_pickaxe", "path"),
    "water": Collecting("drink", None, "water"),
    "grass": Collecting("sapling", None, "grass", 0.1),
}
PLACE: Mapping[str, Mapping[str, int]] = {
    "stone": {"stone": 1},
    "table": {"wood": 2},
    "furnace": {"stone": 4},
    "plant": {"sapling": 1},
}
"""What placing something uses up."""
MAKE: Mapping[str, Mapping[str, int]] = {
    "wood_pickaxe": {"wood": 1},
    "stone_pickaxe": {"wood": 1, "stone": 1},
    "iron_pickaxe": {"wood": 1, "coal": 1, "iron": 1},
    "wood_sword": {"wood": 1},
    "stone_sword": {"wood": 1, "stone": 1},
    "iron_sword": {"wood": 1, "coal": 1, "iron": 1},
}
"""What making a tool uses up."""
NEARBY: Mapping[str, tuple[str, ...]] = {
    tool: ("table", "furnace") if tool.startswith("iron") else ("table",) for tool in MAKE
}
"""What must be within one cell, diagonals included, to make a tool."""
_LEAST_SPACE = {"cow": ("grass", 30), "zombie": ("grass", 50), "skeleton": ("path", 6)}


@dataclass(frozen=True)
class Producible:
    """What can come to be on a map; each in the order of the rules."""

    things: tuple[str, ...]
    """Materials that one cannot walk on, plants and creatures."""
    structures: tuple[str, ...]
    tools: tuple[str, ...]
    achievements: tuple[str, ...]


def producible(materials: Iterable[str], spawn: bool) -> Producible:
    """Find what a map of these cells can lead to, with or without creatures.

    Amounts are counted only for what one step uses up: a map with a single tree has no table.
    """
    cells = list(materials)
    found = set(cells)
    items = {"drink"} if "water" in found else set()
    while True:
        before = len(found) + len(items)
        for material, rule in COLLECT.items():
            if material in found and (rule.requires is None or rule.requires in items):
                items.add(rule.item)
                found.add(rule.leaves)
        supply = _supply(cells, items)
        for thing, uses in PLACE.items():
            if all(supply.get(item, 0) >= amount for item, amount in uses.items()):
                found.add(thing)
        for tool, uses in MAKE.items():
            enough = all(supply.get(item, 0) >= amount for item, amount in uses.items())
            if enough and found.issuperset(NEARBY[tool]):
                items.add(tool)
        if before == len(found) + len(items):
            break
    if spawn:
        found.update(_spawned(cells, items))
    return Producible(
        things=tuple(t for t in (*MATERIALS, *CREATURES[:-1]) if t in found - WALKABLE),
        structures=tuple(t for t in PLACE if t in found and _affordable(PLACE[t], items)),
        tools=tuple(t for t in TOOLS if t in items),
        achievements=tuple(a for a in ACHIEVEMENTS if _possible(a, found, items)),
    )


def _supply(cells: list[str], items: set[str]) -> dict[str, int]:
    """Return how many of each item the map yields at most; a sapling needs only grass and time."""
    rules = {rule.item: material for material, rule in COLLECT.items()}
    return {
        item: MOST if rules[item] in ("grass", "water") else cells.count(rules[item])
        for item in items
        if item in rules
    }


def _affordable(uses: Mapping[str, int], items: set[str]) -> bool:
    return all(item in items for item in uses)


def _spawned(cells: list[str], items: set[str]) -> set[str]:
    """Return the creatures that appear where there is enough grass or path."""
    space = {
        ground: sum(
            cells.count(material)
            for material, rule in COLLECT.items()
            if rule.leaves == ground != material and rule.item in items
        )
        + cells.count(ground)
        for ground in ("grass", "path")
    }
    return {name for name, (ground, least) in _LEAST_SPACE.items() if space[ground] >= least}


def _possible(achievement: str, found: set[str], items: set[str]) -> bool:
    verb, _, what = achievement.partition("_")
    match verb:
        case "collect" | "make":
            return what in items
        case "place":
            return what in found and _affordable(PLACE[what], items)
        case "wake":
            return True
        case _:  # eat and defeat
            return what in found
