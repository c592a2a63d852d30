"""A simulator made of a state and tools: each step is one tool call.

The state is a dict, a dataclass or a pydantic model, and tools are functions that modify it.
Everything that a simulator needs follows: snapshots are the state as text (`state`), large ones
compressed.

A random walk calls each tool with combinations of values of its parameters. They come from the
user, or else from the schema: the members of an enumeration, true and false, or the default. A tool
with a parameter without values is not called.

A call that the tool refuses, or that raises, is an observation: the agent reads the error, as it
would in use, and whatever the call had changed before is undone.
"""

from __future__ import annotations

import hashlib
import json
import math
import pickle
import random
import zlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from capscope.adapters.tools.state import StateCodec, Tree, leaves, path_test, tree_text
from capscope.adapters.tools.tool import result_text, tool_of
from capscope.errors import ProblemError, SimulatorError
from capscope.problem import Inspection, Snapshot
from capscope.problem.attempt import error_location
from capscope.problem.positions import LARGEST_SNAPSHOT
from capscope.problem.tool_calls import Tool, ToolCall, ToolObservation, ToolResult
from capscope.seeds import child_seed

Choices = Sequence[Any] | Callable[[Any], Sequence[Any]]
"""The values of a parameter: a list, or a function of the state."""
_MOST_CALLS = 60
"""Calls of one tool; of more combinations, evenly spaced ones are used."""


@dataclass(frozen=True)
class CallChoices:
    """The values that the parameters of tools may have."""

    tools: tuple[Tool, ...]
    values: Mapping[str, Choices]

    def __post_init__(self) -> None:
        known = {parameter for tool in self.tools for parameter in _parameters(tool)}
        known |= {f"{tool.name}.{one}" for tool in self.tools for one in _parameters(tool)}
        unknown = sorted(set(self.values) - known)
        if unknown:
            raise ProblemError(
                f"values are given for {', '.join(unknown)}, which no tool takes; parameters are "
                f"{', '.join(sorted(k for k in known if '.' not in k))}"
            )

    def calls(self, state: Any) -> list[ToolCall]:
        """List calls in a state."""
        return [call for tool in self.tools for call in self._calls_of(tool, state)]

    def _calls_of(self, tool: Tool, state: Any) -> list[ToolCall]:
        columns = {name: self._choices(tool, name, state) for name in _parameters(tool)}
        sizes = [len(choices) for choices in columns.values()]
        total = math.prod(sizes)
        calls = []
        for number in range(min(total, _MOST_CALLS)):
            place = number if total <= _MOST_CALLS else number * total // _MOST_CALLS
            arguments = {}
            for name, choices in columns.items():
                place, index = divmod(place, len(choices))
                arguments[name] = choices[index]
            calls.append(ToolCall(tool.name, arguments))
        return calls

    def _choices(self, tool: Tool, parameter: str, state: Any) -> Sequence[Any]:
        given = self.values.get(f"{tool.name}.{parameter}", self.values.get(parameter))
        if given is None:
            return _from_schema(_parameters(tool)[parameter], tool.schema)
        return list(given(state) if callable(given) else given)

    def notes(self, state: Any) -> Iterator[str]:
        """Note the tools that are not called, and the parameters without values."""
        for tool in self.tools:
            missing = [p for p in _parameters(tool) if not self._choices(tool, p, state)]
            if missing:
                yield (
                    f"random walks do not call {tool.name}: give values for {', '.join(missing)} "
                    "(the agent may call it all the same)"
                )


def _parameters(tool: Tool) -> Mapping[str, Any]:
    parameters: Mapping[str, Any] = tool.schema.get("properties", {})
    return parameters


