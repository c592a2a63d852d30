"""What a broken model server can make of a run: 40 faults, each in a run of its own.

A server fault must never be recorded as a failure of the agent, and must end within its time-out:
each call has an answer, or stops the run with one line. The faults are played by a server on
loopback, over raw sockets, so that they include what no HTTP library would send.
"""

import json
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from capscope.adapters.llm import CallId, LlmClient, LlmSettings, Sampling
from capscope.adapters.llm.transport import openai_package
from capscope.errors import LlmError

TIMEOUT = 1.0
QUESTION = [{"role": "user", "content": "Where to?"}]
Send = Callable[[socket.socket, threading.Event], None]


class FaultResult(NamedTuple):
    """What became of a call."""

    fault: str
    outcome: str
    """`answer`, `error of the run`, or what escaped."""
    seconds: float
    reason: str = ""
    """The message of the error."""

    @property
    def acceptable(self) -> bool:
        """Whether the fault became an answer or an error of the run, in time."""
        return self.outcome in ("answer", "error of the run") and self.seconds < 4 * TIMEOUT


def answer(content: Any = "north", **changed: Any) -> dict[str, Any]:
    """Return a chat completion, with some parts replaced."""
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    choice = {"index": 0, "finish_reason": "stop", "message": {"content": content}}
    return {"id": "x", "choices": [choice], "usage": usage, **changed}


def http(body: bytes, status: str = "200 OK", *headers: str, length: int | None = None) -> bytes:
    """Return a response as bytes."""
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", "Connection: close", *headers]
    lines.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def sends(*parts: bytes) -> Send:
    """Send everything and close."""

    def send(connection: socket.socket, over: threading.Event) -> None:
        for part in parts:
            connection.sendall(part)

    return send


