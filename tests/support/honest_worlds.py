"""Families of honest agents in noisy worlds, with known truth.

Each agent does what is best for the request, knows the odds of its world, and treats all objects
alike; what goes wrong is chance. The symbolic state shows all of the world's state, so the exact
distribution of every execution is known. Parameters vary with the seed.
"""

import itertools
import random
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache, cached_property

from capscope.logic import Predicate, Vocabulary
from capscope.problem import Limits, Problem
from capscope.problem.functions import FunctionAbstraction, FunctionAttempt, FunctionWorld

_DISCOUNT = 0.99
_TIE = 1e-9
_REGULAR = 0.2
"""Outcomes of an action that are less probable are slips."""


@dataclass(frozen=True, eq=False)
class HonestWorld:
    """A world of plain states, the odds of its actions, and the best agent for it."""

    name: str
    vocabulary: Vocabulary
    start: tuple
    moves: object
    """A function from a state to its actions; each has its outcomes with their probabilities."""
    label: object
    """A function from a state to the atoms that hold."""
    temporal_length: int | None = 1
    steps: int = 12
    """The actions that the agent takes in one execution, at most."""
    random_ties: bool = False
    _policies: dict = field(default_factory=dict)

    @cached_property
    def states(self):
        """All states that any actions lead to, by symbolic state."""
        found, edge = {self.start}, [self.start]
        while edge:
            state = edge.pop()
            for outcomes in self.moves(state).values():
                new = [after for after in outcomes if after not in found]
                found.update(new)
                edge += new
        named = {self.vocabulary.state(self.label(state)): state for state in found}
        assert len(named) == len(found), "the labels must tell states apart"
        return named

    @cached_property
    def symbol(self):
        return {state: name for name, state in self.states.items()}

    def values(self, intent):
        """Return the discounted probability of achieving an intent from each state."""
        if intent not in self._policies:
            holds = intent.test(self.vocabulary)
            value = {state: float(holds(name)) for name, state in self.states.items()}
            moves = {s: list(self.moves(s).values()) for s in value if not value[s]}
            for _ in range(500):
                change = 0.0
                for state, options in moves.items():
                    best = max((_expected(value, o) for o in options), default=0.0) * _DISCOUNT
                    change = max(change, abs(best - value[state]))
                    value[state] = best
                if change < 1e-12:
                    break
            self._policies[intent] = value
        return self._policies[intent]

    def best_actions(self, state, intent):
        """Return the best actions; none if the intent holds, or is out of reach."""
        value = self.values(intent)
        if intent.holds(self.symbol[state], self.vocabulary) or not value[state]:
            return []
        worth = {a: _expected(value, o) for a, o in self.moves(state).items()}
        most = max(worth.values())
        ties = sorted(action for action, w in worth.items() if w > most - _TIE)
        return ties if self.random_ties else ties[:1]

    def problem(self):
        """Return the problem that is assessed."""

        def step(state, action, rng):
            outcomes = self.moves(state)[action]
            return rng.choices(list(outcomes), list(outcomes.values()))[0]

        return Problem(
            name=self.name,
            simulator=FunctionWorld(self.start, step, lambda state: list(self.moves(state))),
            agent=_BestAgent(self),
            abstraction=FunctionAbstraction(self.vocabulary, self.label),
            limits=Limits(temporal_length=self.temporal_length, horizon=self.steps + 1),
        )

    def distance(self, name, is_goal):
        """Return the number of actions from a state to a goal, without slips; infinite if none."""
        edge, found = {self.states[name]}, set()
        for steps in range(len(self.states)):
            if any(is_goal(self.symbol[state]) for state in edge):
                return steps
            found |= edge
            edge = {end for state in edge for end in self._regular_ends(state)} - found
        return float("inf")

    def _regular_ends(self, state):
        return [e for o in self.moves(state).values() for e, p in o.items() if p >= _REGULAR]

    def ends(self, name, intent):
        """Return the distribution of the symbolic state in which an execution ends."""
        key = name, intent
        if key in self._policies:
            return self._policies[key]
        first = self.states[name]
        done, going = defaultdict(float), {first: 1.0}
        for _ in range(self.steps):
            after = defaultdict(float)
            for state, p in going.items():
                best = self.best_actions(state, intent)
                if not best:
                    done[state] += p
                for action in best:
                    for end, q in self.moves(state)[action].items():
                        ended = self.temporal_length == 1 and end != first
                        (done if ended else after)[end] += p * q / len(best)
            going = after
        for state, p in going.items():
            done[state] += p
        found = {self.symbol[state]: p for state, p in done.items() if p > 0}
        return self._policies.setdefault(key, found)