def _from_schema(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> list[Any]:
    """Return the values that a schema lists; empty if it does not."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return _from_schema(whole.get("$defs", {}).get(name, {}), whole)
    if "enum" in schema:
        return list(schema["enum"])
    if "const" in schema:
        return [schema["const"]]
    if schema.get("type") == "boolean":
        return [False, True]
    return [schema["default"]] if "default" in schema else []


_LARGE = 8_000
"""Characters of a state's text above which snapshots are compressed, and restores are cached."""
_MOST_CACHED = 256
_START, _WORDING, _TOOLS = 0, 1, 2  # children of the seed of a reset or a restore


class ToolWorld:
    """A simulator of tools over a state.

    `start` is the state, or a function of a `random.Random` that makes one. `values` says which
    values a parameter may have on random walks: a list, a function of the state, or `values(path)`;
    the key is the parameter's name, or `tool.parameter`. Paths in `ignore` (`log.*.time`) do not
    distinguish positions.
    """

    def __init__(
        self,
        start: Any,
        tools: Sequence[Callable[..., Any] | Tool],
        values: Mapping[str, Choices] | None = None,
        ignore: Sequence[str] = (),
    ) -> None:
        made = [one if isinstance(one, Tool) else tool_of(one) for one in tools]
        self.tools = {tool.name: tool for tool in made}
        if len(self.tools) < len(made):
            raise ProblemError("two tools have the same name; rename one of them")
        self._choices = CallChoices(tuple(self.tools.values()), dict(values or {}))
        self._ignore = tuple(ignore)
        self._ignored = path_test(ignore)
        self._wordings = 0
        self._codec = StateCodec()
        self._make = start if callable(start) and not isinstance(start, type) else None
        self._first = None if self._make else self._codec.write(start)
        self._given = start, tools, values, ignore
        self._cached: OrderedDict[bytes, bytes] = OrderedDict()
        self._calls: Counter[str] = Counter()
        self._raised: dict[str, tuple[int, str]] = {}
        self.reset(0)

    def with_wordings(self, wordings: int) -> ToolWorld:
        """Return the same world, in which a reset also draws one of several wordings."""
        world = ToolWorld(*self._given)
        world._wordings = wordings
        return world

    @property
    def fingerprint(self) -> str:
        """Identify the tools and the first state, but for what is ignored."""
        start = None if self._make else self._named(self._first)
        return fingerprint_of(self.tools, start, self._wordings)

    def reset(self, seed: int) -> ToolObservation:
        """Go to the start."""
        wording = child_seed(seed, _WORDING) % self._wordings if self._wordings else None
        return self._go(self._started(seed), wording, seed)

    def _started(self, seed: int) -> Any:
        if self._make is None:
            return self._codec.read(self._first)
        return self._make(random.Random(child_seed(seed, _START)))

    def _go(self, state: Any, wording: int | None, seed: int) -> ToolObservation:
        self._state = state
        self._wording = wording
        self._tree: Tree | None = None
        self._result: ToolResult | None = None
        self._rng = random.Random(child_seed(seed, _TOOLS))
        return ToolObservation(state, None, wording)

    @property
    def state(self) -> Any:
        """The current state."""
        return self._state

    def tree(self) -> Tree:
        """Return the current state as a tree."""
        if self._tree is None:
            self._tree = self._codec.write(self._state)
        return self._tree

    def actions(self) -> CallsNow:
        """List the calls of a random walk; an agent may make any other call."""
        return CallsNow(self._choices, self._state)

    def step(self, action: ToolCall) -> ToolObservation:
        """Call a tool."""
        before = self.tree()
        self._result = self._called(action)
        if self._result.refused:
            # What it changed before it raised is undone.
            self._state = self._codec.read(before)
        else:
            self._tree = None
        return ToolObservation(self._state, self._result, self._wording)

    def _called(self, call: ToolCall) -> ToolResult:
        if call.error:
            return ToolResult(f"error: {call.error}", refused=True)
        tool = self.tools.get(call.tool)
        if tool is None:
            return ToolResult(f"error: there is no tool {call.tool!r}", refused=True)
        self._calls[tool.name] += 1
        try:
            return ToolResult(result_text(tool.run(self._state, call.arguments, self._rng)))
        except Exception as error:
            times, _ = self._raised.get(tool.name, (0, ""))
            kind = f"{type(error).__name__}{error_location(error)}: {error}"
            self._raised[tool.name] = times + 1, kind
            return ToolResult(f"error: {error}" if str(error) else f"error: {kind}", refused=True)

    def snapshot(self) -> Snapshot:
        """Write the state."""
        content: dict[str, Any] = {"state": self.tree()}
        if self._wording is not None:
            content["wording"] = self._wording
        text = tree_text(content).encode()
        return text if len(text) <= _LARGE else zlib.compress(text)

    def position_name(self) -> bytes | None:
        """Identify the position by what is not ignored."""
        if not self._ignore:
            return None
        text = json.dumps([self._named(self.tree()), self._wording])
        return hashlib.sha256(text.encode()).digest()

    def _named(self, tree: Tree) -> list[Any]:
        return [[path, item] for path, item in leaves(tree) if not self._ignored(path)]

    def restore(self, snapshot: Snapshot, seed: int) -> ToolObservation:
        """Go back to a state."""
        cached = self._cached.get(snapshot)
        if cached is not None:
            self._cached.move_to_end(snapshot)
            state, wording = pickle.loads(cached)
            return self._go(state, wording, seed)
        small = snapshot.startswith(b"{")
        # The size is limited, because a run directory may come from someone else.
        text = snapshot if small else zlib.decompressobj().decompress(snapshot, LARGEST_SNAPSHOT)
        content = json.loads(text)
        tree, wording = content["state"], content.get("wording")
        state = self._codec.read(tree)
        again = self._codec.write(state)
        if again != tree:
            before = dict(leaves(tree))
            paths = (".".join(path) for path, item in leaves(again) if before.get(path) != item)
            raise SimulatorError(
                f"a state changed when it was read back: {', '.join(list(paths)[:3])} differ"
            )
        if not small:
            self._remember(snapshot, (state, wording))
        observation = self._go(state, wording, seed)
        self._tree = tree
        return observation

    def _remember(self, snapshot: Snapshot, position: tuple[Any, int | None]) -> None:
        """Keep a large state for the next restore; pickle is the fastest way to copy it."""
        try:
            self._cached[snapshot] = pickle.dumps(position, pickle.HIGHEST_PROTOCOL)
        except Exception:  # classes that pickle does not find; then each restore reads the text
            return
        if len(self._cached) > _MOST_CACHED:
            self._cached.popitem(last=False)

    def last_step(self) -> Mapping[str, str]:
        """Return the result of the last call, which the state after a restore lacks."""
        return {}

    def inspect(self) -> Inspection:
        """Return all values of the state that are not ignored, and the generator."""
        parts = {
            f"state.{'.'.join(path)}": tree_text(item) for path, item in self._named(self.tree())
        }
        return Inspection(parts, {}, {"the generator of tools": str(self._rng.getstate())})

    def remedy(self, randomness: bool) -> str:
        """Return how to fix a state that is not restored."""
        if randomness:
            return "let tools draw from a parameter annotated random.Random"
        return "keep everything that tools change in the state, and name in `ignore` what is time"

    def notes(self) -> Iterator[str]:
        """Note tools that a random walk cannot call, and tools that raise."""
        yield from self._choices.notes(self._started(0))
        for name, (times, example) in self._raised.items():
            yield (
                f"{times} of {self._calls[name]} calls of {name} were refused or raised, for "
                f"example {example}; such a call changes nothing, and the agent reads the error"
            )


def fingerprint_of(tools: Mapping[str, Tool], start: Any, wordings: int) -> str:
    """Identify a world by its tools, its first state and its number of wordings."""
    schemas = [tool.as_openai() for tool in tools.values()]
    text = json.dumps([schemas, start, wordings], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class CallsNow(Sequence[ToolCall]):
    """The calls of a random walk in a state; computed when they are looked at."""

    choices: CallChoices
    state: Any

    @cached_property
    def _calls(self) -> list[ToolCall]:
        return self.choices.calls(self.state)

    def __bool__(self) -> bool:
        # The episode never ends: an agent may always call a tool.
        return True

    def __len__(self) -> int:
        return len(self._calls)

    def __getitem__(self, index: Any) -> Any:
        return self._calls[index]
