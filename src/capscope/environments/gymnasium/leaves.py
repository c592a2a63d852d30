"""A value taken apart into leaves, each with the path to it: equal values have equal leaves.

To tell whether two positions are one, values have to be compared across processes: by what they
hold, never by where they lie in memory. A pickle will not do, since it also says which objects are
one and the same and in which order a set happens to be. So containers and objects are followed down
to numbers, text and arrays. A number is the same number whatever its type: an environment that
draws its first cell as `np.int64(0)` and later looks the same cell up as `0` is in one cell.

What cannot be followed is the inside of an object that is written in C and says nothing about it,
and what has no end. A value that holds such a thing has no leaves, since two that differ could look
alike.
"""

from __future__ import annotations

import copyreg
import hashlib
import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, TypeAlias

import numpy as np
from gymnasium import Space
from gymnasium.envs.registration import EnvSpec

from capscope.environments.gymnasium.parts import Step, children

Leaf: TypeAlias = Any
Leaves: TypeAlias = dict[str, Leaf]
"""By paths like `wind.blows` and `dice[0]`."""

SIMPLE = frozenset({int, float, bool, str, bytes, type(None)})

# A restore reseeds generators, so they are no part of a position.
_CHANCE = (
    np.random.Generator,
    np.random.RandomState,
    np.random.BitGenerator,
    np.random.SeedSequence,
    random.Random,
)
_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType)
_FIXED = (Space, EnvSpec, ModuleType, type, *_FUNCTIONS)
# What is there for drawing, for keeping threads apart and for taking notes.
_HARMLESS = ("pygame.", "_thread", "threading", "logging")
_TAKING_APART = ("__reduce_ex__", "__reduce__", "__getstate__")
_SHORT = 64
_MOST_LEAVES = 200_000


class Unseen(Exception):  # noqa: N818 - it says what the thing is
    """Report something that cannot be looked into; the message is the path to it."""


def simple(value: Any) -> Leaf:
    """Return a number, a text or None so that equal ones are written alike.

    >>> simple(2.0), simple(True), simple(0.5), simple("2")
    (2, 1, 0.5, '2')
    """
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return value


def leaves_of(value: Any, path: str, around: Sequence[Any] = ()) -> Leaves:
    """Take a value apart; raise `Unseen` if part of it cannot be looked into.

    What is around it, and may be referred to from within, is not taken apart.

    >>> leaves_of({"a": [1, 2.0], "b": ()}, "bag")
    {'bag': 'dict', "bag['a']": ('list', 1, 2), "bag['b']": ('tuple',)}
    """
    gathering = _Gathering(around)
    try:
        gathering.add(value, path)
    except Unseen:
        raise
    except Exception as error:  # whatever a user's class raises; a chain may be too long, too
        raise Unseen(path) from error
    return gathering.leaves


def weight(leaves: Leaves) -> int:
    """Say about how many numbers some leaves hold.

    >>> weight(leaves_of([[1, 2], [3]], "table"))
    6
    """
    return sum(len(leaf) if isinstance(leaf, tuple) else 1 for leaf in leaves.values())


class _Gathering:
    """Leaves while they are gathered."""

    def __init__(self, around: Sequence[Any]) -> None:
        self.leaves: Leaves = {}
        # By address, with the things themselves: one that is gone could leave its address behind.
        self._met = {id(thing): (-number, thing) for number, thing in enumerate(around, 1)}

    def add(self, value: Any, path: str) -> None:
        """Add the leaves of a value."""
        if type(value) in SIMPLE:
            self.leaves[path] = simple(value)
        elif isinstance(value, np.ndarray | np.generic):
            self._add_array(value, path)
        elif isinstance(value, _CHANCE):
            return
        elif isinstance(value, _FIXED) or type(value).__module__.startswith(_HARMLESS):
            self.leaves[path] = _name(value)
        elif id(value) in self._met:
            self.leaves[path] = ("again", self._met[id(value)][0])
        elif len(self.leaves) > _MOST_LEAVES:
            raise Unseen(path)
        else:
            self._met[id(value)] = len(self._met), value
            self._add_parts(value, path)

    def _add_array(self, value: Any, path: str) -> None:
        if value.dtype.hasobject:
            self.add(value.tolist(), path)
        elif not value.shape and type(value.item()) in SIMPLE:
            self.leaves[path] = simple(value.item())
        else:
            data = value.tobytes()
            if len(data) > _SHORT:
                data = hashlib.blake2b(data, digest_size=_SHORT // 2).digest()
            self.leaves[path] = (value.dtype.str, value.shape, data)

    def _add_parts(self, value: Any, path: str) -> None:
        kind = type(value)
        if isinstance(value, list | tuple | deque) and all(type(i) in SIMPLE for i in value):
            self.leaves[path] = (kind.__name__, *map(simple, value))
        elif isinstance(value, set | frozenset):
            # Sets have no order of their own.
            members = sorted(repr(leaves_of(item, path)) for item in value)
            self.leaves[path] = (kind.__name__, *members)
        elif not isinstance(value, list | tuple | deque | dict) and hasattr(value, "__array__"):
            self.add(np.asarray(value), path)
        else:
            self.leaves[path] = kind.__qualname__
            for (is_item, key), part in _parts(value, path):
                self.add(part, f"{path}[{key!r}]" if is_item else f"{path}.{key}")


def _name(value: Any) -> str:
    named = value if isinstance(value, (type, *_FUNCTIONS)) else type(value)
    return f"{named.__module__}.{named.__qualname__}"


def _parts(value: Any, path: str) -> Iterator[tuple[Step, Any]]:
    """Yield what a value holds; of an object written in C what it would tell a pickle."""
    yield from children(value)
    kind: Any = type(value)
    if _tells_all_by_attributes(kind):
        return
    own_way: Callable[[Any], Any] | None = copyreg.dispatch_table.get(kind)
    try:
        parts = own_way(value) if own_way else value.__reduce_ex__(2)
    except Exception as error:  # there is more to it than attributes, and it does not tell
        raise Unseen(path) from error
    yield Step(False, "__reduce__"), parts if isinstance(parts, str) else list(parts[1:3])


@cache
def _tells_all_by_attributes(kind: type) -> bool:
    """Say whether items, attributes and slots are all there is to the things of a class."""
    if issubclass(kind, list | tuple | deque | dict):
        return True
    if kind in copyreg.dispatch_table:
        return False
    ways = {name: getattr(kind, name, None) for name in _TAKING_APART}
    if any(isinstance(way, FunctionType) for way in ways.values()):
        return True  # written in Python: it says what copies are made of, which is less
    if any(way is not getattr(object, name, None) for name, way in ways.items()):
        return False
    try:
        # Nobody says how to take it apart; so this raises if there is more to it.
        object.__reduce_ex__(object.__new__(kind), 2)
    except Exception:
        return False
    return True
