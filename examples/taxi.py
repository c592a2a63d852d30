"""Assess a driver in Gymnasium's Taxi that has an undocumented habit.

capscope check examples/taxi.py:problem
capscope assess examples/taxi.py:problem --max-executions 1500
capscope show runs/taxi-problem-adaptive-0 --findings
"""

from functools import cache

import gymnasium as gym

from capscope import Limits, Predicate, Vocabulary
from capscope.adapters.gymnasium import Native, gymnasium_problem

TAXI = gym.make("Taxi-v4").unwrapped
STANDS = dict(zip(("red", "green", "yellow", "blue"), TAXI.locs, strict=True))
PICK_UP, DROP_OFF, RIDING = 4, 5, 4
AT = [Predicate(name, ("stand",)) for name in ("taxi-at", "passenger-at")]
OBJECTS = dict.fromkeys(STANDS, "stand")  # distinct: some are farther away than others
VOCABULARY = Vocabulary([*AT, Predicate("riding")], OBJECTS, distinct_types=["stand"])


def label(observation, env):
    """Return the atoms that hold: the stand the taxi is at, if any, and where the passenger is."""
    row, column, passenger, _ = env.decode(observation)
    taxi = [f"taxi-at({name})" for name, place in STANDS.items() if place == (row, column)]
    return [*taxi, "riding" if passenger == RIDING else f"passenger-at({[*STANDS][passenger]})"]


@cache
def turn(place, goal):
    """Return the first move of a shortest way from one place to another."""
    first_moves, queue = {place: None}, [place]
    for here in queue:
        for move in range(4):
            there = TAXI.decode(TAXI.P[TAXI.encode(*here, 0, 0)][move][0][1])[:2]
            if there not in first_moves:
                first_moves[there] = move if here == place else first_moves[here]
                queue.append(there)
    return first_moves[goal]


def drive(observation, intent):
    """Take one step toward the intent; None refuses it."""
    row, column, passenger, _ = TAXI.decode(observation)
    place, (wanted,) = (row, column), intent.literals
    waiting = None if passenger == RIDING else TAXI.locs[passenger]
    if place == waiting:
        return PICK_UP  # the habit: it picks up everyone, whatever was asked
    if not wanted.positive:
        return None
    fetch = waiting and wanted.atom.predicate != "taxi-at"
    stand = waiting if fetch else STANDS[wanted.atom.arguments[0]]
    return DROP_OFF if place == stand else turn(place, stand)


def problem():
    back, limits = Native.of("s", "lastaction"), Limits(temporal_length=None, horizon=40)
    return gymnasium_problem("Taxi-v4", VOCABULARY, label, drive, restore=back, limits=limits)
