"""The objects below an environment: what hangs on what, and the way from one to another.

Whatever an environment consists of, its attributes lead to it, and so do the attributes and items
of what they lead to. A way is a path; it is good for another environment of the same making too,
and it has a name that people understand: `FrozenLakeEnv.dice[0]`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple, TypeAlias

import numpy as np


class Step(NamedTuple):
    """From an object to one of its attributes or items."""

    is_item: bool
    key: Any


Path: TypeAlias = tuple[Step, ...]

LEAVES = (
    str, bytes, int, float, complex, np.ndarray, np.generic, type, ModuleType, FunctionType,
    BuiltinFunctionType, MethodType, type(None),
)  # fmt: skip
"""What nothing hangs on."""


def children(thing: Any) -> Iterator[tuple[Step, Any]]:
    """Yield what an object holds, its items first."""
    if isinstance(thing, dict):
        yield from ((Step(True, key), child) for key, child in list(thing.items()))
    elif isinstance(thing, list | tuple | deque):
        yield from ((Step(True, place), child) for place, child in enumerate(thing))
    names = dict.fromkeys(vars(thing)) if hasattr(thing, "__dict__") else {}
    for kind in type(thing).__mro__:
        slots = vars(kind).get("__slots__", ())
        names |= dict.fromkeys([slots] if isinstance(slots, str) else slots)
    for name in names:
        try:
            yield Step(False, name), getattr(thing, name)
        except Exception:  # a slot that is empty, or a property that complains
            continue


def follow(root: Any, path: Path) -> Any:
    """Return what a path leads to; None if it has come to lead nowhere."""
    for is_item, key in path:
        try:
            root = root[key] if is_item else getattr(root, key)
        except (AttributeError, LookupError, TypeError):
            return None
    return root


def put(root: Any, path: Path, value: Any) -> None:
    """Set what a path leads to, where there still is something to set it in."""
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


def name_of(root: Any, path: Path) -> str:
    """Say where a path leads, from the class of its beginning on."""
    name = type(root).__name__
    for is_item, key in path:
        name += f"[{key!r}]" if is_item else f".{key}"
    return name


def is_table(thing: Any, most: int = 500) -> bool:
    """Say whether a container holds more than a step would change: looking into it takes long."""
    seen, ahead = 0, [thing]
    while ahead and seen <= most:
        held = ahead.pop()
        if isinstance(held, dict):
            held = held.values()
        elif not isinstance(held, list | tuple | set | frozenset | deque):
            continue
        seen += len(held)
        ahead.extend(held)
    return seen > most
