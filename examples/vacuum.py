"""Assess your own agent: a robot vacuum cleaner in two rooms.

capscope check examples/vacuum.py:problem
capscope assess examples/vacuum.py:problem
capscope show runs/vacuum-problem-adaptive-0
"""

import json
import random
from dataclasses import asdict, dataclass, replace

from capscope import Intent, Limits, Predicate, Problem, Vocabulary


@dataclass(frozen=True)
class House:
    """The state of the simulator; the agent observes all of it."""

    room: str = "kitchen"
    battery: int = 4
    dirty: tuple[str, ...] = ("kitchen", "hall")


class Vacuum:
    """The simulator: the five methods of `capscope.problem.Simulator`."""

    def reset(self, seed):
        return self.restore(json.dumps(asdict(House())).encode(), seed)

    def restore(self, snapshot, seed):
        fields = json.loads(snapshot)
        self.house = House(fields["room"], fields["battery"], tuple(fields["dirty"]))
        self.random = random.Random(seed)  # all randomness comes from the seed
        return self.house

    def snapshot(self):
        return json.dumps(asdict(self.house)).encode()

    def actions(self):
        if self.house.battery == 0 and self.house.room == "hall":
            return []  # stranded: the world has ended
        moves = ["go hall" if self.house.room == "kitchen" else "go kitchen", "clean"]
        return [*moves, "charge"] if self.house.room == "kitchen" else moves

    def step(self, action):
        house = self.house
        if action == "charge":
            house = replace(house, battery=4)
        elif house.battery == 0:
            pass  # nothing moves without power
        elif action.startswith("go "):
            house = replace(house, room=action[3:], battery=house.battery - 1)
        elif self.random.random() < 0.8:  # one time in five, cleaning leaves the dirt
            left = tuple(room for room in house.dirty if room != house.room)
            house = replace(house, battery=house.battery - 1, dirty=left)
        self.house = house
        return house


class HouseAbstraction:
    """The abstraction: which atoms hold in a house."""

    vocabulary = Vocabulary(
        [Predicate("in", ("room",)), Predicate("clean", ("room",)), Predicate("charged")],
        {"kitchen": "room", "hall": "room"},
    )

    def __call__(self, house):
        atoms = {"in": [house.room], "clean": {"kitchen", "hall"} - set(house.dirty)}
        return self.vocabulary.state(
            atom
            for atom in self.vocabulary.atoms
            if (atom.predicate == "charged" and house.battery > 1)
            or (atom.arguments and atom.arguments[0] in atoms[atom.predicate])
        )


class Robot:
    """The agent: it cleans and goes where it is asked to, and ignores its battery."""

    def begin(self, intent: Intent, seed):
        return Pursuit(intent)


class Pursuit:
    """One attempt; nothing carries over to the next."""

    def __init__(self, intent):
        self.wanted = intent.literals[0]

    def act(self, house):
        atom, positive = self.wanted.atom, self.wanted.positive
        if HouseAbstraction.vocabulary.state([atom]) & HouseAbstraction()(house) and positive:
            return None  # it holds already
        if atom.predicate == "charged":
            return "charge" if positive and house.room == "kitchen" else None
        if not positive or house.battery == 0:
            return None
        room = atom.arguments[0]
        if house.room != room:
            return f"go {room}"
        return "clean" if atom.predicate == "clean" else None


def problem():
    """Put the parts together; an attempt may change the symbolic state up to three times."""
    return Problem(
        "vacuum", Vacuum(), Robot(), HouseAbstraction(), Limits(temporal_length=3, horizon=20)
    )
