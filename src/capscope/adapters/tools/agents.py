"""Agents that call tools: a built-in one, and functions that run their own loop.

The built-in agent shows a model the tools and carries out its calls, until it makes none. Each call
is one simulator step; several calls in one answer are made one after another. A call that cannot be
read is a step too: the world refuses it, and the model reads why. It is repeated to the server in a
valid form, because strict servers refuse the whole conversation otherwise; the transcript has what
the model said.

A function of (prompt, tools, llm) runs its own loop, whatever it uses inside. capscope asks an
agent for one action at a time, and a framework does not return until it is done. So the function
runs in a thread of its own. A tool is a plain function there: it hands its call over, waits until
the simulator has made it, and returns the result. Calls that a framework makes at the same time are
made one after another. When the attempt ends early (its limit is reached, a budget is spent), a
tool that is called or waits raises `AttemptOver`, and the model is no longer reached. `AttemptOver`
is not an `Exception`, so a loop that catches errors of tools does not catch it.
"""

from __future__ import annotations

import contextvars
import hashlib
import inspect
import json
import queue
import random
import threading
import typing
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, count
from typing import Any

from capscope.adapters.llm import (
    Calls,
    LlmClient,
    LlmSettings,
    Message,
    ModelAttempt,
    Sampling,
    shared_client,
)
from capscope.adapters.tools.conversation import (
    Prompts,
    phrasing,
    phrasings_of,
    read_call,
    valid_call,
)
from capscope.adapters.tools.proxy import LlmEndpoint
from capscope.logic import Intent
from capscope.problem.functions import Function, adapt_arguments
from capscope.problem.tool_calls import Tool, ToolCall, ToolObservation
from capscope.seeds import child_seed


@dataclass(frozen=True)
class ToolCallingSettings:
    """The system message and the sampling of answers."""

    system: str = ""
    max_tokens: int = 2048
    temperature: float | None = 1.0


@dataclass(frozen=True)
class ToolCallingAgent:
    """A language model that calls tools."""

    prompts: Prompts
    tools: Sequence[Tool]
    model: str | None = None
    """The name of the model; None is the one that the environment names."""
    settings: ToolCallingSettings = field(default_factory=ToolCallingSettings)

    @cached_property
    def client(self) -> LlmClient:
        """The client of the server that the environment names."""
        return shared_client(LlmSettings.from_environment(model=self.model))

    @cached_property
    def sampling(self) -> Sampling:
        """How answers are sampled."""
        return Sampling(
            temperature=self.settings.temperature,
            max_tokens=self.settings.max_tokens,
            tools=tuple(tool.as_openai() for tool in self.tools),
            whole_message=True,
        )

    @property
    def fingerprint(self) -> str:
        """Identify the model and the settings."""
        digest = hashlib.sha256(repr(self.settings).encode()).hexdigest()[:16]
        return f"{self.client.settings.model}-{digest}"

    def begin(self, intent: Intent, seed: int) -> ToolCallingAttempt:
        """Start an attempt at an intent."""
        return ToolCallingAttempt(self, phrasings_of(self.prompts, intent), seed)


