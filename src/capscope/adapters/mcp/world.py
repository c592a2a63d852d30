"""A simulator whose world is a stateful MCP server: each step is one call of its tools.

What predicates see is what a tool that reads returns, asked after every call. A position is
restored in one of three ways, the first that the server allows:

- its own tools write and read back the state;
- its own tool goes back to the start, and the calls since then are repeated;
- the server is started again, and the calls since then are repeated.

Calls that only read are not repeated. After each restore the state is read and compared with what
it was, so a server that does not repeat itself is noticed at once.

Unlike in a `ToolWorld`, what a failing call has changed before stays changed: that is what the
server does in use.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from capscope.adapters.mcp.server import McpServer, ServerAnswer
from capscope.adapters.tools.state import Tree, leaves, path_test
from capscope.adapters.tools.world import CallChoices, CallsNow, Choices, fingerprint_of
from capscope.errors import ProblemError, SimulatorError
from capscope.problem import Inspection, Snapshot
from capscope.problem.tool_calls import Tool, ToolCall, ToolObservation, ToolResult
from capscope.seeds import child_seed

_WORDING, _SERVER = 0, 1  # children of the seed of a reset or a restore
_SEEDS = 2**31


@dataclass(frozen=True)
class ControlTools:
    """The server's tools that are for tests, by name; the agent does not see them.

    `snapshot` returns the whole state, and `restore` takes it as its one argument. `reset` goes
    back to the start. `seed` takes a number that determines all later randomness. `hidden` are
    other tools that the agent is not given.
    """

    snapshot: str | None = None
    restore: str | None = None
    reset: str | None = None
    seed: str | None = None
    hidden: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.snapshot is None) is not (self.restore is None):
            raise ProblemError("ControlTools needs both snapshot and restore, or neither")

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        named = (self.snapshot, self.restore, self.reset, self.seed)
        return (*filter(None, named), *self.hidden)


class McpWorld:
    """A simulator of the tools of an MCP server, over stdio.

    `command` starts the server. `read` is the tool that returns the state (without arguments), or
    several by name: then the state is a dict of their results. Without it, the state is what
    `control.snapshot` returns. `values` says which values a parameter may have on random walks, as
    for a `ToolWorld`. Paths in `ignore` (`*.time`) do not distinguish positions. A server that
    takes longer than `timeout` seconds for an answer is ended.
    """

    def __init__(
        self,
        command: Sequence[str],
        read: str | Mapping[str, str] | None = None,
        control: ControlTools | None = None,
        values: Mapping[str, Choices] | None = None,
        ignore: Sequence[str] = (),
        timeout: float = 30.0,
    ) -> None:
        self._control = control or ControlTools()
        self._read = read or self._control.snapshot
        if not command or isinstance(command, str) or self._read is None:
            raise ProblemError(
                "an McpWorld needs a command as a list, like ['python', 'server.py'], and either "
                "`read`, a tool that returns the state, or a snapshot tool"
            )
        self._command, self._timeout = tuple(command), timeout
        self._ignored = path_test(ignore)
        self._given = command, read, control, values, ignore, timeout
        self._wordings = 0
        self._server: McpServer | None = None
        self._fresh = False
        self._costs: list[tuple[float, int, bool]] = []  # seconds, calls, a new start
        self._start()
        self._restore_argument = self._one_parameter(self._control.restore)
        self._seed_argument = self._one_parameter(self._control.seed)
        hidden = self._control.names
        self.tools = {name: tool for name, tool in self._listed.items() if name not in hidden}
        self._choices = CallChoices(tuple(self.tools.values()), dict(values or {}))
        self.reset(0)
        self._first = self._state

    def with_wordings(self, wordings: int) -> McpWorld:
        """Return the same world, with a server of its own; a reset also draws a wording."""
        world = McpWorld(*self._given)
        world._wordings = wordings
        return world

    def close(self) -> None:
        """End the server; it is started again when the world is used."""
        if self._server is not None:
            self._server.close()
        self._server = None

    # The server

    def _start(self) -> None:
        """Start the server, or a new one in its place."""
        self.close()
        self._server = McpServer(self._command, self._timeout)
        listed = {one["name"]: one for one in self._server.tools()}
        self._listed = {name: self._tool(name, one) for name, one in listed.items()}
        hints = {name: one.get("annotations", {}) for name, one in listed.items()}
        self._only_read = {name for name, hint in hints.items() if hint.get("readOnlyHint")}
        needed = self._read.values() if isinstance(self._read, Mapping) else [self._read]
        missing = sorted({*needed, *self._control.names} - set(self._listed))
        if missing:
            self.close()
            raise ProblemError(
                f"the MCP server has no tool {', '.join(missing)}; it has "
                f"{', '.join(self._listed) or 'none'}"
            )
        self._fresh = True
        self._calls: list[Any] = []
        self._initial = self._snapshot_value()

    def _tool(self, name: str, one: Mapping[str, Any]) -> Tool:
        schema = one.get("inputSchema", {})
        return Tool(name, one.get("description", ""), schema, partial(self._run, name))

    def _one_parameter(self, tool: str | None) -> str | None:
        if tool is None:
            return None
        schema = self._listed[tool].schema
        names = list(schema.get("required", ())) or list(schema.get("properties", ()))
        if len(names) != 1:
            self.close()
            raise ProblemError(
                f"{tool} of the MCP server must take one argument, not {len(names)}; its "
                f"parameters are {', '.join(names) or 'none'}"
            )
        return str(names[0])

    def _ask(self, tool: str, arguments: Mapping[str, Any]) -> ServerAnswer:
        if self._server is None:
            raise SimulatorError("the MCP server has ended; reset or restore the world first")
        try:
            return self._server.call(tool, arguments)
        except BaseException:
            self._server = None  # it is closed; the next reset or restore starts another one
            raise

    def _asked(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool that must not fail."""
        answer = self._ask(tool, arguments)
        if answer.refused:
            raise SimulatorError(f"{tool} of the MCP server failed: {answer.text}")
        return answer.value

    def _run(self, tool: str, state: Any, arguments: Mapping[str, Any], rng: Any) -> str:
        """Call a tool as an agent does; `Tool` prescribes the parameters."""
        return self._ask(tool, arguments).text

    def _snapshot_value(self) -> Any:
        return self._asked(self._control.snapshot, {}) if self._control.snapshot else None

    def _observe(self, result: ToolResult | None = None) -> ToolObservation:
        if isinstance(self._read, Mapping):
            self._state: Tree = {name: self._asked(tool, {}) for name, tool in self._read.items()}
        else:
            self._state = self._asked(str(self._read), {})
        return ToolObservation(self._state, result, self._wording)

    # The simulator

    @property
    def state(self) -> Any:
        """What the tools that read returned last."""
        return self._state

    def tree(self) -> Tree:
        """Return the state as a tree."""
        return self._state

    @property
    def fingerprint(self) -> str:
        """Identify the tools and the first state, but for what is ignored."""
        return fingerprint_of(self.tools, self._named(self._first), self._wordings)

    def reset(self, seed: int) -> ToolObservation:
        """Go to the start."""
        self._wording = child_seed(seed, _WORDING) % self._wordings if self._wordings else None
        self._go_to_start()
        self._reseed(seed)
        return self._observe()

    def _go_to_start(self) -> None:
        if self._server is None:
            self._start()
        elif self._fresh:
            pass
        elif self._control.restore:
            self._put(self._initial)
        elif self._control.reset:
            self._asked(self._control.reset, {})
        else:
            self._start()
        self._calls = []

    def _put(self, value: Any) -> None:
        assert self._control.restore is not None and self._restore_argument is not None
        schema = self._listed[self._control.restore].schema
        kind = schema.get("properties", {}).get(self._restore_argument, {}).get("type")
        given = json.dumps(value) if kind == "string" and not isinstance(value, str) else value
        self._fresh = False
        self._asked(self._control.restore, {self._restore_argument: given})

    def _reseed(self, seed: int) -> None:
        if self._control.seed is not None and self._seed_argument is not None:
            number = child_seed(seed, _SERVER) % _SEEDS
            self._repeat([self._control.seed, {self._seed_argument: number}])

    def _repeat(self, call: Sequence[Any]) -> None:
        """Make a call and record it, as part of the snapshots that follow."""
        self._fresh = False
        answer = self._ask(*call)
        if answer.refused and call[0] == self._control.seed:
            raise SimulatorError(f"{call[0]} of the MCP server failed: {answer.text}")
        if self._calls and call[0] == self._calls[-1][0] == self._control.seed:
            self._calls.pop()  # only the last seed counts
        self._calls.append(list(call))

    def actions(self) -> CallsNow:
        """List the calls of a random walk; an agent may make any other call."""
        return CallsNow(self._choices, self._state)

    def step(self, action: ToolCall) -> ToolObservation:
        """Call a tool."""
        if action.tool not in self.tools or action.error:
            text = f"error: {action.error or f'there is no tool {action.tool!r}'}"
            return ToolObservation(self._state, ToolResult(text, refused=True), self._wording)
        before = self._state
        only_reads = action.tool in self._only_read
        if not only_reads:
            self._fresh = False
        answer = self._ask(action.tool, action.arguments)
        text = f"error: {answer.text}" if answer.refused else answer.text
        observation = self._observe(ToolResult(text, answer.refused))
        if not only_reads:
            self._calls.append([action.tool, dict(action.arguments)])
        elif self._named(before) != self._named(self._state):
            raise SimulatorError(
                f"{action} changed the state, but the MCP server says that {action.tool} only "
                "reads; correct its readOnlyHint, or name in `ignore` what is time"
            )
        return observation

    def snapshot(self) -> Snapshot:
        """Write the state that the server gives, or else the calls since the start."""
        content: dict[str, Any] = {"digest": self._digest}
        if self._control.snapshot:
            content["state"] = self._snapshot_value()
        else:
            content["calls"] = self._calls
        if self._wording is not None:
            content["wording"] = self._wording
        return json.dumps(content, separators=(",", ":")).encode()

    def restore(self, snapshot: Snapshot, seed: int) -> ToolObservation:
        """Go back to a state, and check that it is the same."""
        begun = time.perf_counter()
        content = json.loads(snapshot)
        self._wording = content.get("wording")
        server, repeated = self._server, 0
        if "calls" in content:
            repeated = self._replay(content["calls"])
        else:
            if self._server is None:
                self._start()
            self._put(content["state"])
        observation = self._observe()
        if self._digest != content["digest"]:
            raise SimulatorError(
                "the MCP server is in another state than when the snapshot was taken; "
                f"{self.remedy(randomness=False)}"
            )
        self._reseed(seed)
        seconds = time.perf_counter() - begun
        self._costs.append((seconds, repeated, self._server is not server))
        return observation

    def _replay(self, calls: Sequence[Any]) -> int:
        """Repeat calls, from the start unless they go on from here; return how many."""
        done = len(self._calls)
        if self._server is None or self._calls != calls[:done]:
            self._go_to_start()
            done = 0
        for call in calls[done:]:
            self._repeat(call)
        return len(calls) - done

    @property
    def _digest(self) -> str:
        text = json.dumps(self._named(self._state), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def _named(self, tree: Tree) -> list[Any]:
        return [[path, item] for path, item in leaves(tree) if not self._ignored(path)]

    def position_name(self) -> bytes:
        """Identify the position by what is read and not ignored."""
        return f"{self._digest} {self._wording}".encode()

    # What `check` compares and says

    def last_step(self) -> Mapping[str, str]:
        """Return nothing: results are not part of a position."""
        return {}

    def inspect(self) -> Inspection:
        """Return all values that are read and not ignored."""
        parts = {f"state.{'.'.join(path)}": json.dumps(v) for path, v in self._named(self._state)}
        return Inspection(parts, {}, {})

    def remedy(self, randomness: bool) -> str:
        """Return how to fix a server that does not repeat itself."""
        if randomness:
            return "give the server a tool that seeds it, and name it: ControlTools(seed=…)"
        if self._control.restore:
            return (
                f"{self._control.restore} must put back all that {self._control.snapshot} "
                "returns; name in `ignore` what is time"
            )
        return (
            "calls are repeated from the start, so the server must start with the same data and "
            "do the same each time; name in `ignore` what is time or a random id, or give the "
            "server tools that save and put back its state: ControlTools(snapshot=…, restore=…)"
        )

    def notes(self) -> Iterator[str]:
        """Note what restores cost, and tools that a random walk cannot call."""
        if self._costs:
            yield self._cost_note()
        yield from self._choices.notes(self._first)

    def _cost_note(self) -> str:
        number = len(self._costs)
        seconds = statistics.mean(seconds for seconds, _, _ in self._costs)
        calls = statistics.mean(calls for _, calls, _ in self._costs)
        way = f"by a repetition of {calls:.3g} calls"
        if self._control.restore:
            way = f"by {self._control.restore} of the MCP server"
        elif self._control.reset:
            way = f"by {self._control.reset} of the MCP server and {way.removeprefix('by ')}"
        else:
            started = sum(started for _, _, started in self._costs)
            way += (
                f", after a new start of the MCP server in {started} of {number}; tools "
                "that save and put back its state would be faster"
            )
        return (
            f"a restore takes {_duration(seconds)} (mean of {number}), {way}; a run "
            f"restores for each draw, so 150 draws wait {_duration(150 * seconds)} for restores"
        )


def _duration(seconds: float) -> str:
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"
