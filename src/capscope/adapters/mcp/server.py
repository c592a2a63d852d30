"""A running MCP server, called from ordinary code.

The official client is asynchronous. Its session lives in an event loop in a thread of its own, and
every call waits for its result, at most `timeout` seconds. Whatever goes wrong with the server
itself is one `SimulatorError` that quotes what the server printed: it died, it did not answer, it
prints anything but messages to stdout. Afterwards this server is closed; start another one.
"""

from __future__ import annotations

import json
import logging
import shlex
import tempfile
import weakref
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn, TextIO

from capscope.errors import ProblemError, SimulatorError, install_hint

_MOST_PAGES = 100
_QUOTED = 160  # characters of what a server printed


@dataclass(frozen=True)
class ServerAnswer:
    """What a call returned: as the agent reads it, and as a value."""

    text: str
    value: Any
    refused: bool


class McpServer:
    """A server process and a session with it."""

    def __init__(self, command: Sequence[str], timeout: float) -> None:
        self._name = shlex.join(command)
        self._timeout = timeout
        # The end of its output that is not a message.
        self._strays: deque[str] = deque(maxlen=3)
        stack = ExitStack()
        self._close = weakref.finalize(self, _ended, stack)
        log = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - the stack closes it
        self._errors = stack.enter_context(log)
        try:
            self._portal, self._session = _connected(stack, command, self._errors, self._strays)
        except OSError as error:
            self.close()
            raise ProblemError(f"the MCP server {self._name} cannot be started: {error}") from None
        self._await("initialize", self._session.initialize)

    def close(self) -> None:
        """End the session and the process."""
        self._close()

    def tools(self) -> list[dict[str, Any]]:
        """List the tools, as the protocol describes them."""
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = _plain(self._await("tools/list", partial(_page, self._session, cursor)))
            found += page["tools"]
            cursor = page.get("nextCursor")
            if not cursor:
                break
        return found

    def call(self, tool: str, arguments: Mapping[str, Any]) -> ServerAnswer:
        """Call a tool."""
        given = dict(arguments)
        try:
            answer = self._await(tool, partial(self._session.call_tool, tool, given))
        except RefusedRequest as error:
            return ServerAnswer(str(error), None, refused=True)
        return _answer(_plain(answer))

    def _await(self, doing: str, make: Callable[[], Awaitable[Any]]) -> Any:
        """Wait for an answer; close the server if none comes."""
        try:
            return self._portal.call(_limited, make, self._timeout)
        except TimeoutError:
            self._fail(f"did not answer {doing} within {self._timeout:g} s", "raise `timeout`")
        except Exception as error:
            # A server may refuse a call by an error of the protocol; then it still answers.
            if self._answers():
                raise RefusedRequest(str(error) or type(error).__name__) from None
            self._fail(f"ended, or broke the protocol, at {doing}: {error}")
        except BaseException:
            self.close()
            raise

    def _answers(self) -> bool:
        try:
            self._portal.call(_limited, self._session.list_tools, self._timeout)
        except Exception:
            return False
        return True

    def _fail(self, what: str, remedy: str = "fix it") -> NoReturn:
        said = ""
        if self._strays:
            said = f" (on stdout, which is for messages only, it printed {self._strays[-1]!r})"
            remedy = "let it print to stderr"
        elif last := _last_line(self._errors):
            said = f" (its last line on stderr: {last})"
        self.close()
        raise SimulatorError(f"the MCP server {self._name} {what}{said}; {remedy}")


class RefusedRequest(SimulatorError):  # noqa: N818 - it says what happened to the request
    """The server answered a request by an error of the protocol."""


def _ended(stack: ExitStack) -> None:
    # What the client makes of a server that misbehaves to the end is of no interest any more.
    with suppress(Exception):
        stack.close()


async def _limited(make: Callable[[], Awaitable[Any]], seconds: float) -> Any:
    import anyio

    with anyio.fail_after(seconds):
        return await make()


def _connected(
    stack: ExitStack, command: Sequence[str], errors: TextIO, strays: deque[str]
) -> tuple[Any, Any]:
    """Start a server; return what runs coroutines in its event loop, and the session."""
    try:
        from anyio.from_thread import start_blocking_portal
        from mcp import ClientSession, StdioServerParameters, stdio_client
    except ModuleNotFoundError:
        raise ProblemError(f"mcp is missing: {install_hint('mcp')}") from None
    # It logs what it cannot read with a traceback; here that is part of an error.
    logging.getLogger("mcp.client.stdio").setLevel(logging.CRITICAL)

    async def note(message: Any) -> None:
        if isinstance(message, Exception):
            strays.append(_stray(message))

    @asynccontextmanager
    async def session() -> AsyncIterator[Any]:
        parameters = StdioServerParameters(command=command[0], args=list(command[1:]))
        async with (
            stdio_client(parameters, errors) as (read, write),
            ClientSession(read, write, message_handler=note) as made,
        ):
            yield made

    portal = stack.enter_context(start_blocking_portal())
    return portal, stack.enter_context(portal.wrap_async_context_manager(session()))


async def _page(session: Any, cursor: str | None) -> Any:
    if cursor is None:
        return await session.list_tools()
    from mcp.types import PaginatedRequestParams

    return await session.list_tools(params=PaginatedRequestParams(cursor=cursor))


def _plain(result: Any) -> dict[str, Any]:
    """Return a result with the names of the protocol, whatever the client calls them."""
    plain: dict[str, Any] = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    return plain


def _answer(result: Mapping[str, Any]) -> ServerAnswer:
    """Read a result: what it says as text, and its structured content or else the text as JSON."""
    parts = [part.get("text", f"({part.get('type')})") for part in result.get("content", ())]
    text = "\n".join(parts)
    value: Any = result.get("structuredContent")
    if isinstance(value, dict) and value.keys() == {"result"}:
        value = value["result"]  # servers wrap values that are not objects
    if value is None:
        try:
            value = json.loads(text)
        except ValueError:
            value = text
    return ServerAnswer(text, value, bool(result.get("isError", False)))


def _stray(error: Exception) -> str:
    """Return the line that could not be read."""
    for one in getattr(error, "errors", list)():
        if isinstance(one.get("input"), str):
            return str(one["input"])[:_QUOTED]
    return str(error).replace("\n", " ")[:_QUOTED]


def _last_line(errors: TextIO) -> str:
    errors.seek(0)
    lines = [line.strip() for line in errors if line.strip()]
    return lines[-1][:_QUOTED] if lines else ""