def drips(data: bytes, at_once: bytes = b"") -> Send:
    """Send a byte at a time, never long enough apart for a time-out between bytes."""

    def send(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(at_once)
        for i in range(len(data)):
            if over.wait(TIMEOUT / 5):
                return
            connection.sendall(data[i : i + 1])

    return send


def hangs(connection: socket.socket, over: threading.Event) -> None:
    """Send nothing."""
    over.wait()


def floods(connection: socket.socket, over: threading.Event) -> None:
    """Send 200 megabytes of an answer."""
    head = b'{"choices": [{"message": {"content": "'
    connection.sendall(http(head, length=200_000_000))
    for _ in range(200):
        connection.sendall(b"x" * 1_000_000)


def _json(document: Any, **options: Any) -> Send:
    return sends(http(json.dumps(document, **options).encode(errors="surrogatepass")))


def _with_usage(**usage: Any) -> Send:
    return _json(answer(usage=usage))


def _retry_after(value: str, name: str = "Retry-After") -> Send:
    return sends(http(b"{}", "503 Busy", f"{name}: {value}"))


_WHOLE = http(json.dumps(answer()).encode())
_DEEP = b'{"choices":' + b"[" * 100_000
_GZIP = bytes.fromhex("1f8b0800000000000003")
FAULTS: dict[str, Send] = {
    "no answer": hangs,
    "closed at once": sends(),
    "half a status line": sends(b"HTTP/1.1 2"),
    "not HTTP": sends(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "headers byte by byte": drips(_WHOLE),
    "body byte by byte": drips(b" " * 500, http(b"", length=500)),
    "body in chunks, for ever": drips(
        b"1\r\nx\r\n" * 100, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    ),
    "200 MB": floods,
    "200 MB of headers": sends(b"HTTP/1.1 200 OK\r\n", b"X: " + b"y" * 20_000_000),
    "a million headers": sends(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 1_000_000),
    "gzip without end": sends(http(_GZIP * 100, "200 OK", "Content-Encoding: gzip")),
    "unknown encoding": sends(http(b"{}", "200 OK", "Content-Encoding: magic")),
    "half a body": sends(http(b'{"choices"', length=500)),
    "a proxy's page": sends(http(b"<html>welcome</html>")),
    "empty body": sends(http(b"")),
    "null": _json(None),
    "a number": _json(7),
    "a list": _json([]),
    "no choices": _json(answer(choices=[])),
    "choices are text": _json(answer(choices="none")),
    "message is text": _json(answer(choices=[{"message": "hi"}])),
    "content is a number": _json(answer(5)),
    "content in odd parts": _json(answer([{"text": "a"}, 7, {"text": None}])),
    "deep JSON": sends(http(_DEEP)),
    "a number of 10,000 digits": sends(http(b'{"choices": ' + b"9" * 10_000 + b"}")),
    "not UTF-8": sends(http(b'{"choices": [{"message": {"content": "\xff\xfe"}}]}')),
    "lone surrogate in the text": _json(answer("\ud800 north")),
    "lone surrogate in the reason": _json(
        answer(choices=[{"finish_reason": "\udfff", "message": {"content": "north"}}])
    ),
    "NUL in the text": _json(answer("a\0b")),
    "a reason of a megabyte": _json(
        answer(choices=[{"finish_reason": "x" * 1_000_000, "message": {"content": "north"}}])
    ),
    "tokens beyond 64 bits": _with_usage(prompt_tokens=2**70, completion_tokens=1),
    "negative tokens": _with_usage(prompt_tokens=-5, completion_tokens=-1),
    "tokens as text": _with_usage(prompt_tokens="many", completion_tokens=1.5),
    "usage is a list": _json(answer(usage=[1, 2])),
    "Retry-After: 1e400": _retry_after("1e400"),
    "Retry-After: nan": _retry_after("nan"),
    "Retry-After: a date in 9999": _retry_after("Fri, 31 Dec 9999 23:59:59 GMT"),
    "Retry-After: no date": _retry_after("Xyz, 99 Foo 99999 99:99:99 GMT"),
    "retry-after-ms: -inf": _retry_after("-inf", "retry-after-ms"),
    "status 999": sends(http(b"{}", "999 What")),
}


def _read_request(connection: socket.socket) -> None:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    wanted = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    while len(body) < wanted:
        body += connection.recv(65536)


class _Handler:
    """A server that answers every request with one fault."""

    def __init__(self, fault: Send) -> None:
        self._fault = fault
        self._over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while not self._over.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._respond, args=(connection,), daemon=True).start()

    def _respond(self, connection: socket.socket) -> None:
        with connection:
            try:
                connection.settimeout(10.0)
                _read_request(connection)
                self._fault(connection, self._over)
            except OSError:
                return  # the client has gone

    def close(self) -> None:
        """End every connection."""
        self._over.set()
        self._listener.close()


@contextmanager
def _server(fault: Send) -> Iterator[str]:
    handler = _Handler(fault)
    try:
        yield handler.url
    finally:
        handler.close()


def measure(fault: str) -> FaultResult:
    """Ask a server that has a fault once."""
    openai_package()  # importing it takes longer than a call
    begun = time.monotonic()
    with _server(FAULTS[fault]) as url, tempfile.TemporaryDirectory() as folder:
        settings = LlmSettings(
            model="stub", base_url=url, timeout=TIMEOUT, tries=2, cache=Path(folder) / "answers"
        )
        client = LlmClient(settings, wait=lambda stopped, seconds: None)
        reason = ""
        try:
            client.complete(QUESTION, sampling=Sampling(), call=CallId(1))
            outcome = "answer"
        except LlmError as error:
            outcome, reason = "error of the run", str(error)
        except BaseException as error:
            outcome = f"{type(error).__name__}: {error}"
        finally:
            client.close()
        seconds = time.monotonic() - begun
        stored = sum(file.stat().st_size for file in Path(folder).iterdir())
    if stored > 10_000_000:
        outcome = f"{stored:,} bytes in the cache"
    return FaultResult(fault, outcome, seconds, reason)


def main() -> None:
    """Print what became of each fault."""
    results = [measure(fault) for fault in FAULTS]
    for result in results:
        mark = "" if result.acceptable else "   <- not acceptable"
        print(f"{result.fault:<32} {result.outcome:<20} {result.seconds:5.1f} s{mark}", flush=True)
    fine = sum(result.acceptable for result in results)
    print(f"{fine} of {len(results)} faults became an answer or an error of the run")


if __name__ == "__main__":
    main()
