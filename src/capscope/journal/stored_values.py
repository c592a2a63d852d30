"""Check the types of values that were read from a file.

JSON and SQLite return whatever is stored. A value of another type would be noticed far from where
it was read, or not at all.
"""

from dataclasses import Field, fields
from functools import cache
from math import inf, isfinite
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")
_LARGEST = 1 << 62
"""Of an integer: what is computed from it has to fit into 64 bits."""
ANY_SIZE = {"any size": True}
"""The metadata of a field with states: they are integers with a bit for each atom."""


def with_checked_types(value: T) -> T:
    """Return a dataclass instance; raise `TypeError` if a field has a value of another type.

    Only simple types are checked: numbers, text, tuples of them, and None.
    """
    kind: Any = type(value)
    for field, expected in _checked_fields(kind):
        found = getattr(value, field.name)
        largest = inf if field.metadata.get("any size") else _LARGEST
        if not _fits(found, expected, largest):
            raise TypeError(f"{field.name} is {found!r:.60}")
    return value


@cache
def _checked_fields(kind: Any) -> tuple[tuple[Field[Any], Any], ...]:
    hints = get_type_hints(kind)
    return tuple((field, hints[field.name]) for field in fields(kind) if field.init)


def _fits(value: Any, expected: Any, largest: float) -> bool:
    if get_origin(expected) is UnionType:
        return any(_fits(value, part, largest) for part in get_args(expected))
    if get_origin(expected) is tuple and get_args(expected)[-1] is Ellipsis:
        inner = get_args(expected)[0]
        return isinstance(value, tuple) and all(_fits(item, inner, largest) for item in value)
    if expected is int:
        return type(value) is int and abs(value) < largest
    if expected is float:
        return type(value) is int or (type(value) is float and isfinite(value))
    if expected is bool:
        return type(value) in (bool, int) and value in (0, 1)
    if expected in (str, NoneType):
        return type(value) is expected
    return True
