"""Suggest a vocabulary: what do tool calls change?

Random calls are made, and every path of the state that differs from the start is noted. Steps that
are an index or a key of a container become an object; a value that is true or false becomes a
predicate, one with a few other values a predicate with the value as a second argument.
"""

from __future__ import annotations

import keyword
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from capscope.adapters.mcp import McpWorld
from capscope.adapters.tools.state import Tree, leaves
from capscope.adapters.tools.world import ToolWorld
from capscope.errors import ProblemError
from capscope.problem import Problem
from capscope.seeds import child_seed

_MOST_VALUES = 8
_NAME = re.compile(r"[^\s(),]+")


@dataclass
class ChangedPath:
    """A path that tool calls change; `*` stands for the objects of a container."""

    pattern: tuple[str, ...]
    reads: tuple[str, ...]
    """How Python reads each step: `.mails`, `['mails']` or `[0]`."""
    objects: dict[str, None] = field(default_factory=dict)
    values: dict[str, None] = field(default_factory=dict)
    """As Python literals, each once."""

    @property
    def type_name(self) -> str:
        """The type of its objects, after the container: `mail` for `mails`."""
        place = self.pattern.index("*")
        return _singular(self.pattern[place - 1] if place else "object")

    @property
    def predicate(self) -> str | None:
        """The predicate with its types; None if its values are too many."""
        steps = [step for step in self.pattern if step != "*"]
        if "*" in self.pattern:
            steps = [s for s in steps if _singular(s) != self.type_name] or steps
        types = [self.type_name] if "*" in self.pattern else []
        if not set(self.values) <= {"True", "False"}:
            texts = [value.strip("'\"") for value in self.values]
            if len(texts) > _MOST_VALUES or not all(map(_NAME.fullmatch, texts)):
                return None
            types.append(f"{steps[-1]}-value")
        name = "-".join(steps)
        return f"{name}({','.join(types)})" if types else name

    @property
    def _item(self) -> str:
        number = all(name.isdecimal() for name in self.objects)
        return f"[int({self.type_name})]" if number else f"[{self.type_name}]"

    @property
    def function(self) -> str:
        """The predicate as Python code."""
        read = "state"
        for step, access in zip(self.pattern, self.reads, strict=True):
            read += self._item if step == "*" else access
        names = [self.type_name] if "*" in self.pattern else []
        if self.predicate and "-value" in self.predicate:
            names.append("value")
            read = f"str({read}) == value"
        return f"lambda {', '.join(['state', *names])}: {read}"


def world_of(found: object, source: str) -> ToolWorld | McpWorld:
    """Return the tool world that an object is, or that is the simulator of a problem."""
    world = found.simulator if isinstance(found, Problem) else found
    if not isinstance(world, ToolWorld | McpWorld):
        raise ProblemError(f"{source} is a {type(found).__name__}, and no tool world")
    return world


def changed_paths(
    world: ToolWorld | McpWorld, calls: int = 400, seed: int = 0
) -> list[ChangedPath]:
    """Make random calls, with some resets between, and return what they changed."""
    rng = random.Random(child_seed(seed, 0))
    found: dict[tuple[str, ...], ChangedPath] = {}
    before: Mapping[tuple[str, ...], Tree] = {}
    for number in range(calls):
        if number % 20 == 0:
            world.reset(child_seed(seed, 1, number))
            before = dict(leaves(world.tree()))
        available = list(world.actions())
        if not available:
            break
        world.step(rng.choice(available))
        now = dict(leaves(world.tree()))
        for path in before.keys() & now.keys():
            if before[path] != now[path]:
                one = _path_of(found, path, world.state)
                one.values.update(dict.fromkeys(map(repr, (before[path], now[path]))))
    return sorted(found.values(), key=lambda one: one.pattern)


def _path_of(
    found: dict[tuple[str, ...], ChangedPath], path: tuple[str, ...], state: Any
) -> ChangedPath:
    """Return the pattern that a path belongs to; note its object."""
    pattern, name = path, None
    for i, step in enumerate(path):
        # A key that is not an attribute's name, or an index, stands for one of several objects.
        if step.isdecimal() or not step.isidentifier() or keyword.iskeyword(step):
            pattern, name = (*path[:i], "*", *path[i + 1 :]), step
            break
    if pattern not in found:
        found[pattern] = ChangedPath(pattern, tuple(_reads(state, path)))
    if name is not None:
        found[pattern].objects[name] = None
    return found[pattern]


def _reads(state: Any, path: tuple[str, ...]) -> Iterator[str]:
    for step in path:
        if isinstance(state, Mapping):
            key = next((key for key in state if str(key) == step), step)
            yield f"[{key!r}]"
            state = state.get(key)
        elif isinstance(state, list | tuple):
            yield f"[{step}]"
            state = state[int(step)]
        else:
            yield f".{step}"
            state = getattr(state, step, None)


def suggested_lines(world: ToolWorld | McpWorld, calls: int = 400, seed: int = 0) -> Iterator[str]:
    """Write the suggestion as Python code to copy and adapt."""
    paths = changed_paths(world, calls, seed)
    if not paths:
        yield "# no random call changed anything; give values for the parameters of tools"
        return
    yield "predicates = {"
    for one in paths:
        dotted, values = ".".join(one.pattern), ", ".join(list(one.values)[:_MOST_VALUES])
        if one.predicate is None:
            yield f"    # {dotted} has many values, such as {values}: say what matters about it"
        else:
            yield f'    "{one.predicate}": {one.function},  # {dotted}: {values}'
    yield "}"
    objects: dict[str, dict[str, Any]] = {}
    for one in paths:
        if one.predicate is None:
            continue
        if "*" in one.pattern:
            objects.setdefault(one.type_name, {}).update(one.objects)
        if "-value" in one.predicate:
            kind = one.predicate.rstrip(")").rpartition("(")[2].rpartition(",")[2]
            objects.setdefault(kind, {}).update((v.strip("'\""), None) for v in one.values)
    yield f"objects = { ({kind: sorted(names) for kind, names in objects.items()})!r}"


def _singular(name: str) -> str:
    return name[:-1] if len(name) > 1 and name.endswith("s") else name
