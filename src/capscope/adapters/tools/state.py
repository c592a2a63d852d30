"""The state of a tool world as a JSON tree: written, read back as equal objects, and compared.

Validating a dump would be the obvious way to rebuild pydantic models and dataclasses, but
validators run code: one that fills a derived field undoes what tools have changed since. So objects
are rebuilt as pickle does it, without calling their classes: attributes are stored and put back.
Unlike a pickle, the text is readable, equal states have equal texts (sets are sorted), and reading
runs no code. An object that occurs twice is written once; the second place refers to the path of
the first, so that a change through one name is still seen through the other.

A pattern is a dotted path into a state in which `*` stands for any one step: `mails.*.id`. A step
is a key, an index or an attribute.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import enum
import json
import sys
import typing
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from capscope.errors import ProblemError

Tree = Any
"""JSON values; what JSON lacks is an object with one key that starts with `$`."""

_PYDANTIC = ("__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
_TEXTS: dict[type, tuple[str, Callable[[Any], str], Callable[[str], Any]]] = {
    datetime.datetime: ("$datetime", str, datetime.datetime.fromisoformat),
    datetime.date: ("$date", str, datetime.date.fromisoformat),
    datetime.time: ("$time", str, datetime.time.fromisoformat),
    datetime.timedelta: (
        "$timedelta",
        lambda d: f"{d.days} {d.seconds} {d.microseconds}",
        lambda text: datetime.timedelta(*map(int, text.split())),
    ),
    decimal.Decimal: ("$decimal", str, decimal.Decimal),
    uuid.UUID: ("$uuid", str, uuid.UUID),
    bytes: ("$bytes", lambda b: base64.b64encode(b).decode(), base64.b64decode),
}
_BUILT_IN = (dict, list, set, frozenset, tuple, str, bytes, int, float, BaseException)
_READ_TEXT = {kind: read for kind, _, read in _TEXTS.values()}


def tree_text(tree: Tree) -> str:
    """Return a tree as JSON; equal trees have equal texts."""
    return json.dumps(tree, separators=(",", ":"))


class StateCodec:
    """Writes and reads states; knows the classes that occur in them.

    >>> codec = StateCodec()
    >>> tree = codec.write({"ids": {2, 1}, "at": datetime.date(2026, 5, 1)})
    >>> tree
    {'ids': {'$set': [1, 2]}, 'at': {'$date': '2026-05-01'}}
    >>> codec.read(tree)
    {'ids': {1, 2}, 'at': datetime.date(2026, 5, 1)}
    """

    def __init__(self) -> None:
        self._classes: dict[str, type] = {}

    def write(self, value: Any) -> Tree:
        """Return a value as a tree; raise `ProblemError` for what cannot be stored."""
        return _Writer(self).write(value, ())

    def read(self, tree: Tree) -> Any:
        """Build new objects from a tree."""
        return _Reader(self).read(tree, ())

    def name_of(self, cls: type) -> str:
        """Return the name of a class, and remember it and the classes of its annotations."""
        name = f"{cls.__module__}:{cls.__qualname__}"
        if name not in self._classes:
            self._classes[name] = cls
            self._remember_annotations(cls)
        return name

    def find(self, name: str) -> type:
        """Return a class by name."""
        found = self._classes.get(name)
        if found is None:
            module, _, path = name.partition(":")
            found = sys.modules.get(module)  # type: ignore[assignment]
            for part in path.split("."):
                found = getattr(found, part, None)
            if not isinstance(found, type):
                raise ProblemError(
                    f"a stored state contains a {path}, which module {module} does not define here"
                )
            self._classes[name] = found
        return found

    def _remember_annotations(self, cls: type) -> None:
        # A class may not occur in the first state, and its module may have any name here.
        try:
            hints = typing.get_type_hints(cls)
        except Exception:  # annotations that cannot be evaluated; the modules are searched later
            return
        left = list(hints.values())
        while left:
            hint = left.pop()
            left += typing.get_args(hint)
            if isinstance(hint, type) and _stores_attributes(hint):
                self.name_of(hint)


class _Writer:
    """Writes one state; remembers where each object was."""

    def __init__(self, codec: StateCodec) -> None:
        self._codec = codec
        self._met: dict[int, tuple[Any, ...]] = {}

    def write(self, value: Any, path: tuple[Any, ...]) -> Tree:
        kind = type(value)
        if value is None or kind in (bool, int, str, float):
            return value
        if kind in _TEXTS:
            name, text, _ = _TEXTS[kind]
            return {name: text(value)}
        if isinstance(value, enum.Enum):
            return {"$enum": [self._codec.name_of(kind), value.name]}
        if isinstance(value, PurePath):
            return {"$path": str(value)}
        if kind is tuple:
            return {"$tuple": self._items(value, path)}
        if kind is frozenset:
            return {"$frozenset": self._sorted(value)}
        if id(value) in self._met:
            return {"$same": list(self._met[id(value)])}
        self._met[id(value)] = path
        if kind is list:
            return self._items(value, path)
        if kind is dict:
            return self._mapping(value, path)
        if kind is set:
            return {"$set": self._sorted(value)}
        if kind is deque:
            return {"$deque": [value.maxlen, self._items(value, path)]}
        if _stores_attributes(kind):
            return {"$object": [self._codec.name_of(kind), self._attributes(value, path)]}
        raise ProblemError(
            f"the state cannot be stored: {_dotted(path)} is a {kind.__module__}.{kind.__name__}; "
            "keep plain values, dataclasses and pydantic models in the state, and let a tool take "
            "a parameter annotated random.Random for randomness"
        )

    def _items(self, values: Any, path: tuple[Any, ...]) -> list[Tree]:
        return [self.write(item, (*path, i)) for i, item in enumerate(values)]

    def _sorted(self, values: Any) -> list[Tree]:
        # Members have no place to refer to. They are hashable, so they do not change.
        return sorted(map(self._codec.write, values), key=tree_text)

    def _mapping(self, value: Mapping[Any, Any], path: tuple[Any, ...]) -> Tree:
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: self.write(item, (*path, key)) for key, item in value.items()}
        return {
            "$dict": [
                [self._codec.write(key), self.write(item, (*path, i))]
                for i, (key, item) in enumerate(value.items())
            ]
        }

    def _attributes(self, value: Any, path: tuple[Any, ...]) -> Tree:
        attributes = {
            name: self.write(getattr(value, name), (*path, name))
            for name in _attribute_names(value)
        }
        if hasattr(value, _PYDANTIC[0]):
            attributes["$pydantic"] = [
                self.write(getattr(value, name), (*path, "$pydantic", i))
                for i, name in enumerate(_PYDANTIC)
            ]
        return attributes


class _Reader:
    """Reads one tree; finds an earlier object by its path."""

    def __init__(self, codec: StateCodec) -> None:
        self._codec = codec
        self._built: dict[tuple[Any, ...], Any] = {}

    def read(self, tree: Tree, path: tuple[Any, ...]) -> Any:
        if isinstance(tree, list):
            return self._list(tree, path)
        if not isinstance(tree, dict):
            return tree
        kind = next(iter(tree), "")
        if not kind.startswith("$"):
            built = self._built[path] = {}
            for key, item in tree.items():
                built[key] = self.read(item, (*path, key))
            return built
        return self._special(kind, tree[kind], path)

    def _list(self, items: list[Tree], path: tuple[Any, ...]) -> list[Any]:
        built: list[Any] = []
        self._built[path] = built
        built.extend(self.read(item, (*path, i)) for i, item in enumerate(items))
        return built

    def _special(self, kind: str, content: Any, path: tuple[Any, ...]) -> Any:
        if kind in _READ_TEXT:
            return _READ_TEXT[kind](content)
        if kind == "$same":
            return self._built[tuple(content)]
        if kind == "$enum":
            return self._codec.find(content[0])[content[1]]  # type: ignore[index]
        if kind == "$path":
            return PurePath(content)
        if kind == "$tuple":
            return tuple(self.read(item, (*path, i)) for i, item in enumerate(content))
        if kind == "$frozenset":
            return frozenset(map(self._codec.read, content))
        if kind == "$object":
            return self._object(self._codec.find(content[0]), content[1], path)
        built: Any = (
            {} if kind == "$dict" else set() if kind == "$set" else deque(maxlen=content[0])
        )
        self._built[path] = built
        if kind == "$dict":
            for i, (key, item) in enumerate(content):
                built[self._codec.read(key)] = self.read(item, (*path, i))
        elif kind == "$set":
            built.update(map(self._codec.read, content))
        else:
            built.extend(self.read(item, (*path, i)) for i, item in enumerate(content[1]))
        return built

    def _object(self, cls: type, attributes: dict[str, Tree], path: tuple[Any, ...]) -> Any:
        built: Any = object.__new__(cls)
        self._built[path] = built
        for i, name in enumerate(_PYDANTIC):
            if "$pydantic" in attributes:
                item = self.read(attributes["$pydantic"][i], (*path, "$pydantic", i))
                object.__setattr__(built, name, item)
        for name, item in attributes.items():
            if name != "$pydantic":
                object.__setattr__(built, name, self.read(item, (*path, name)))
        return built


def _stores_attributes(cls: type) -> bool:
    """Return whether the instances of a class are fully described by their attributes."""
    if cls.__module__.partition(".")[0] in sys.stdlib_module_names - {"__main__"}:
        return False
    # A class with a way of its own to be copied has more than attributes.
    own = any("__reduce__" in vars(c) or "__reduce_ex__" in vars(c) for c in cls.__mro__[:-1])
    return not own and not issubclass(cls, (enum.Enum, *_BUILT_IN))


def _attribute_names(value: Any) -> list[str]:
    slots = [
        name
        for base in type(value).__mro__
        for name in _slots(base)
        if name not in ("__dict__", "__weakref__", *_PYDANTIC) and hasattr(value, name)
    ]
    return [*slots, *getattr(value, "__dict__", ())]


def _slots(base: type) -> tuple[str, ...]:
    names = vars(base).get("__slots__", ())
    return (names,) if isinstance(names, str) else tuple(names)


def _dotted(path: tuple[Any, ...]) -> str:
    return ".".join(map(str, path)) or "it"


Path = tuple[str, ...]


@dataclass(frozen=True)
class ValuesAt:
    """The values at a pattern in a state, each once.

    >>> ValuesAt("mails.*.id")({"mails": [{"id": 3}, {"id": 5}]})
    [3, 5]
    """

    pattern: str

    def __call__(self, state: Any) -> list[Any]:
        """List the values in a state; a step that a part of the state lacks leads nowhere."""
        found = [state]
        for step in self.pattern.split("."):
            found = [value for one in found for value in _steps(one, step)]
        distinct: list[Any] = []
        for value in found:
            if value not in distinct:
                distinct.append(value)
        return distinct


def _steps(value: Any, step: str) -> list[Any]:
    if step == "*":
        if isinstance(value, Mapping):
            return list(value.values())
        if isinstance(value, (list, tuple, set, frozenset)):
            return sorted(value) if isinstance(value, (set, frozenset)) else list(value)
        return list(getattr(value, "__dict__", {}).values())
    if isinstance(value, Mapping):
        return [item for key, item in value.items() if str(key) == step]
    if isinstance(value, (list, tuple)):
        return [value[int(step)]] if step.isdecimal() and int(step) < len(value) else []
    return [getattr(value, step)] if hasattr(value, step) else []


def path_test(patterns: Iterable[str]) -> Callable[[Path], bool]:
    """Return a function of a path: whether it or a path above it matches one of the patterns.

    >>> ignored = path_test(["log.*.time"])
    >>> ignored(("log", "0", "time")), ignored(("log", "0", "text"))
    (True, False)
    """
    split = [pattern.split(".") for pattern in patterns]

    def matches(path: Path) -> bool:
        return any(
            len(steps) <= len(path)
            and all(step in ("*", part) for step, part in zip(steps, path, strict=False))
            for steps in split
        )

    return matches


def leaves(tree: Tree, path: Path = ()) -> Iterator[tuple[Path, Tree]]:
    """Yield the paths to the values of a tree; attributes and keys are named as in patterns."""
    if isinstance(tree, Mapping):
        kind = next(iter(tree), "")
        if kind == "$object":
            tree = {key: item for key, item in tree[kind][1].items() if key != "$pydantic"}
        elif kind == "$dict":
            tree = {str(_key(key)): item for key, item in tree[kind]}
        elif kind == "$tuple":
            tree = tree[kind]
        elif kind.startswith("$"):
            yield path, tree
            return
    if not isinstance(tree, (Mapping, list)) or not tree:
        yield path, tree
        return
    items = tree.items() if isinstance(tree, Mapping) else enumerate(tree)
    for key, item in items:
        yield from leaves(item, (*path, str(key)))


def _key(tree: Tree) -> Tree:
    """Return a key as it is written in a pattern."""
    if isinstance(tree, dict):
        (content,) = tree.values()
        return content[1] if "$enum" in tree else content
    return tree


Delta = list[Any]
"""Pairs of a path and its present value."""


def delta(base: Tree, tree: Tree) -> Delta:
    """Return the changes that turn one tree into another.

    >>> delta({"a": [1, 2], "b": 0}, {"a": [1, 3], "b": 0})
    [[['a', 1], 3]]
    """
    return [[list(path), item] for path, item in _differences(base, tree, ())]


def _differences(
    base: Tree, tree: Tree, path: tuple[Any, ...]
) -> Iterator[tuple[tuple[Any, ...], Tree]]:
    if type(base) is not type(tree):
        yield path, tree
    elif isinstance(tree, dict) and list(base) == list(tree)[: len(base)]:
        for key, item in tree.items():
            if key in base:
                yield from _differences(base[key], item, (*path, key))
            else:
                yield (*path, key), item
    elif isinstance(tree, list) and len(base) <= len(tree):
        for i, item in enumerate(tree):
            if i < len(base):
                yield from _differences(base[i], item, (*path, i))
            else:
                yield (*path, i), item
    elif isinstance(tree, dict) or base != tree:  # equal dicts may differ in their order
        yield path, tree


def patched(base: Tree, changes: Sequence[Any]) -> Tree:
    """Apply a delta to a tree, which stays as it is.

    >>> patched({"a": [1, 2], "b": 0}, [[["a", 1], 3], [["c"], None]])
    {'a': [1, 3], 'b': 0, 'c': None}
    """
    result = base
    copied: set[tuple[Any, ...]] = set()
    for path, item in changes:
        if not path:
            return item
        result = _with(result, (), path, item, copied)
    return result


def _with(
    tree: Tree, above: tuple[Any, ...], path: list[Any], item: Tree, copied: set[tuple[Any, ...]]
) -> Tree:
    """Put an item at a path; copy each container on the way once."""
    if above not in copied:
        tree = dict(tree) if isinstance(tree, dict) else list(tree)
        copied.add(above)
    step, *rest = path
    if rest:
        item = _with(tree[step], (*above, step), rest, item, copied)
    if isinstance(tree, list) and step == len(tree):
        tree.append(item)
    else:
        tree[step] = item
    return tree
