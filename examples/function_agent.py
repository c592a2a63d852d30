"""Assess a plain Python function, in a world that is a function too: a butler who lights lamps.

capscope check examples/function_agent.py:problem
capscope assess examples/function_agent.py:problem
capscope show runs/function_agent-problem-adaptive-0
"""

from capscope import Limits, Predicate, Problem, Vocabulary
from capscope.world import FunctionAbstraction, FunctionAgent, FunctionWorld

ROOMS = ("hall", "study")
WORDS = Vocabulary(
    [Predicate("lit", ("room",)), Predicate("blown", ("room",))], dict.fromkeys(ROOMS, "room")
)


def press(lamps, room, rng):
    """The world: one lamp in ten blows when it is switched on, and then nothing helps."""
    if lamps[room] == "off":
        return {**lamps, room: "blown" if rng.random() < 0.1 else "lit"}
    return {**lamps, room: "off"} if lamps[room] == "lit" else lamps


def butler(lamps, intent):
    """The agent: presses a switch if that is any use, or does nothing."""
    literal = intent.literals[0]
    room = literal.atom.arguments[0]
    if literal.atom.predicate == "lit" and (lamps[room] == "lit") != literal.positive:
        return room
    return None


def seen(lamps):
    """The words: what holds."""
    return [f"{how}({room})" for room, how in lamps.items() if how != "off"]


def problem():
    """Put the parts together."""
    world = FunctionWorld(dict.fromkeys(ROOMS, "off"), press, actions=ROOMS)
    words = FunctionAbstraction(WORDS, seen)
    return Problem("butler", world, FunctionAgent(butler), words, Limits(horizon=5))
