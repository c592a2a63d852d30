"""Check the types of values that were read from a file.

JSON and SQLite return whatever is stored. A value of another type would be noticed far from where
it was read, or not at all.
"""

from dataclasses import Field, fields
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")
_LARGEST = 1 << 62
"""Of an integer: what is computed from it has to fit into 64 bits."""


def with_checked_types(value: T) -> T:
    """Return a dataclass instance; raise `TypeError` if a field has a value of another type.

    Only simple types are checked: numbers, text, tuples of them, and None.
    """
    kind: Any = type(value)
    for field, expected in _checked_fields(kind):
        found = getattr(value, field.name)
        if not _fits(found, expected):
            raise TypeError(f"{field.name} is {found!r:.60}")
    return value


@cache
def _checked_fields(kind: Any) -> tuple[tuple[Field[Any], Any], ...]:
    hints = get_type_hints(kind)
    return tuple((field, hints[field.name]) for field in fields(kind) if field.init)


def _fits(value: Any, expected: Any) -> bool:
    if get_origin(expected) is UnionType:
        return any(_fits(value, part) for part in get_args(expected))
    if get_origin(expected) is tuple and get_args(expected)[-1] is Ellipsis:
        inner = get_args(expected)[0]
        return isinstance(value, tuple) and all(_fits(item, inner) for item in value)
    if expected is int:
        return type(value) is int and abs(value) < _LARGEST
    if expected is float:
        return type(value) is int or (type(value) is float and isfinite(value))
    if expected in (bool, str, NoneType):
        return type(value) is expected
    return True
