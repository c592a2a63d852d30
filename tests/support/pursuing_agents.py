"""A delivery world, and what agents do in it: pursue what they are asked for, or something else.

A van drives along a road of places; a parcel can be loaded and unloaded; lamps can be switched
anywhere. One execution is one step. Every answer is known beforehand.
"""

import random
from collections import Counter, deque
from itertools import pairwise

from capscope.logic import Intent
from capscope.model import StateGraph
from support.quirky_worlds import World

PLACES = ("a", "b", "c", "d")
LAMPS = ("x", "y")
DELIVERY = World(
    "delivery",
    [("van", "place"), ("parcel", "place"), ("loaded",), ("lit", "lamp")],
    {**dict.fromkeys(PLACES, "place"), **dict.fromkeys(LAMPS, "lamp")},
    {
        **{
            f"drive {p} {q}": (f"van({p})", f"van({q}) & not van({p})")
            for p, q in [*pairwise(PLACES), *pairwise(PLACES[::-1])]
        },
        **{f"load {p}": (f"van({p}) & parcel({p})", f"loaded() & not parcel({p})") for p in PLACES},
        **{f"unload {p}": (f"van({p}) & loaded()", f"parcel({p}) & not loaded()") for p in PLACES},
        **{f"light {x}": (f"not lit({x})", f"lit({x})") for x in LAMPS},
        **{f"darken {x}": (f"lit({x})", f"not lit({x})") for x in LAMPS},
    },
    "van(a) & parcel(c)",
)
WORDS = DELIVERY.vocabulary
INTENTS = tuple(
    Intent.parse(text)
    for text in [
        *(f"van({p})" for p in PLACES), *(f"parcel({p})" for p in PLACES), "loaded()",
        *(f"lit({x})" for x in LAMPS), *(f"not lit({x})" for x in LAMPS),
    ]
)  # fmt: skip


def reachable(world=DELIVERY):
    """List the states of a world, nearest first."""
    found, waiting = {world.start: None}, deque([world.start])
    while waiting:
        state = waiting.popleft()
        for action in world.available(state):
            after = world.after(state, action)
            if after not in found:
                found[after] = None
                waiting.append(after)
    return list(found)


STATES = reachable()


def _answers(world, intent):
    """Return where one step towards an intent leads, from each state."""
    states = reachable(world)
    steps = {state: 0 for state in states if intent.holds(state, world.vocabulary)}
    waiting = deque(steps)
    before = {}
    for state in states:
        for action in world.available(state):
            before.setdefault(world.after(state, action), []).append(state)
    while waiting:
        state = waiting.popleft()
        for earlier in before.get(state, ()):
            if earlier not in steps:
                steps[earlier] = steps[state] + 1
                waiting.append(earlier)
    answers = {}
    for state in states:
        ends = [world.after(state, action) for action in world.available(state)]
        nearer = [end for end in ends if steps.get(end, state) == steps.get(state, 0) - 1]
        answers[state] = nearer[0] if nearer else state
    return answers


PURSUED = {(s, i): after for i in INTENTS for s, after in _answers(DELIVERY, i).items()}
"""What an agent does that pursues each intent."""


def permuted(seed=0):
    """Return what an agent does that mistakes each intent for another one."""
    others = list(INTENTS)
    while any(one == other for one, other in zip(INTENTS, others, strict=True)):
        random.Random(seed).shuffle(others)
        seed += 1
    mistaken = dict(zip(INTENTS, others, strict=True))
    return {(state, intent): PURSUED[state, mistaken[intent]] for state, intent in PURSUED}


def transitions(truth, pairs):
    """Return what some pairs of a state and an intent show if each is tried once."""
    return Counter({(s, INTENTS.index(i), truth[s, i]): 1 for s, i in pairs})


def drawn_pairs(number, seed=0):
    """Draw different pairs of a state and an intent."""
    return random.Random(seed).sample(sorted(PURSUED, key=str), number)


def graph_of(seen, intents=INTENTS):
    """Return a graph that has seen some transitions."""
    graph = StateGraph(WORDS, intents)
    graph.node(DELIVERY.start)
    graph.update(seen)
    return graph
