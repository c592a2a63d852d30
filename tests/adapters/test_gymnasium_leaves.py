import collections
import functools
import itertools
import re

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from capscope.adapters.gymnasium import position_names
from capscope.adapters.gymnasium.object_walk import UnreadableValueError
from capscope.adapters.gymnasium.position_names import leaves_of


class Thing:
    def __init__(self, **held):
        vars(self).update(held)


class Slotted:
    __slots__ = ("held",)

    def __init__(self, held):
        self.held = held


class Forgetful(Thing):
    """Claims that a copy needs nothing."""

    def __getstate__(self):
        return {}


class Shown:
    def __init__(self, *numbers):
        self.numbers = numbers

    def __array__(self, dtype=None, copy=None):
        return np.array(self.numbers)


EQUAL = [
    (1, np.int64(1)),
    (1, 1.0),
    (1, True),
    (0, np.array(0.0)),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({"a", "b"}, {"b", "a"}),
    (Thing(a=[1]), Thing(a=[1])),
    (np.arange(100), np.arange(100)),
]
DIFFERENT = [
    (1, 2),
    (1, "1"),
    (None, 0),
    ([1, 2], (1, 2)),
    ([], None),
    ([1, [2]], [1, [3]]),
    ({"a": 1}, {"a": 2}),
    ({1, (2, 3)}, {1, (2, 4)}),
    (Thing(a=1), Thing(a=2)),
    (Thing(a=1), Forgetful(a=1)),
    (Forgetful(a=1), Forgetful(a=2)),
    (Slotted(1), Slotted(2)),
    (Shown(1, 2), Shown(1, 3)),
    (np.arange(100), np.arange(100) * 2),
    (np.array([Thing(a=1), None]), np.array([Thing(a=2), None])),
    (collections.deque([1]), collections.deque([2])),
    (iter([1, 2]), iter([1, 3])),
    (itertools.count(1), itertools.count(2)),
    (functools.partial(max, 1), functools.partial(max, 2)),
    (re.compile("a"), re.compile("b")),
    (max, min),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_values_have_equal_leaves(one, other):
    assert leaves_of(one, "it") == leaves_of(other, "it")


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_values_have_different_leaves(one, other):
    assert leaves_of(one, "it") != leaves_of(other, "it")


def test_generators_have_no_leaves():
    assert leaves_of([np.random.default_rng(1), 7], "it") == {"it": "list", "it[1]": 7}


def test_a_cycle_is_walked_once():
    one, other = Thing(), Thing()
    one.other, other.one = other, one
    assert leaves_of(one, "it")["it.other.one"] == (0,)


def test_objects_around_a_value_are_not_entered():
    home = Thing(rooms=[1, 2])
    assert list(leaves_of(Thing(home=home), "it", [home])) == ["it", "it.home"]


class Refusing:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("on another device")


def chain(length):
    link = None
    for _ in range(length):
        link = [link]
    return link


UNREADABLE = {
    "a generator": (n for n in ()),
    "a view": memoryview(b""),
    "deep down": Thing(a=[{"deep": (n for n in ())}]),
    "an array elsewhere": Refusing(),
    "a long chain": chain(5000),
}


@pytest.mark.parametrize("value", UNREADABLE.values(), ids=UNREADABLE)
def test_a_value_that_cannot_be_examined_is_named(value):
    with pytest.raises(UnreadableValueError, match="it"):
        leaves_of([value], "it")


def test_a_value_with_too_many_leaves_is_refused(monkeypatch):
    monkeypatch.setattr(position_names, "_MAX_LEAVES", 50)
    with pytest.raises(UnreadableValueError):
        leaves_of([[[n] for n in range(100)]], "it")
