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
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

from capscope.errors import ProblemError

Tree = Any
"""JSON values; what JSON lacks is an object with one key that starts with `$`."""

Place = tuple[Any, ...]
"""The keys, indices and attributes that lead to a part of a state."""
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
_READ_TEXT = {"$path": PurePath, **{kind: read for kind, _, read in _TEXTS.values()}}


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
        return self._write(value, (), {})

    def read(self, tree: Tree) -> Any:
        """Build new objects from a tree."""
        return self._read(tree, (), {})

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

    def _write(self, value: Any, path: Place, met: dict[int, Place]) -> Tree:
        """Write what is at a path; `met` has the path of each object that was written before."""

        def below(item: Any, *steps: Any) -> Tree:
            return self._write(item, (*path, *steps), met)

        kind = type(value)
        if value is None or kind in (bool, int, str, float):
            return value
        if kind in _TEXTS:
            name, text, _ = _TEXTS[kind]
            return {name: text(value)}
        if isinstance(value, enum.Enum):
            return {"$enum": [self.name_of(kind), value.name]}
        if isinstance(value, PurePath):
            return {"$path": str(value)}
        if kind is tuple:
            return {"$tuple": [below(item, i) for i, item in enumerate(value)]}
        if kind is frozenset:
            return {"$frozenset": self._sorted(value)}
        if id(value) in met:
            return {"$same": list(met[id(value)])}
        met[id(value)] = path
        if kind is list:
            return [below(item, i) for i, item in enumerate(value)]
        if kind is set:
            return {"$set": self._sorted(value)}
        if kind is deque:
            return {"$deque": [value.maxlen, [below(item, i) for i, item in enumerate(value)]]}
        if kind is dict and all(type(key) is str and not key.startswith("$") for key in value):
            return {key: below(item, key) for key, item in value.items()}
        if kind is dict:
            pairs = enumerate(value.items())
            return {"$dict": [[self.write(key), below(item, i)] for i, (key, item) in pairs]}
        if not _stores_attributes(kind):
            raise ProblemError(
                f"the state cannot be stored: {'.'.join(map(str, path)) or 'it'} is a "
                f"{kind.__module__}.{kind.__name__}; keep plain values, dataclasses and pydantic "
                "models in the state, and let a tool take a parameter annotated random.Random for "
                "randomness"
            )
        attributes = {name: below(getattr(value, name), name) for name in _attribute_names(value)}
        if hasattr(value, _PYDANTIC[0]):
            own = enumerate(getattr(value, name) for name in _PYDANTIC)
            attributes["$pydantic"] = [below(item, "$pydantic", i) for i, item in own]
        return {"$object": [self.name_of(kind), attributes]}

    def _sorted(self, values: Any) -> list[Tree]:
        # Members have no place to refer to. They are hashable, so they do not change.
        return sorted(map(self.write, values), key=tree_text)

    def _read(self, tree: Tree, path: Place, built: dict[Place, Any]) -> Any:
        """Read what is at a path; `built` has the objects that were read before."""

        def below(item: Any, *steps: Any) -> Any:
            return self._read(item, (*path, *steps), built)

        if isinstance(tree, list):
            made = built[path] = []
            made.extend(below(item, i) for i, item in enumerate(tree))
            return made
        if not isinstance(tree, dict):
            return tree
        kind = next(iter(tree), "")
        if not kind.startswith("$"):
            built[path] = by_key = dict[str, Any]()
            by_key.update((key, below(item, key)) for key, item in tree.items())
            return by_key
        content = tree[kind]
        match kind:
            case "$same":
                return built[tuple(content)]
            case "$enum":
                return self.find(content[0])[content[1]]  # type: ignore[index]
            case "$tuple":
                return tuple(below(item, i) for i, item in enumerate(content))
            case "$frozenset":
                return frozenset(map(self.read, content))
            case "$set":
                built[path] = set(map(self.read, content))
            case "$deque":
                built[path] = deque(maxlen=content[0])
                built[path].extend(below(item, i) for i, item in enumerate(content[1]))
            case "$dict":
                built[path] = {}
                pairs = ((self.read(key), below(item, i)) for i, (key, item) in enumerate(content))
                built[path].update(pairs)
            case "$object":
                built[path] = object.__new__(self.find(content[0]))
                attributes = dict(content[1])
                for i, item in enumerate(attributes.pop("$pydantic", ())):
                    object.__setattr__(built[path], _PYDANTIC[i], below(item, "$pydantic", i))
                for name, item in attributes.items():
                    object.__setattr__(built[path], name, below(item, name))
            case _:
                return _READ_TEXT[kind](content)
        return built[path]


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


Path = tuple[str, ...]


def values(pattern: str) -> Callable[[Any], list[Any]]:
    """Return a function of the state: the values at a pattern, each once.

    Args:
        pattern: Keys, indices, attributes or `*` (all), joined by dots. A step that a part of
            the state lacks leads nowhere.

    Returns:
        A function that lists the values.

    >>> values("mails.*.id")({"mails": [{"id": 3}, {"id": 5}, {"id": 3}]})
    [3, 5]
    """

    def find(state: Any) -> list[Any]:
        found = [state]
        for step in pattern.split("."):
            found = [value for one in found for value in _steps(one, step)]
        return [value for i, value in enumerate(found) if value not in found[:i]]

    return find


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