class _BestAgent:
    def __init__(self, world):
        self._world = world

    def begin(self, intent, seed):
        rng, left = random.Random(seed), iter(range(self._world.steps))

        def act(state):
            best = self._world.best_actions(state, intent)
            return rng.choice(best) if best and next(left, None) is not None else None

        return FunctionAttempt(act)


def _expected(value, outcomes):
    return sum(p * value[end] for end, p in outcomes.items())


def _chance(intended, *others):
    """Return a distribution: the intended end, then others with their probabilities."""
    found = {intended: 1.0}
    for end, p in others:
        if end != intended and p:
            found[end] = found.get(end, 0.0) + p
            found[intended] -= p
    return found


def rooms(seed):
    """Rooms in a row; each move slips back with a small probability."""
    rng = random.Random(seed)
    number, slip = rng.choice((5, 6, 7, 8)), rng.choice((0.05, 0.01))
    names = [f"r{i}" for i in range(number)]
    words = Vocabulary([Predicate("at", ("room",))], dict.fromkeys(names, "room"))

    def moves(state):
        (i,) = state
        ends = {"left": (max(i - 1, 0),), "right": (min(i + 1, number - 1),)}
        back = {"left": ends["right"], "right": ends["left"]}
        return {a: _chance(end, (back[a], slip)) for a, end in ends.items()}

    start = (rng.randrange(number),)
    return HonestWorld("rooms", words, start, moves, lambda s: [f"at({names[s[0]]})"])


def levels(seed):
    """A level from 0 to 5: one step for each request, which sometimes does nothing."""
    rng = random.Random(seed)
    names = [f"n{i}" for i in range(6)]
    stays, two = rng.choice((0.0, 0.05, 0.1)), rng.choice((0.0, 0.05))
    words = Vocabulary([Predicate("level", ("number",))], dict.fromkeys(names, "number"))

    def moves(state):
        (i,) = state
        step = {"up": 1, "down": -1}
        ends = {a: (i + d, min(max(i + 2 * d, 0), 5)) for a, d in step.items() if 0 <= i + d <= 5}
        return {a: _chance((e,), ((i,), stays), ((f,), two)) for a, (e, f) in ends.items()}

    def label(state):
        return [f"level({names[state[0]]})"]

    stop = rng.choice((True, False))
    length, steps = (None, 1) if stop else (1, 6)
    return HonestWorld("levels", words, (rng.randrange(6),), moves, label, length, steps)


def grid(seed):
    """A grid with a wall or two, on which moves slip sideways; some agents walk all the way."""
    rng = random.Random(seed)
    width, height, slip = rng.choice((3, 4)), 3, rng.choice((0.02, 0.05, 0.1))
    inner = [(x, 1) for x in range(1, width - 1)]
    walls = set(rng.sample(inner, rng.choice((0, 1))))
    cells = [(x, y) for x in range(width) for y in range(height) if (x, y) not in walls]
    by_lines = rng.random() < 0.5
    objects = {f"c{x}{y}": "cell" for x, y in cells}
    predicates = [Predicate("at", ("cell",))]
    if by_lines:
        objects = {f"x{x}": "column" for x in range(width)}
        objects |= {f"y{y}": "row" for y in range(height)}
        predicates = [Predicate("column", ("column",)), Predicate("row", ("row",))]

    def label(cell):
        x, y = cell
        return [f"column(x{x})", f"row(y{y})"] if by_lines else [f"at(c{x}{y})"]

    def moves(cell):
        def to(dx, dy):
            end = cell[0] + dx, cell[1] + dy
            return end if end in objects_at else cell

        objects_at = set(cells)
        found = {}
        for name, (dx, dy) in {"n": (0, -1), "s": (0, 1), "w": (-1, 0), "e": (1, 0)}.items():
            end = to(dx, dy)
            if end != cell:
                found[name] = _chance(end, (to(dy, dx), slip / 2), (to(-dy, -dx), slip / 2))
        return found

    return HonestWorld(
        "grid", Vocabulary(predicates, objects), rng.choice(cells), moves, label,
        rng.choice((1, None)), random_ties=rng.random() < 0.5,
    )  # fmt: skip


