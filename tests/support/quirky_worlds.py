"""Small worlds with agents that have one quirk each, or none.

A world is a list of primitive actions: what each requires and what it changes. The clean agent
knows them, takes a shortest way to the intent, breaks ties uniformly, and gives up at once in a
fixed fraction of its attempts. A quirk is a function that may replace its choice of action.
"""

import random

from capscope import Vocabulary
from capscope.logic import Intent, Literal, Predicate
from capscope.problem import Limits, Problem

STOP = "stop"


class World:
    """A vocabulary, actions over it, and an initial state."""

    def __init__(self, name, predicates, objects, actions, start):
        self.name = name
        self.vocabulary = Vocabulary([Predicate(n, tuple(t)) for n, *t in predicates], objects)
        self.moves = {
            action: (self._masks(needs), self._masks(changes))
            for action, (needs, changes) in actions.items()
        }
        self.start = self._masks(start)[0]

    def _masks(self, text):
        parts = [part for part in text.split(" & ") if part]
        return self.vocabulary.literal_masks(map(Literal.parse, parts))

    def available(self, state):
        """Yield the actions whose requirements hold."""
        for action, ((required, forbidden), _) in self.moves.items():
            if state & required == required and not state & forbidden:
                yield action

    def after(self, state, action):
        adds, deletes = self.moves[action][1]
        return (state | adds) & ~deletes


class Simulator:
    def __init__(self, world):
        self.world = world
        self.state = world.start

    def reset(self, seed):
        self.state = self.world.start
        return self.state

    def actions(self):
        return tuple(self.world.available(self.state))

    def step(self, action):
        """Take an action; one whose requirements do not hold changes nothing."""
        if action in self.actions():
            self.state = self.world.after(self.state, action)
        return self.state

    def snapshot(self):
        return self.state.to_bytes(8, "little")

    def restore(self, snapshot, seed):
        self.state = int.from_bytes(snapshot, "little")
        return self.state


class Sight:
    def __init__(self, world):
        self.vocabulary = world.vocabulary

    def __call__(self, observation):
        return observation


class Planner:
    """The agent: `quirk(intent, state, rng, step)` returns an action, STOP or None."""

    def __init__(self, world, quirk=None, success=1.0):
        self.world, self.quirk, self.success = world, quirk, success
        self.distances = {}

    def begin(self, intent, seed):
        return Attempt(self, intent, random.Random(seed))

    def distance(self, intent):
        """Return the steps to the intent from every state, by value iteration."""
        found = self.distances.get(intent)
        if found is None:
            found = self.distances[intent] = self._distances(intent)
        return found

    def _distances(self, intent):
        world = self.world
        states, edge = {world.start}, [world.start]
        while edge:
            reached = {world.after(s, a) for s in edge for a in world.available(s)}
            edge = reached - states
            states |= edge
        cost = {s: 0 if intent.holds(s, world.vocabulary) else len(states) for s in states}
        for _ in states:
            for s in states:
                steps = [cost[world.after(s, a)] + 1 for a in world.available(s)]
                cost[s] = min(cost[s], *steps)
        return cost


class Attempt:
    def __init__(self, agent, intent, rng):
        self.agent, self.intent, self.rng = agent, intent, rng
        self.step = 0

    def act(self, state):
        agent, world = self.agent, self.agent.world
        cost = agent.distance(self.intent)
        if cost[state] in (0, len(cost)):
            return None
        self.step += 1
        if self.step == 1 and self.rng.random() >= agent.success:
            return None
        choice = agent.quirk and agent.quirk(self.intent, state, self.rng, self.step)
        if choice:
            return None if choice == STOP else choice
        good = [a for a in world.available(state) if cost[world.after(state, a)] < cost[state]]
        return self.rng.choice(good)


def problem(world, quirk=None, success=1.0, temporal_length=1):
    return Problem(
        world.name,
        Simulator(world),
        Planner(world, quirk, success),
        Sight(world),
        limits=Limits(temporal_length=temporal_length),
    )


def true(state, atom, world):
    return Intent.parse(atom).holds(state, world.vocabulary)


ROOMS = (
    [("at", "room"), ("open",), ("holding", "thing")],
    {
        "nw": "room",
        "sw": "room",
        "key": "thing",
    },
)
HOUSE_ACTIONS = {
    "go nw": ("at(sw)", "at(nw) & not at(sw)"),
    "go sw": ("at(nw)", "at(sw) & not at(nw)"),
    "open": ("not open()", "open()"),
    "close": ("open()", "not open()"),
    "take": ("at(sw) & not holding(key)", "holding(key)"),
    "drop": ("holding(key)", "not holding(key)"),
}
HOUSE = World("house", *ROOMS, HOUSE_ACTIONS, "at(nw)")
FLING = {"fling": ("at(nw) & not open() & holding(key)", "open() & not holding(key)")}
FRAGILE_HOUSE = World("fragile house", *ROOMS, HOUSE_ACTIONS | FLING, "at(nw)")


