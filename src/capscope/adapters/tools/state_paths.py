"""Paths into states: values at a path, the leaves of a tree, and what differs between two trees.

A pattern is a dotted path in which `*` stands for any one step: `mails.*.id`. A step is a key, an
index or an attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from capscope.adapters.tools.state_codec import Tree

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
"""Pairs of a path and what is there now."""


def delta(base: Tree, tree: Tree) -> Delta:
    """Return what makes one tree of another.

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