def porter(seed):
    """A porter with one hand, who must put down before picking up, and may let things fall."""
    rng = random.Random(seed)
    places, boxes = ["hall", "yard", "shed"][: rng.choice((2, 3))], ["box1", "box2"]
    fall, miss = rng.choice((0.0, 0.03, 0.1)), rng.choice((0.0, 0.05))
    words = Vocabulary(
        [Predicate("porter", ("place",)), Predicate("holding", ("box",)),
         Predicate("in", ("box", "place")), Predicate("free")],
        {**dict.fromkeys(places, "place"), **dict.fromkeys(boxes, "box")},
    )  # fmt: skip

    def label(state):
        here, *where = state
        found = [f"porter({here})"]
        held = [box for box, at in zip(boxes, where, strict=True) if at == "hand"]
        found += [f"holding({box})" for box in held] or ["free"]
        pairs = zip(boxes, where, strict=True)
        return found + [f"in({box},{at})" for box, at in pairs if at != "hand"]

    def moves(state):
        here, *where = state
        put = tuple(here if at == "hand" else at for at in where)
        found = {}
        for place in places:
            if place != here:
                found[f"go {place}"] = _chance((place, *where), ((place, *put), fall))
        if "hand" in where:
            found["put"] = {(here, *put): 1.0}
        for i, at in enumerate(where):
            if at == here and "hand" not in where:
                taken = (here, *where[:i], "hand", *where[i + 1 :])
                found[f"take {boxes[i]}"] = _chance(taken, (state, miss))
        return found

    start = (rng.choice(places), *(rng.choice(places) for _ in boxes))
    return HonestWorld("porter", words, start, moves, label, rng.choice((1, None)))


def doors(seed):
    """A chain of rooms behind locked doors; the key of each lies before it, and stays in hand."""
    rng = random.Random(seed)
    number, slip = rng.choice((3, 4)), rng.choice((0.0, 0.05))
    jam, closes = rng.choice((0.0, 0.1)), rng.random() < 0.5
    rooms_, keys = [f"r{i}" for i in range(number)], [f"k{i}" for i in range(1, number)]
    gates = [f"d{i}" for i in range(1, number)]
    objects = dict.fromkeys(rooms_, "room") | dict.fromkeys(keys, "key")
    words = Vocabulary(
        [Predicate("at", ("room",)), Predicate("have", ("key",)), Predicate("open", ("door",))],
        objects | dict.fromkeys(gates, "door"),
    )

    def label(state):
        room, held, opened = state
        found = [f"at({rooms_[room]})"]
        found += [f"have({k})" for i, k in enumerate(keys) if held >> i & 1]
        return found + [f"open({d})" for i, d in enumerate(gates) if opened >> i & 1]

    def moves(state):
        room, held, opened = state
        found = {}
        for action, door, end in (("back", room - 1, room - 1), ("on", room, room + 1)):
            if 0 <= end < number and opened >> door & 1:
                found[action] = _chance((end, held, opened), (state, slip))
        if room < number - 1:
            bit = 1 << room
            if not held & bit:
                found["take"] = {(room, held | bit, opened): 1.0}
            elif not opened & bit:
                found["open"] = _chance((room, held, opened | bit), (state, jam))
            elif closes:
                found["close"] = {(room, held, opened & ~bit): 1.0}
        return found

    length = rng.choice((1, None))
    return HonestWorld("doors", words, (0, 0, 0), moves, label, length, 20)