class ToolCallingAttempt(ModelAttempt):
    """One conversation."""

    def __init__(self, agent: ToolCallingAgent, phrasings: tuple[str, ...], seed: int) -> None:
        self._agent = agent
        self._phrasings = phrasings
        self._seed = seed
        self._calls = Calls(agent.client, child_seed(seed, _CALLS))
        super().__init__(self._calls)
        self._messages: list[Message] = []
        self._planned: deque[tuple[str, ToolCall]] = deque()
        self._ids: set[str] = set()
        self._waiting: str | None = None  # the id of the call whose result comes next

    def act(self, observation: ToolObservation) -> ToolCall | None:
        """Return the next call, asking the model if there is none; None if it makes none."""
        if not self._messages:
            self._begin(observation)
        elif self._waiting is not None and observation.result is not None:
            text = observation.result.text
            self._say({"role": "tool", "tool_call_id": self._waiting, "content": text}, text)
            self._waiting = None
        if not self._planned:
            self._ask()
        if not self._planned:
            return None
        self._waiting, call = self._planned.popleft()
        return call

    def _begin(self, observation: ToolObservation) -> None:
        system = self._agent.settings.system
        if system:
            self._say({"role": "system", "content": system}, system)
        prompt = phrasing(self._phrasings, observation, self._seed)
        self._say({"role": "user", "content": prompt}, prompt)

    def _ask(self) -> None:
        answer = self._calls.complete(self._messages, self._agent.sampling)
        message: dict[str, Any] = json.loads(answer.text)
        said = [message["content"] or ""]
        repeated = []
        for sent in message.get("tool_calls", ()):
            call, valid = self._read(sent)
            self._planned.append((valid["id"], call))
            repeated.append(valid)
            said.append(f"→ {json.dumps(sent, ensure_ascii=False) if call.error else call}")
        if repeated:
            message["tool_calls"] = repeated
        self._say(
            message, "\n".join(filter(None, said)), f"assistant ({answer.completion_tokens} tokens)"
        )

    def _read(self, sent: Any) -> tuple[ToolCall, dict[str, Any]]:
        """Return the call that was sent, and the form in which it is repeated to the server."""
        call = read_call(sent)
        given = sent.get("id") if isinstance(sent, Mapping) else None
        names = [tool.name for tool in self._agent.tools]
        return call, valid_call(sent, call, self._new_id(given), names)

    def _new_id(self, sent: Any) -> str:
        """Return the id of a call, or another one if it has none or it was used before."""
        # Nine letters and digits: some servers accept nothing else.
        others = (f"call{n:05}" for n in count(len(self._ids)))
        usable = [sent] if isinstance(sent, str) and sent else []
        chosen = next(one for one in chain(usable, others) if one not in self._ids)
        self._ids.add(chosen)
        return chosen

    def _say(self, message: Message, text: str, heading: str = "") -> None:
        self._messages.append(message)
        self._note(heading or message["role"], text)


_CALLS, _AGENT = 0, 1  # children of the attempt's seed
_PATIENCE = 5.0
"""Seconds to wait for a loop to end after the attempt is over; then it is left behind."""


class AttemptOver(BaseException):
    """The attempt has ended; return."""


@dataclass(frozen=True)
class OwnLoopAgent:
    """A function of (prompt, tools, llm) as an agent; it may take only the first ones."""

    run: Function
    prompts: Prompts
    tools: Sequence[Tool]
    model: str | None = None

    def begin(self, intent: Intent, seed: int) -> OwnLoopAttempt:
        """Start an attempt at an intent."""
        return OwnLoopAttempt(self, phrasings_of(self.prompts, intent), seed)

    def calls(self, seed: int) -> Calls:
        """Return the calls of an attempt to the model that the environment names."""
        return Calls(shared_client(LlmSettings.from_environment(model=self.model)), seed)


Handover = tuple[ToolCall, "Future[str]"]
"""A call that waits for the simulator, and the text of its result."""


