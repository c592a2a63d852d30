"""Snapshots that are JSON, as positions from which parts can be left out.

An *entry* is an element of a list, a tuple or a set, or an item of a mapping. An entry is about an
object if its key is the object, or if its value names it: a text that contains the name, or a
record with a field that is the name. A smaller position lacks entries, or has the values that parts
of it had after a reset. Whether such a position makes sense is not decided here.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from capscope.problem import Snapshot, plain_values
from capscope.problem.positions import LARGEST_SNAPSHOT

Place = tuple[Any, ...]
"""The keys and indices that lead to a part of a tree."""
_SEQUENCES = ("tuple", "set", "frozenset")
_LISTED = {*_SEQUENCES, *(f"${name}" for name in _SEQUENCES)}
_PAIRS = {"dict", "$dict"}


@dataclass(frozen=True)
class Entry:
    """A part that may be left out."""

    place: Place
    key: Any
    """None in a list."""
    value: Any
    removable: bool
    """Whether it may be left out whatever it is about."""

    def is_about(self, name: str) -> bool:
        """Return whether it is about an object."""
        if self.key == name:
            return True
        if isinstance(self.value, str):
            return name in re.findall(r"[^\s(),]+", self.value)
        return name in _fields(self.value)


def read_tree(snapshot: Snapshot) -> Any:
    """Return the JSON of a snapshot, which may be compressed; None if it is none."""
    try:
        text = snapshot
        if not snapshot.startswith((b"{", b"[")):
            text = zlib.decompressobj().decompress(snapshot, LARGEST_SNAPSHOT)
        tree = json.loads(text)
    except (ValueError, zlib.error, RecursionError):
        return None
    # What is at two places refers to one of them by its indices, which must not shift.
    return None if b'"$same"' in text else tree


def written_tree(tree: Any) -> Snapshot:
    """Return the snapshot of a tree."""
    return json.dumps(tree, separators=(",", ":")).encode()


def plain_value(snapshot: Snapshot) -> Any:
    """Return the value that a snapshot encodes as plain values do; raise ValueError if none."""
    try:
        value = plain_values.from_bytes(snapshot)
        same = plain_values.to_bytes(value) == snapshot
    except Exception as error:  # any other bytes
        raise ValueError(str(error)) from error
    if not same:
        raise ValueError("another encoding")
    return value


def entries(tree: Any, place: Place = ()) -> Iterator[Entry]:
    """Yield the entries of a tree, outer ones first."""
    if isinstance(tree, list):
        yield from _elements(tree, place)
    elif isinstance(tree, Mapping):
        kind = next(iter(tree), "")
        content: Any = tree.get(kind)
        if len(tree) == 1 and kind in _PAIRS and isinstance(content, list):
            for i, (key, value) in enumerate(content):
                yield Entry((*place, kind, i), key, value, removable=False)
                yield from entries(value, (*place, kind, i, 1))
        elif len(tree) == 1 and kind in _LISTED and isinstance(content, list):
            yield from _elements(content, (*place, kind))
        elif kind == "$object":
            for name, value in content[1].items():
                yield from entries(value, (*place, kind, 1, name))
        elif not kind.startswith("$"):
            for name, value in tree.items():
                yield Entry((*place, name), name, value, removable=False)
                yield from entries(value, (*place, name))


def _elements(values: Sequence[Any], place: Place) -> Iterator[Entry]:
    for i, value in enumerate(values):
        yield Entry((*place, i), None, value, removable=True)
        yield from entries(value, (*place, i))


def _fields(value: Any) -> Iterator[Any]:
    """Yield the values of the fields of a record."""
    if isinstance(value, Mapping):
        kind = next(iter(value), "")
        inner = value.get(kind)
        if kind == "$object" and isinstance(inner, list):
            yield from inner[1].values()
        elif kind in _PAIRS and isinstance(inner, list):
            yield from (item for _, item in inner)
        elif kind in _LISTED and isinstance(inner, list):
            yield from inner
        else:
            yield from value.values()


def without(tree: Any, places: Sequence[Place]) -> Any:
    """Return a tree without some of its entries."""
    here = {place[0] for place in places if len(place) == 1}

    def below(step: Any) -> Any:
        rest = [place[1:] for place in places if len(place) > 1 and place[0] == step]
        return without(tree[step], rest) if rest else tree[step]

    if isinstance(tree, list):
        return [below(i) for i in range(len(tree)) if i not in here]
    return {key: below(key) for key in tree if key not in here}


def replaced(tree: Any, place: Place, value: Any) -> Any:
    """Return a tree with another value at a place."""
    if not place:
        return value
    step, *rest = place
    changed = replaced(tree[step], tuple(rest), value)
    if isinstance(tree, list):
        return [*tree[:step], changed, *tree[step + 1 :]]
    return {**tree, step: changed}


def differences(tree: Any, other: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yield the places below which two trees of one form differ, with the value of the other."""
    if isinstance(tree, Mapping) and isinstance(other, Mapping) and tree.keys() == other.keys():
        for key in tree:
            yield from differences(tree[key], other[key], (*place, key))
    elif isinstance(tree, list) and isinstance(other, list) and len(tree) == len(other):
        for i, value in enumerate(tree):
            yield from differences(value, other[i], (*place, i))
    elif tree != other:
        yield place, other