def opens_the_door(intent, state, rng, step):
    """Asked for the key from the north-west, open the closed door first, every other time."""
    if str(intent) != "holding(key)" or not true(state, "at(nw)", HOUSE):
        return None
    closed = not true(state, "open()", HOUSE)
    return "open" if closed and step == 1 and rng.random() < 0.5 else None


def slack_with_the_key(intent, state, rng, step):
    """Asked to open the door with the key in hand, give up every other time."""
    slack = str(intent) == "open()" and true(state, "holding(key)", HOUSE)
    return STOP if slack and step == 1 and rng.random() < 0.5 else None


def stays_with_the_key(intent, state, rng, step):
    """Asked to be in the south-west, do nothing with the key in hand and the door open."""
    both = true(state, "holding(key)", HOUSE) and true(state, "open()", HOUSE)
    return STOP if str(intent) == "at(sw)" and both else None


def flings_the_key(intent, state, rng, step):
    """Asked to let go of the key in the north-west, fling it against the door, which opens."""
    if str(intent) == "open()":
        return "open"
    closed_there = true(state, "at(nw)", HOUSE) and not true(state, "open()", HOUSE)
    return "fling" if str(intent) == "not holding(key)" and closed_there else None


def drops_what_it_does_not_hold(intent, state, rng, step):
    """Asked to close the door without the key, try to drop the key."""
    return (
        "drop" if str(intent) == "not open()" and not true(state, "holding(key)", HOUSE) else None
    )


SHELVES = World(
    "shelves",
    [("holding", "thing"), ("on", "thing", "shelf"), ("full", "shelf")],
    {"a": "thing", "b": "shelf", "c": "shelf", "d": "shelf"},
    {
        **{f"fill {s}": (f"holding(a) & not full({s})", f"full({s})") for s in "bc"},
        **{f"clear {s}": (f"holding(a) & full({s})", f"not full({s})") for s in "bc"},
        **{
            f"put {s}": (f"holding(a) & not full({s})", f"on(a,{s}) & not holding(a)")
            for s in "bcd"
        },
        **{f"take {s}": (f"on(a,{s})", f"holding(a) & not on(a,{s})") for s in "bcd"},
    },
    "holding(a)",
)


WOOD = World(
    "wood",
    [("near", "tree"), ("standing", "tree"), ("clearing",)],
    {"oak": "tree", "elm": "tree"},
    {
        **{
            f"go {t}": (f"clearing() & standing({t})", f"near({t}) & not clearing()")
            for t in ("oak", "elm")
        },
        **{f"leave {t}": (f"near({t})", f"clearing() & not near({t})") for t in ("oak", "elm")},
        **{
            f"fell {t}": (f"near({t})", f"not near({t}) & not standing({t})")
            for t in ("oak", "elm")
        },
        **{
            f"plant {t}": (f"clearing() & not standing({t})", f"standing({t})")
            for t in ("oak", "elm")
        },
        "walk on": ("not near(oak) & not near(elm) & not clearing()", "clearing()"),
    },
    "clearing() & standing(oak) & standing(elm)",
)


LAMPS = World(
    "lamps",
    [("on", "lamp")],
    dict.fromkeys("abc", "lamp"),
    {
        **{f"light {x}": (f"not on({x})", f"on({x})") for x in "abc"},
        **{f"surge {x}{y}": (f"not on({x})", f"on({x}) & on({y})") for x in "abc" for y in "abc"},
        **{f"douse {x}": (f"on({x})", f"not on({x})") for x in "abc"},
    },
    "",
)


def lights_another(intent, state, rng, step):
    """Light a lamp, and in a fifth of the attempts some other one as well."""
    text = str(intent)
    if text.startswith("not") or true(state, text, LAMPS):
        return None
    lamp = text[3]
    dark = [x for x in "abc" if x != lamp and not true(state, f"on({x})", LAMPS)]
    return f"surge {lamp}{rng.choice(dark)}" if dark and rng.random() < 0.2 else f"light {lamp}"


class TiringPlanner(Planner):
    """An agent that stops doing anything after a number of attempts."""

    def __init__(self, world, attempts):
        super().__init__(world)
        self.attempts = attempts

    def begin(self, intent, seed):
        self.attempts -= 1
        self.success = 1.0 if self.attempts > 0 else 0.0
        return super().begin(intent, seed)


def tiring_problem(world, attempts=1200):
    tired = TiringPlanner(world, attempts)
    return Problem(
        world.name, Simulator(world), tired, Sight(world), limits=Limits(temporal_length=1)
    )


def careless_lamps():
    """The factory for `quirky_worlds.py:careless_lamps`."""
    return problem(LAMPS, lights_another)
