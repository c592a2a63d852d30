"""Write a frozen dataclass as JSON-ready values, and read it back with its types checked.

The names of the fields are the names in the document. A field with states is marked with the
metadata `STATE` and written in hexadecimal; `json_properties` of a class lists properties that are
written, too. JSON returns whatever is stored, so reading a value of another type raises TypeError.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, fields, is_dataclass
from enum import Enum
from functools import cache
from math import isfinite
from types import NoneType, UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from capscope.logic.condition import Condition, Intent
from capscope.logic.vocabulary import Atom, Literal

T = TypeVar("T")
STATE = {"state": True}
"""The metadata of a field with states."""
OMITTED = {"omitted": True}
"""The metadata of a field that is not written."""
_TEXTS = (Atom, Literal, Intent)
_LARGEST = 1 << 62
"""Of an integer: what is computed from it has to fit into 64 bits."""


def to_json(value: Any) -> Any:
    """Return a value as JSON-ready values.

    Args:
        value: A dataclass, a named tuple, a container of such values, or a simple value. Atoms,
            literals and intents are written as text, conditions as a list of literals for each
            conjunction. A class with a form of its own has `as_dict`.

    Returns:
        Dictionaries, lists, texts, numbers, booleans and None.

    >>> to_json({Intent.parse("not open(a)"): (Literal.parse("open(a)"), 0.5)})
    {'not open(a)': ['open(a)', 0.5]}
    """
    return _written(value, is_state=False)


def _written(value: Any, *, is_state: bool) -> Any:
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | bool | float):
        return value
    if isinstance(value, int):
        return hex(value) if is_state else value
    if isinstance(value, _TEXTS):
        return str(value)
    if hasattr(value, "as_dict"):
        return value.as_dict()
    if is_dataclass(value) and not isinstance(value, Condition):
        return _written_fields(value)
    if isinstance(value, Mapping):
        return {
            str(_written(key, is_state=is_state)): _written(one, is_state=False)
            for key, one in value.items()
        }
    if hasattr(value, "_asdict"):
        return _written(value._asdict(), is_state=is_state)
    return [_written(one, is_state=is_state) for one in value]


def _written_fields(value: Any) -> dict[str, Any]:
    written = {
        field.name: _written(getattr(value, field.name), is_state="state" in field.metadata)
        for field in fields(value)
        if field.init and "omitted" not in field.metadata
    }
    also = getattr(value, "json_properties", ())
    return written | {name: to_json(getattr(value, name)) for name in also}


def from_json(kind: type[T], stored: Mapping[str, Any]) -> T:
    """Read a dataclass from what `to_json` returned.

    Args:
        kind: The dataclass. Its fields are numbers, texts, enums, dataclasses, tuples of them, or
            optional; values of other types are taken as they are.
        stored: Its values by name; a field that is missing has its default.

    Returns:
        An instance of `kind`.

    Raises:
        TypeError: A value has another type than its field, or there is no such field.
    """
    declared = _declared(cast("Any", kind))
    for name in stored.keys() - declared.keys() - set(getattr(kind, "json_properties", ())):
        raise TypeError(f"{kind.__name__} has no {name}")
    return kind(
        **{
            name: _read(stored[name], expected, field)
            for name, (field, expected) in declared.items()
            if name in stored
        }
    )


@cache
def _declared(kind: Any) -> dict[str, tuple[Field[Any], Any]]:
    hints = get_type_hints(kind)
    return {field.name: (field, hints[field.name]) for field in fields(kind) if field.init}


def _read(value: Any, expected: Any, field: Field[Any]) -> Any:
    if get_origin(expected) is UnionType:
        if value is None:
            return None
        expected = next(part for part in get_args(expected) if part is not NoneType)
    if get_origin(expected) is tuple and isinstance(value, list | tuple):
        parts = get_args(expected)
        if parts[-1] is Ellipsis:
            parts = parts[:1] * len(value)
        return tuple(_read(one, part, field) for one, part in zip(value, parts, strict=True))
    if is_dataclass(expected) and isinstance(value, Mapping):
        return from_json(cast("type[Any]", expected), value)
    if isinstance(expected, type) and issubclass(expected, Enum):
        return expected(value)
    if expected is int and "state" in field.metadata:
        return int(value, 16)
    if not _fits(value, expected):
        raise TypeError(f"{field.name} is {value!r:.60}")
    return value


def _fits(value: Any, expected: Any) -> bool:
    if expected is int:
        return type(value) is int and abs(value) < _LARGEST
    if expected is float:
        return type(value) is int or (type(value) is float and isfinite(value))
    if expected is bool:
        return type(value) in (bool, int) and value in (0, 1)
    if expected is str:
        return type(value) is str
    return get_origin(expected) is not tuple and not is_dataclass(expected)
