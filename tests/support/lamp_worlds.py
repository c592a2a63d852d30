"""Lamps behind doors: instances of any size in which every answer of the agent is known."""

from itertools import product

from capscope.logic import Intent, Predicate, Vocabulary
from support.answer_tables import Answers

DOORS = (Predicate("lit", ("lamp",)), Predicate("open", ("lamp",)))
BELL = Predicate("rang", ())


def lamps(number, stubborn=False, predicates=DOORS, kind="lamp"):
    """Return the answers of an agent that switches lamps, and opens their doors before.

    A stubborn agent never closes a door. Of other predicates than those of lamps, nothing
    ever changes.
    """
    words = Vocabulary(predicates, {f"l{i}": kind for i in range(number)})
    names = [f"{name}(l{i})" for i in range(number) for name in ("lit", "open")]
    intents = [Intent.parse(f"{sign}{name}") for name in names for sign in ("", "not ")]
    bits = {name: words.bit_of(name) for name in names}
    odds = {}
    for held in product((False, True), repeat=len(names)):
        state = sum(bits[name] for name, one in zip(names, held, strict=True) if one)
        for intent in intents:
            odds[state, intent] = {answer(state, intent, bits, stubborn): 1.0}
    return Answers(words, 0, odds)


def answer(state, intent, bits, stubborn):
    """Return the state after a request."""
    (wanted,) = intent.literals
    name = str(wanted.atom)
    door = bits[name.replace("lit", "open")]
    if not wanted.positive:
        return state if stubborn and name.startswith("open") else state & ~bits[name]
    return state | (bits[name] if state & door else door)


def two():
    """The factory for `lamp_worlds.py:two`."""
    return lamps(2).problem("two-lamps")


def three():
    """The factory for `lamp_worlds.py:three`."""
    return lamps(3).problem("three-lamps")


def three_stubborn():
    """The factory for `lamp_worlds.py:three_stubborn`."""
    return lamps(3, stubborn=True).problem("three-lamps")
