"""Agents with one habit in plain worlds: forgetful, confused, tired, or careless with one object.

An action makes an atom true or false. An agent plans its actions when it is asked, so executions
can be repeated without some of them.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from capscope import Intent, Limits, Predicate, Problem, Vocabulary
from capscope.problem.functions import (
    FunctionAbstraction,
    FunctionAgent,
    FunctionAttempt,
    FunctionWorld,
)
from capscope_experiments.worlds.planted import Planted, PlantedWorld, holding, only
from capscope_experiments.worlds.tabulated import flags

Atoms = tuple[str, ...]
"""The atoms that hold, in order."""
Plan = Callable[[Atoms, str, random.Random, int], Sequence[str]]
"""The actions for a request, given its text and number; each is the literal that it makes true."""


@dataclass
class PlanningAgent:
    """An agent that plans its actions when it is asked; it counts what it was asked for."""

    plan: Plan
    asked: int = field(default=0)

    def begin(self, intent: Intent, seed: int) -> FunctionAttempt:
        """Start an attempt: one action after the other."""
        self.asked += 1
        number, rng = self.asked, random.Random(seed)
        left: list[str] | None = None

        def act(atoms: Atoms) -> str | None:
            nonlocal left
            if left is None:
                left = list(self.plan(atoms, str(intent), rng, number))
            return left.pop(0) if left else None

        return FunctionAttempt(act)


def _after(atoms: Atoms, action: str) -> Atoms:
    atom = action.removeprefix("not ")
    changed = {*atoms, atom} if atom == action else {*atoms} - {atom}
    return tuple(sorted(changed))


def habit(
    name: str,
    predicates: Sequence[Predicate],
    objects: Mapping[str, str],
    asked: Sequence[str],
    plan: Plan,
) -> Problem:
    """Return a world in which each action makes an atom true or false.

    Args:
        name: The name of the problem.
        predicates: Of its vocabulary.
        objects: Maps objects to types.
        asked: The requests.
        plan: Returns the actions for the atoms that hold, a request, and its number.

    Returns:
        The problem.
    """
    words = Vocabulary(predicates, objects)
    actions = [f"{sign}{atom}" for atom in words.atoms for sign in ("", "not ")]
    return Problem(
        name=name,
        simulator=FunctionWorld((), _after, actions),
        agent=PlanningAgent(plan),
        abstraction=FunctionAbstraction(words, lambda atoms: atoms),
        limits=Limits(temporal_length=None, horizon=4),
        intents=tuple(asked),
    )


def _signed(predicate: str, names: Sequence[str]) -> list[str]:
    return [f"{sign}{predicate}({name})" for name in names for sign in ("", "not ")]


SHUTTERS = ("bay", "dormer", "porch")


def night() -> Problem:
    """Return an agent that opens no shutter at night."""

    def plan(atoms: Atoms, request: str, rng: random.Random, number: int) -> Sequence[str]:
        ignores = request.startswith("open") and "night()" in atoms
        return [] if ignores else [request]

    predicates = [Predicate("open", ("shutter",)), Predicate("lit"), Predicate("night")]
    asked = [*_signed("open", SHUTTERS), "lit()", "not lit()", "night()", "not night()"]
    return habit("night", predicates, dict.fromkeys(SHUTTERS, "shutter"), asked, plan)


COLOURS = ("blue", "green", "pink", "red")
CONFUSES = 0.4
_TWINS = {"pink": "red", "red": "pink"}


def confused() -> Problem:
    """Return an agent that takes pink for red, and red for pink, in 40 %."""

    def plan(atoms: Atoms, request: str, rng: random.Random, number: int) -> Sequence[str]:
        name = request.partition("(")[2][:-1]
        if name in _TWINS and rng.random() < CONFUSES:
            return [request.replace(name, _TWINS[name])]
        return [request]

    lamps = dict.fromkeys(COLOURS, "lamp")
    return habit("confused", [Predicate("on", ("lamp",))], lamps, _signed("on", COLOURS), plan)


CHANGES_AFTER = 300
TIRED = 0.4


def tired() -> Problem:
    """Return an agent that succeeds always at first, and with 0.4 after 300 executions."""

    def plan(atoms: Atoms, request: str, rng: random.Random, number: int) -> Sequence[str]:
        return [] if number > CHANGES_AFTER and rng.random() >= TIRED else [request]

    names = ("left", "middle", "right")
    lamps = dict.fromkeys(names, "lamp")
    return habit("tired", [Predicate("on", ("lamp",))], lamps, _signed("on", names), plan)


CRATES = ("a", "b", "c", "d")


def exception() -> Problem:
    """Return an agent that scratches one of four crates whenever it stores it."""

    def plan(atoms: Atoms, request: str, rng: random.Random, number: int) -> Sequence[str]:
        return [request, "scratched(d)"] if request == "stored(d)" else [request]

    predicates = [Predicate("stored", ("crate",)), Predicate("scratched", ("crate",))]
    asked = _signed("stored", CRATES)
    return habit("exception", predicates, dict.fromkeys(CRATES, "crate"), asked, plan)


PLACES = ("dock", "s1", "s2")
BOXES = ("blue", "glass")
RUNS_LOW = 0.1
_LEFT_OPEN = " and leave the gate open"


class Warehouse:
    """A robot carries boxes between a dock and two shelves behind a gate.

    - It shuts the gate when it drives through, but not when its battery is low.
    - The glass box breaks for good with some probability when it is put down on a shelf.
    - Each drive runs the battery low with 0.1; the robot charges at the dock.
    """

    def __init__(self, breaks: float) -> None:
        self.breaks = breaks
        self.vocabulary = Vocabulary(
            [
                Predicate("robot-at", ("place",)), Predicate("box-at", ("box", "place")),
                Predicate("holding", ("box",)), Predicate("broken", ("box",)),
                Predicate("gate-open"), Predicate("battery-low"),
            ],
            {**dict.fromkeys(PLACES, "place"), **dict.fromkeys(BOXES, "box")},
        )  # fmt: skip
        self.start = tuple(sorted(("robot-at(dock)", "box-at(blue,s1)", "box-at(glass,dock)")))

    def actions(self, atoms: Atoms) -> list[str]:
        """List what the robot can do."""
        here, held = _argument("robot-at", atoms), _argument("holding", atoms)
        found = [f"drive {place}" for place in PLACES if place != here]
        found += [f"{drive}{_LEFT_OPEN}" for drive in found]
        found += [f"put {held}"] if held else []
        found += [f"pick {box}" for box in BOXES if not held and f"box-at({box},{here})" in atoms]
        found += ["charge"] if here == "dock" else []
        return [*found, "shut"]

    def step(self, atoms: Atoms, action: str, rng: random.Random) -> Atoms:
        """Do one thing."""
        here = _argument("robot-at", atoms)
        after = set(atoms)
        verb, _, name = action.removesuffix(_LEFT_OPEN).partition(" ")
        match verb:
            case "drive":
                after ^= {f"robot-at({here})", f"robot-at({name})"}
                if "dock" in (here, name):
                    opened = {"gate-open()"}
                    after = after | opened if action.endswith(_LEFT_OPEN) else after - opened
                after |= {"battery-low()"} if rng.random() < RUNS_LOW else set()
            case "pick" | "put":
                after ^= {f"holding({name})", f"box-at({name},{here})"}
                if action == "put glass" and here != "dock" and rng.random() < self.breaks:
                    after.add("broken(glass)")
            case "charge":
                after -= {"battery-low()"}
            case "shut":
                after -= {"gate-open()"}
        return tuple(sorted(after))

    def _drive(self, place: str, atoms: Atoms) -> str:
        return f"drive {place}{_LEFT_OPEN if 'battery-low()' in atoms else ''}"

    def _fetch(self, box: str, atoms: Atoms) -> str | None:
        held = _argument("holding", atoms)
        if held:
            return None if held == box else f"put {held}"
        at = next(p for p in PLACES if f"box-at({box},{p})" in atoms)
        return f"pick {box}" if f"robot-at({at})" in atoms else self._drive(at, atoms)

    def act(self, atoms: Atoms, intent: Intent) -> str | None:
        """Take the next step; decline what is not about getting somewhere or tidying up."""
        (literal,) = intent.literals
        atom, arguments = str(literal.atom), literal.atom.arguments
        if (atom in atoms) == literal.positive:
            return None
        match literal.atom.predicate, literal.positive:
            case "robot-at", True:
                return self._drive(arguments[0], atoms)
            case "box-at", True:
                box, place = arguments
                if f"holding({box})" not in atoms:
                    return self._fetch(box, atoms)
                there = f"robot-at({place})" in atoms
                return f"put {box}" if there else self._drive(place, atoms)
            case "holding", True:
                return self._fetch(arguments[0], atoms)
            case "holding", False:
                return f"put {arguments[0]}"
            case "battery-low", False:
                return "charge" if "robot-at(dock)" in atoms else self._drive("dock", atoms)
            case "gate-open", False:
                return "shut"
        return None


def _argument(predicate: str, atoms: Atoms) -> str:
    """Return the argument of the atom with a predicate; empty if none holds."""
    found = (atom for atom in atoms if atom.startswith(f"{predicate}("))
    return next(found, "").removeprefix(f"{predicate}(").removesuffix(")")


def warehouse(breaks: float = 0.04, *, whole: bool = False) -> Problem:
    """Return the warehouse; its capabilities are discovered.

    Args:
        breaks: How often the glass breaks when it is put down on a shelf.
        whole: Whether an execution is a whole task; otherwise it ends with the first change.

    Returns:
        The problem.
    """
    world = Warehouse(breaks)
    return Problem(
        name="warehouse",
        simulator=FunctionWorld(world.start, world.step, world.actions),
        agent=FunctionAgent(world.act),
        abstraction=FunctionAbstraction(world.vocabulary, lambda atoms: atoms),
        limits=Limits(temporal_length=None if whole else 1, horizon=8),
    )


BREAKAGE = Planted(
    "breakage",
    ("box-at(x,y)", "holding(x)", "not holding(x)", "robot-at(x)", "not battery-low()"),
    "broken(glass)",
    None,
)


def _leaves_open(atoms: frozenset[str], objects: Mapping[str, str]) -> bool | None:
    """Return whether a low battery leaves the gate open; None if it depends on the route."""
    if "battery-low()" not in atoms:
        return False
    goal = objects.get("y", objects["x"])
    box = f"box-at({objects['x']}"
    lies = next((place for place in PLACES if f"{box},{place})" in atoms), None)
    here = lies or next(place for place in PLACES if f"robot-at({place})" in atoms)
    return True if (here == "dock") is not (goal == "dock") else None


GATE = Planted("gate", ("robot-at(x)", "box-at(x,y)"), "gate-open()", _leaves_open)
WORLDS = {
    "night": PlantedWorld(
        night, (Planted("ignores", ("open(x)",), "", holding("night()"), "success"),), 300
    ),
    "flag": PlantedWorld(
        flags, (Planted("drop", ("lit()",), "", holding("not calm()"), "success"),), 600
    ),
    "confused": PlantedWorld(
        confused,
        tuple(
            Planted(f"{asked} for {taken}", ("on(x)",), f"on({taken})", only("x", asked))
            for asked, taken in _TWINS.items()
        ),
        300,
    ),
    "tired": PlantedWorld(tired, (Planted("tires", ("on(x)",), "", None, "drift"),), 900),
    "exception": PlantedWorld(
        exception, (Planted("scratches", ("stored(x)",), "scratched(x)", only("x", "d")),), 100
    ),
} | {
    f"warehouse{'-whole' * whole}-{percent}": PlantedWorld(
        partial(warehouse, percent / 100, whole=whole), (BREAKAGE, GATE), 1500
    )
    for percent in (2, 4, 5)
    for whole in (False, True)
}
