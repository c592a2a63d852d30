"""Scripted experts: for an instruction and a view, all actions that are equally good.

An expert that lacks something gets it first: to obtain coal it makes a pickaxe, for which it needs
a table and wood. What it cannot see, it looks for. An expert has no memory, as the policy has none.

`INSTRUCTIONS` is the language that the policy is trained on: several phrases for each expert. The
sixteen skills of the paper are among them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from crafter_training.scene import HERE, MOVES, Cell, Scene, manhattan

Expert = Callable[[Scene], list[str]]

MATERIAL_OF = {
    "wood": "tree",
    "stone": "stone",
    "coal": "coal",
    "iron": "iron",
    "diamond": "diamond",
    "drink": "water",
    "sapling": "grass",
}
PICKAXE_FOR = {
    "stone": "wood_pickaxe",
    "coal": "wood_pickaxe",
    "iron": "stone_pickaxe",
    "diamond": "iron_pickaxe",
}
INGREDIENTS: Mapping[str, Mapping[str, int]] = {
    "wood_pickaxe": {"wood": 1},
    "stone_pickaxe": {"wood": 1, "stone": 1},
    "iron_pickaxe": {"wood": 1, "coal": 1, "iron": 1},
    "wood_sword": {"wood": 1},
    "stone_sword": {"wood": 1, "stone": 1},
    "iron_sword": {"wood": 1, "coal": 1, "iron": 1},
    "stone": {"stone": 1},
    "table": {"wood": 2},
    "furnace": {"stone": 4},
    "plant": {"sapling": 1},
}
_RIGHT_OF = {(0, -1): (1, 0), (1, 0): (0, 1), (0, 1): (-1, 0), (-1, 0): (0, -1)}
_PLACEABLE_ON = {
    "stone": {"grass", "sand", "path", "water", "lava"},
    "table": {"grass", "sand", "path"},
    "furnace": {"grass", "sand", "path"},
    "plant": {"grass"},
}
_CLOSE = 3
_THINGS = ("water", "tree", "stone", "coal", "iron", "diamond", "table", "furnace", "plant")


def stay(scene: Scene) -> list[str]:
    """Do nothing."""
    return ["noop"]


def sleep(scene: Scene) -> list[str]:
    """Fall asleep."""
    return ["sleep"]


def explore(scene: Scene) -> list[str]:
    """Walk straight on; in front of an obstacle turn right."""
    heading = scene.facing
    for _ in range(4):
        if scene.free(heading):
            return [MOVES[heading]]
        heading = _RIGHT_OF[heading]
    return ["noop"]


def move(direction: str) -> Expert:
    """Return the expert that walks in one direction."""
    return lambda scene: [f"move_{direction}"]


def use(kind: str) -> Expert:
    """Return the expert that goes to the nearest thing of a kind and acts on it."""

    def act(scene: Scene) -> list[str]:
        if scene.ahead == kind:
            return ["do"]
        beside = [MOVES[cell] for cell in MOVES if scene.kind(cell) == kind]
        if beside and kind != "grass":
            return beside
        return scene.steps_to(scene.beside(scene.cells(kind))) or explore(scene)

    return act


def collect(item: str, amount: int | None = None) -> Expert:
    """Return the expert that collects an item, up to an amount if one is given."""

    def act(scene: Scene) -> list[str]:
        if amount is not None and scene.has(item, amount):
            return ["noop"]
        tool = PICKAXE_FOR.get(item)
        if tool is not None and not scene.has(tool):
            return make(tool)(scene)
        return use(MATERIAL_OF[item])(scene)

    return act


def gather(product: str) -> Expert:
    """Return the expert that collects everything that a tool or structure is made of."""

    def act(scene: Scene) -> list[str]:
        for item, amount in INGREDIENTS[product].items():
            if not scene.has(item, amount):
                return collect(item)(scene)
        return ["noop"]

    return act


def place(thing: str, again: bool = True) -> Expert:
    """Return the expert that places something; with `again` it goes on as long as it can."""

    def act(scene: Scene) -> list[str]:
        if not again and scene.cells(thing):
            return ["noop"]
        if any(not scene.has(item, n) for item, n in INGREDIENTS[thing].items()):
            return gather(thing)(scene)
        # Nothing can be made in the first row and column.
        useful = thing not in ("table", "furnace") or scene.can_craft_here
        if useful and scene.ahead in _PLACEABLE_ON[thing]:
            return [f"place_{thing}"]
        return scene.steps_to(scene.where(scene.crafting_place) - {HERE}) or explore(scene)

    return act


def make(tool: str) -> Expert:
    """Return the expert that makes a tool, and what it takes."""
    stations = ("table", "furnace") if tool.startswith("iron") else ("table",)

    def act(scene: Scene) -> list[str]:
        for item, amount in INGREDIENTS[tool].items():
            if not scene.has(item, amount):
                return collect(item)(scene)
        for station in stations:
            if not scene.cells(station):
                return _build_first(scene, tool, station)
        if scene.can_craft_here and _all_near(scene, HERE, stations):
            return [f"make_{tool}"]
        fit = scene.where(lambda c: scene.crafting_place(c) and _all_near(scene, c, stations))
        way = scene.steps_to(fit)
        if not way and len(stations) > 1:  # they are too far apart
            return _build_first(scene, tool, "furnace")
        return way or explore(scene)

    return act


def _build_first(scene: Scene, tool: str, station: str) -> list[str]:
    """Place what a tool needs nearby, keeping enough for the tool."""
    for item, amount in INGREDIENTS[station].items():
        if not scene.has(item, amount + INGREDIENTS[tool].get(item, 0)):
            return collect(item)(scene)
    if station == "furnace" and not _all_near(scene, HERE, ("table",)):
        near_table = scene.where(
            lambda cell: scene.crafting_place(cell) and _all_near(scene, cell, ("table",))
        )
        return scene.steps_to(near_table) or explore(scene)
    return place(station)(scene)


def _all_near(scene: Scene, cell: Cell, stations: tuple[str, ...]) -> bool:
    around = scene.around(cell)
    return all(station in around for station in stations)


def go_to(kind: str, distance: int = 1) -> Expert:
    """Return the expert that goes to within a distance of the nearest thing of a kind."""

    def act(scene: Scene) -> list[str]:
        things = scene.cells(kind)
        near = scene.where(lambda cell: any(manhattan(cell, t) <= distance for t in things))
        if HERE in near:
            return ["noop"]
        return scene.steps_to(near) or explore(scene)

    return act


def leave(kind: str, distance: int = 1) -> Expert:
    """Return the expert that goes farther than a distance from all things of a kind."""

    def act(scene: Scene) -> list[str]:
        things = scene.cells(kind)
        far = scene.where(lambda cell: all(manhattan(cell, t) > distance for t in things))
        if HERE in far:
            return ["noop"]
        return scene.steps_to(far) or explore(scene)

    return act


def tunnel(scene: Scene) -> list[str]:
    """Dig through stone, straight on if possible."""
    if not scene.has("wood_pickaxe"):
        return make("wood_pickaxe")(scene)
    return use("stone")(scene)


def shelter(scene: Scene) -> list[str]:
    """Place a table unless there is one, then stay beside it."""
    return go_to("table")(scene) if scene.cells("table") else place("table")(scene)


@dataclass(frozen=True)
class Instruction:
    """Phrases with the same meaning, and the expert that follows them."""

    phrases: tuple[str, ...]
    expert: Expert


def _spoken(name: str) -> str:
    return name.replace("_", " ")


def _instructions() -> list[Instruction]:
    directions = {"east": "right", "west": "left", "north": "up", "south": "down"}
    found = [
        Instruction(("stay", "wait", "do nothing"), stay),
        Instruction(("go to sleep", "is sleeping", "sleep", "achieved wake up"), sleep),
        Instruction(("go explore", "explore the world"), explore),
        Instruction(("dig a tunnel", "dig"), tunnel),
        Instruction(("place crafting table to build shelter", "build shelter"), shelter),
        Instruction(
            ("place crafting table on grass", "place table", "achieved place table"),
            place("table"),
        ),
        Instruction(("exists table", "there is a table"), place("table", again=False)),
        Instruction(("eat plant", "achieved eat plant"), use("plant")),
        Instruction(("eat cow", "achieved eat cow"), use("cow")),
        Instruction(("defeat zombie", "achieved defeat zombie"), use("zombie")),
    ]
    for name, way in directions.items():
        found.append(Instruction((f"move to {name}", f"go {name}", f"move {way}"), move(way)))
    for item, kind in MATERIAL_OF.items():
        named = "sapling" if item == "sapling" else kind
        phrases = (f"obtain {named}", f"collect {item}", f"achieved collect {item}")
        gone = (f"not exists {kind}",) if item not in ("drink", "sapling") else ()
        found.append(Instruction((*phrases, *gone), collect(item)))
    for thing in ("stone", "furnace", "plant"):
        found.append(Instruction((f"place {thing}", f"achieved place {thing}"), place(thing)))
        if thing != "stone":
            found.append(Instruction((f"exists {thing}",), place(thing, again=False)))
    for thing in ("stone", "table", "furnace", "plant"):
        found.append(Instruction((f"can build {thing}",), gather(thing)))
    for tool in list(INGREDIENTS)[:6]:
        name = _spoken(tool)
        made = (f"craft {name}", f"make {name}", f"has {name}", f"achieved make {name}")
        found.append(Instruction(made, make(tool)))
        found.append(Instruction((f"can make {name}",), gather(tool)))
    for kind in _THINGS:
        found.append(Instruction((f"next to {kind}", f"go to {kind}"), go_to(kind)))
        found.append(Instruction((f"close to {kind}",), go_to(kind, _CLOSE)))
        found.append(Instruction((f"not next to {kind}", f"leave {kind}"), leave(kind)))
        found.append(Instruction((f"not close to {kind}",), leave(kind, _CLOSE)))
    return found


INSTRUCTIONS = tuple(_instructions())


def expert_for(phrase: str) -> Expert:
    """Return the expert that follows a phrase of the training language."""
    for instruction in INSTRUCTIONS:
        if phrase in instruction.phrases:
            return instruction.expert
    raise KeyError(phrase)
