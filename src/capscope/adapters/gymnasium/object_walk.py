"""Walk over everything an environment holds, with the path to each part.

A walk finds the random generators, the values that wrappers hold, and the values that distinguish
two positions. Each object is entered once, breadth first, so a part is found by its shortest path.
A path also works in another environment that was made the same way. Its text is for people:
`FrozenLakeEnv.dice[0]`.
"""

import random
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from math import inf
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from gymnasium import Env, Wrapper

Step: TypeAlias = tuple[bool, Any]
"""From an object to one of its parts: whether it is an item, and its key or name."""
Path: TypeAlias = tuple[Step, ...]
Parts: TypeAlias = Iterable[tuple[Step, Any]]
Found: TypeAlias = tuple[Path, str, Any]
"""The path to something that a walk collected, the path as text, and what was collected."""


class UnreadableValueError(Exception):
    """A value cannot be examined; the message is the path to it."""


class Again(NamedTuple):
    """Stands for an object that was entered before, as the object of that number."""

    number: int


ENTER, SKIP = object(), object()
"""What a collector returns for a value whose parts are wanted, and for one to pass over."""

FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType)
CODE = (type, ModuleType, *FUNCTIONS)
DATA = (str, bytes, int, float, complex, np.ndarray, np.generic, type(None))
GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
LAYER_FRAME = frozenset(
    {
        "env", "spec", "metadata", "action_space", "observation_space", "_action_space",
        "_observation_space", "_metadata", "_cached_spec", "_saved_kwargs",
        "_np_random", "_np_random_seed",
    }
)  # fmt: skip
"""Attributes that make up every wrapper and environment, and never distinguish positions."""

_TABLE_SIZE = 500


def layers(env: Env[Any, Any]) -> list[Env[Any, Any]]:
    """List the wrappers from the outermost to the innermost, then the environment inside them."""
    found = [env]
    while isinstance(found[-1], Wrapper):
        found.append(found[-1].env)
    return found


def children(thing: Any) -> Iterator[tuple[Step, Any]]:
    """Yield the items of an object, then its attributes."""
    if isinstance(thing, dict):
        yield from (((True, key), child) for key, child in list(thing.items()))
    elif isinstance(thing, list | tuple | deque):
        yield from (((True, index), child) for index, child in enumerate(thing))
    kind: Any = type(thing)
    attributes = vars(thing) if hasattr(thing, "__dict__") else ()
    for name in dict.fromkeys((*attributes, *_slots(kind))):
        try:
            yield (False, name), getattr(thing, name)
        except Exception:  # an empty slot, or a property that raises
            continue


@cache
def _slots(kind: type) -> tuple[str, ...]:
    found: list[str] = []
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        found += [slots] if isinstance(slots, str) else slots
    return tuple(found)


def walk(
    root: Any,
    name: str,
    collect: Callable[[Any], Any],
    *,
    parts: Callable[[Any], Parts] = children,
    known: Iterable[Any] = (),
    max_objects: float = inf,
) -> Iterator[Found]:
    """Yield the results of `collect` for the root and each value below it.

    `collect` returns what is to be yielded, `SKIP`, or `ENTER`. For an object that is entered its
    class is yielded; for one that was entered before, or is among the `known`, an `Again`. After
    `max_objects` the walk ends. A value that cannot be examined raises `UnreadableValueError`.
    """
    # The objects are kept with their ids: the id of one that is gone could be used again.
    met = {id(thing): (-number, thing) for number, thing in enumerate(known, 1)}
    queue: deque[tuple[Path, str, Any]] = deque([((), name, root)])
    while queue and len(met) < max_objects:
        path, text, value = queue.popleft()
        try:
            found = collect(value)
            if found is ENTER and id(value) in met:
                found = Again(met[id(value)][0])
            elif found is ENTER:
                met[id(value)] = len(met), value
                found = type(value)
                for step, child in parts(value):
                    below = f"{text}[{step[1]!r}]" if step[0] else f"{text}.{step[1]}"
                    queue.append(((*path, step), below, child))
        except Exception as error:  # whatever a user's class raises
            raise UnreadableValueError(text) from error
        if found is not SKIP:
            yield path, text, found


def follow(root: Any, path: Path) -> Any:
    """Return the object at a path; None if the path no longer exists."""
    for is_item, key in path:
        try:
            root = root[key] if is_item else getattr(root, key)
        except (AttributeError, LookupError, TypeError):
            return None
    return root


def put(root: Any, path: Path, value: Any) -> None:
    """Set the value at a path, if what holds it still exists."""
    holder = follow(root, path[:-1])
    is_item, key = path[-1]
    if holder is None:
        return
    if is_item:
        holder[key] = value
    elif key in getattr(holder, "__dict__", {}):
        vars(holder)[key] = value
    else:
        setattr(holder, key, value)


def is_table(thing: Any) -> bool:
    """Return whether a container holds so much that entering it would take long."""
    seen, ahead = 0, [thing]
    while ahead and seen <= _TABLE_SIZE:
        held = ahead.pop()
        if isinstance(held, dict):
            held = held.values()
        elif not isinstance(held, list | tuple | set | frozenset | deque):
            continue
        seen += len(held)
        ahead.extend(held)
    return seen > _TABLE_SIZE


def is_below(path: str, names: Collection[str]) -> bool:
    """Return whether a path leads to one of the named attributes, or into one.

    >>> [is_below(path, ["wind"]) for path in ("wind", "wind.blows", "window")]
    [True, True, False]
    """
    return path in names or any(path.startswith((f"{name}.", f"{name}[")) for name in names)
