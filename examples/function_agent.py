"""Assess an agent and a world that are plain functions: a butler who switches lamps on and off.

capscope check examples/function_agent.py:problem
capscope assess examples/function_agent.py:problem
capscope show runs/function_agent-problem-adaptive-0
"""

from capscope import Limits, Predicate, Problem, Vocabulary
from capscope.problem import FunctionAbstraction, FunctionAgent, FunctionWorld

ROOMS = ("hall", "study")
VOCABULARY = Vocabulary(
    [Predicate("lit", ("room",)), Predicate("blown", ("room",))], dict.fromkeys(ROOMS, "room")
)


def press(lamps, room, rng):
    """Step the world: one lamp in ten blows when it is switched on, and stays so."""
    if lamps[room] == "off":
        return {**lamps, room: "blown" if rng.random() < 0.1 else "lit"}
    return {**lamps, room: "off"} if lamps[room] == "lit" else lamps


def butler(lamps, intent):
    """Act for the agent: press a switch if that helps, or stop."""
    literal = intent.literals[0]
    room = literal.atom.arguments[0]
    if literal.atom.predicate == "lit" and (lamps[room] == "lit") != literal.positive:
        return room
    return None


def atoms(lamps):
    """Return the atoms that hold."""
    return [f"{how}({room})" for room, how in lamps.items() if how != "off"]


def problem():
    """Put the parts together."""
    world = FunctionWorld(dict.fromkeys(ROOMS, "off"), press, actions=ROOMS)
    abstraction = FunctionAbstraction(VOCABULARY, atoms)
    return Problem("butler", world, FunctionAgent(butler), abstraction, Limits(horizon=5))