def robots(seed):
    """Two robots in a corridor who cannot pass: one must give way before the other gets through."""
    rng = random.Random(seed)
    number, slip = rng.choice((3, 4)), rng.choice((0.0, 0.05, 0.1))
    names, bays = ("ann", "bo"), [f"p{i}" for i in range(number)]
    ring = rng.random() < 0.5
    words = Vocabulary(
        [Predicate("at", ("robot", "place"))],
        dict.fromkeys(names, "robot") | dict.fromkeys(bays, "place"),
    )

    def label(state):
        return [f"at({name},{bays[i]})" for name, i in zip(names, state, strict=True)]

    def moves(state):
        found = {}
        for robot, way in itertools.product((0, 1), (-1, 1)):
            end = state[robot] + way
            end = end % number if ring else end
            if 0 <= end < number and end != state[1 - robot]:
                after = (end, state[1]) if robot == 0 else (state[0], end)
                found[f"{names[robot]} {way}"] = _chance(after, (state, slip))
        return found

    start = tuple(rng.sample(range(number), 2))
    return HonestWorld(
        "robots", words, start, moves, label, rng.choice((1, None)), random_ties=rng.random() < 0.5
    )


def battery(seed):
    """A cart whose battery drains as it moves, and which is charged at the dock."""
    rng = random.Random(seed)
    number, drain = rng.choice((3, 4)), rng.choice((0.3, 0.5, 1.0))
    most = rng.choice((2, 3))
    slip = rng.choice((0.0, 0.05))
    stops, charge = [f"s{i}" for i in range(number)], [f"b{i}" for i in range(most + 1)]
    words = Vocabulary(
        [Predicate("at", ("stop",)), Predicate("charge", ("level",))],
        dict.fromkeys(stops, "stop") | dict.fromkeys(charge, "level"),
    )

    def label(state):
        return [f"at({stops[state[0]]})", f"charge({charge[state[1]]})"]

    def moves(state):
        place, left = state
        found = {}
        for way in (-1, 1):
            end = place + way
            if 0 <= end < number and left:
                outcomes = {}
                for after, p in _chance(end, (place, slip)).items():
                    for rest, q in ((left, 1 - drain), (left - 1, drain)):
                        outcomes[after, rest] = outcomes.get((after, rest), 0.0) + p * q
                found[str(way)] = {o: p for o, p in outcomes.items() if p}
        if place == 0 and left < most:
            found["charge"] = {(0, left + 1): 1.0}
        return found

    return HonestWorld("battery", words, (0, most), moves, label, rng.choice((1, None)))


def clerk(seed, slips=None):
    """A clerk who switches lamps, and now and then another one instead, or also another one."""
    rng = random.Random(seed)
    lamps = [f"l{i}" for i in range(rng.choice((4, 5)))]
    wrong, also = slips or rng.choice(((0.1, 0.0), (0.0, 0.1), (0.05, 0.05), (0.0, 0.0)))
    words = Vocabulary([Predicate("on", ("lamp",))], dict.fromkeys(lamps, "lamp"))

    def label(state):
        return [f"on({lamp})" for lamp, lit in zip(lamps, state, strict=True) if lit]

    def flipped(state, *which):
        return tuple(lit ^ (i in which) for i, lit in enumerate(state))

    def moves(state):
        found = {}
        for i, lamp in enumerate(lamps):
            others = [j for j in range(len(lamps)) if j != i]
            found[lamp] = _chance(
                flipped(state, i),
                *((flipped(state, j), wrong / len(others)) for j in others),
                *((flipped(state, i, j), also / len(others)) for j in others),
            )
        return found

    return HonestWorld("clerk", words, (False,) * len(lamps), moves, label, None, 1)


FAMILIES = {f.__name__: f for f in (rooms, levels, grid, porter, doors, robots, battery, clerk)}
make = cache(lambda family, seed: FAMILIES[family](seed))