class OwnLoopAttempt(ModelAttempt):
    """One run of the function."""

    def __init__(self, agent: OwnLoopAgent, phrasings: tuple[str, ...], seed: int) -> None:
        self._agent = agent
        self._phrasings = phrasings
        self._seed = seed
        self._llm = LlmEndpoint(lambda: agent.calls(child_seed(seed, _CALLS)))
        super().__init__(self._llm)
        # Calls of tools, and None or an exception when the function has ended.
        self._events: queue.SimpleQueue[Handover | BaseException | None] = queue.SimpleQueue()
        self._waiting: Future[str] | None = None
        self._over = False
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def act(self, observation: ToolObservation) -> ToolCall | None:
        """Return the next call of the function; None when it has returned."""
        if self._thread is None:
            self._start(phrasing(self._phrasings, observation, self._seed))
        elif self._waiting is not None:
            text = observation.result.text if observation.result else ""
            self._note("tool", text)
            self._waiting.set_result(text)
            self._waiting = None
        event = self._events.get()
        # A spent budget, or a server that is down, matters more than how the loop took it.
        self._llm.raise_failure()
        if not isinstance(event, tuple):
            self._llm.raise_refusal()
            if event is not None:
                raise event
            return None
        call, self._waiting = event
        self._note("agent", f"→ {call}")
        return call

    def end(self) -> None:
        """Stop the function: its tools raise, and the model is out of reach."""
        self._llm.close()
        with self._lock:
            self._over = True
        left = [] if self._waiting is None else [self._waiting]
        while not self._events.empty():
            event = self._events.get()
            left += event[1:] if isinstance(event, tuple) else ()
        for result in left:
            result.set_exception(AttemptOver())
        if self._thread is not None:
            self._thread.join(_PATIENCE)

    def _start(self, prompt: str) -> None:
        self._note("user", prompt)
        self._llm.on_message = self._note
        rng = random.Random(child_seed(self._seed, _AGENT))
        functions = [plain_function(tool, self._call) for tool in self._agent.tools]
        run = adapt_arguments(self._agent.run, "agent", ("prompt", "tools", "llm", "rng"))
        context = contextvars.copy_context()

        def target() -> None:
            try:
                context.run(run, prompt, functions, self._llm, rng)
                self._events.put(None)
            except AttemptOver:
                self._events.put(None)
            except BaseException as error:
                self._events.put(error)

        self._thread = threading.Thread(target=target, name="agent", daemon=True)
        self._thread.start()

    def _call(self, call: ToolCall) -> str:
        """Hand a call over and wait for its result."""
        result: Future[str] = Future()
        with self._lock:
            if self._over:
                raise AttemptOver
            self._events.put((call, result))
        return result.result()


def plain_function(tool: Tool, call: Callable[[ToolCall], str]) -> Callable[..., str]:
    """Make a plain function of a tool: named, typed and documented, without the state.

    It returns the text of the result; that of a refused call begins with `error:`.
    """
    parameters, hints, docstring = _signature(tool)
    signature = inspect.Signature(parameters, return_annotation=str)

    def function(*given: Any, **named: Any) -> str:
        bound = signature.bind(*given, **named)
        return call(ToolCall(tool.name, _plain(dict(bound.arguments))))

    function.__name__ = function.__qualname__ = tool.name
    function.__doc__ = docstring
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__annotations__ = {**hints, "return": str}
    return function


def _signature(tool: Tool) -> tuple[list[inspect.Parameter], dict[str, Any], str]:
    if tool.function is None:
        return _signature_of_schema(tool)
    declared = list(inspect.signature(tool.function).parameters.values())
    hints = typing.get_type_hints(tool.function, include_extras=True)
    arguments = [p for p in declared[1:] if hints.get(p.name) is not random.Random]
    kept = [p.replace(annotation=hints[p.name]) for p in arguments]
    names = {p.name: hints[p.name] for p in kept}
    return kept, names, inspect.getdoc(tool.function) or tool.name


_JSON_TYPES: dict[Any, Any] = {
    "string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict,
}  # fmt: skip


def _signature_of_schema(tool: Tool) -> tuple[list[inspect.Parameter], dict[str, Any], str]:
    """Declare the parameters of a tool that is not a Python function."""
    required = tool.schema.get("required", ())
    kept, lines = [], []
    properties: dict[str, Any] = dict(tool.schema.get("properties", {}))
    for name, schema in sorted(properties.items(), key=lambda item: item[0] not in required):
        hint = _JSON_TYPES.get(schema.get("type"), typing.Any)
        default = inspect.Parameter.empty if name in required else schema.get("default")
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        kept.append(inspect.Parameter(name, kind, default=default, annotation=hint))
        lines.append(f"    {name}: {schema.get('description', name)}")
    docstring = tool.description or tool.name
    if lines:
        docstring += "\n\nArgs:\n" + "\n".join(lines)
    return kept, {p.name: p.annotation for p in kept}, docstring


def _plain(value: Any) -> Any:
    """Turn models that a framework made of arguments back into plain values."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
