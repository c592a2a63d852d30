"""A server on loopback through which an agent's own client reaches the model.

Frameworks have clients of their own, and none of them knows draws, budgets or when to stop. So an
attempt gets a base URL of its own, `http://127.0.0.1:PORT/TOKEN/v1`, that speaks the OpenAI
protocol (chat completions, streamed or not). Each request is one of the attempt's `Calls`: seeded
by its place, answered from the cache if it was made before, counted and paid for. When the attempt
has ended, its token is unknown: nothing reaches the model, however often a loop tries again.

If a budget is spent or the server cannot be asked, the client of the framework gets an error, and
the attempt raises it as soon as it is asked to act. Messages are passed on as they are: a framework
that sends a conversation which the server refuses gets the refusal, may go on with another one, and
has failed if it ends without.
"""

from __future__ import annotations

import atexit
import json
import secrets
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from capscope.adapters.llm import Calls, Completion, Sampling
from capscope.adapters.tools.conversation import call_text
from capscope.errors import ConversationRefused
from capscope.problem import Allowance

_OWN = ("model", "messages", "max_tokens", "max_completion_tokens", "temperature", "top_p", "stop")
_NOT_SENT = ("tools", "seed", "stream", "stream_options", "n", "user", "store", "metadata")
_DEFAULT_MAX_TOKENS = 2048
_PATIENCE = 5.0


class LlmEndpoint:
    """The model, for one attempt: what the client of a framework needs to reach it."""

    api_key = "capscope"

    def __init__(self, make_calls: Callable[[], Calls]) -> None:
        self._make_calls = make_calls
        self._calls: Calls | None = None
        self._allowance: Allowance | None = None
        self._token: str | None = None
        self._failure: BaseException | None = None
        self._refused: ConversationRefused | None = None
        self._closed = False
        self._lock = threading.Lock()
        self._answering = threading.Lock()
        self.on_message: Callable[[str, str], None] = lambda heading, text: None
        """Called with the answer of the model."""

    @property
    def base_url(self) -> str:
        """The URL of the server, including `/v1`."""
        with self._lock:
            if self._token is None:
                self._token = secrets.token_hex(16)
                _endpoints[self._token] = self
            return f"{_server_url()}/{self._token}/v1"

    @property
    def model(self) -> str:
        """The name of the model."""
        return self._connected().model

    @property
    def llm_tokens(self) -> int:
        """Tokens of the prompts and answers so far."""
        return 0 if self._calls is None else self._calls.llm_tokens

    def spend_from(self, allowance: Allowance) -> None:
        """Pay for every later call from an allowance."""
        self._allowance = allowance

    def raise_failure(self) -> None:
        """Raise the error that prevented the last call, if any."""
        if self._failure is not None:
            raise self._failure

    def raise_refusal(self) -> None:
        """Raise the refusal of the last conversation, if the server refused it."""
        if self._refused is not None:
            raise self._refused

    def close(self) -> None:
        """End all access; a call that is being answered is answered first."""
        self._closed = True
        if self._token is not None:
            _endpoints.pop(self._token, None)
        # Whatever was asked before is paid for and counted.
        if self._answering.acquire(timeout=_PATIENCE):
            self._answering.release()

    def _connected(self) -> Calls:
        with self._lock:
            if self._calls is None:
                self._calls = self._make_calls()
                if self._allowance is not None:
                    self._calls.spend_from(self._allowance)
            return self._calls

    def answer(self, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """Answer a request: the status and the document."""
        # One call at a time: the number of a call is part of its seed.
        with self._answering:
            if self._closed or self._failure is not None:
                return 403, _error("the attempt has ended; stop")
            try:
                completion = self._connected().complete(body["messages"], _sampling(body))
                self._refused = None
            except ConversationRefused as error:
                self._refused = error
                return 400, _error(str(error))
            except BaseException as error:
                self._failure = error
                return 403, _error(f"the attempt has ended: {error}")
        document = _document(completion, self._connected().model)
        message = document["choices"][0]["message"]
        called = ", ".join(call_text(one) for one in message.get("tool_calls", ()))
        self.on_message("model", message["content"] or f"(calls {called})")
        return 200, document


def _sampling(body: Mapping[str, Any]) -> Sampling:
    """Read the settings of a request; what capscope does not know is sent as it is."""
    stop = body.get("stop") or ()
    limit = body.get("max_tokens") or body.get("max_completion_tokens") or _DEFAULT_MAX_TOKENS
    other = {
        name: value
        for name, value in body.items()
        if name not in _OWN + _NOT_SENT and value is not None
    }
    return Sampling(
        temperature=body.get("temperature"),
        top_p=body.get("top_p"),
        max_tokens=int(limit),
        stop=(stop,) if isinstance(stop, str) else tuple(stop),
        tools=tuple(body.get("tools") or ()),
        other=other or None,
        whole_message=True,
    )


def _document(completion: Completion, model: str) -> dict[str, Any]:
    message = json.loads(completion.text)
    return {
        "id": "chatcmpl-capscope",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": completion.finish_reason}],
        "usage": {
            "prompt_tokens": completion.prompt_tokens,
            "completion_tokens": completion.completion_tokens,
            "total_tokens": completion.tokens,
        },
    }


def _chunks(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return an answer as the chunks of a stream: the message, the end, the usage."""
    head = {name: document[name] for name in ("id", "created", "model")}
    head["object"] = "chat.completion.chunk"
    choice = document["choices"][0]
    delta = dict(choice["message"])
    if "tool_calls" in delta:
        called = enumerate(delta["tool_calls"])
        delta["tool_calls"] = [
            {"index": i, **one} if isinstance(one, Mapping) else one for i, one in called
        ]
    said = {"index": 0, "delta": delta, "finish_reason": None}
    end = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    return [
        {**head, "choices": [said]},
        {**head, "choices": [end]},
        {**head, "choices": [], "usage": document["usage"]},
    ]


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "code": None}}


class _ProxyHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body in two packets would run into the client's delayed acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        endpoint, path = self._endpoint()
        if endpoint is None:
            return self._send(403, _error("the attempt has ended; stop"))
        if path != "v1/chat/completions":
            return self._send(404, _error(f"only chat completions are served here, not {path}"))
        try:
            body = json.loads(content)
            assert isinstance(body["messages"], list)
        except (ValueError, LookupError, TypeError, AssertionError):
            return self._send(400, _error("the body is not a chat completion request"))
        status, document = endpoint.answer(body)
        if status == 200 and body.get("stream"):
            return self._send_stream(document)
        return self._send(status, document)

    def do_GET(self) -> None:
        endpoint, path = self._endpoint()
        if endpoint is None or path != "v1/models":
            return self._send(404, _error("not found"))
        models = [{"id": endpoint.model, "object": "model", "created": 0, "owned_by": "capscope"}]
        return self._send(200, {"object": "list", "data": models})

    def _endpoint(self) -> tuple[LlmEndpoint | None, str]:
        token, _, path = self.path.lstrip("/").partition("?")[0].partition("/")
        return _endpoints.get(token), path

    def _send(self, status: int, document: Mapping[str, Any]) -> None:
        self._write(status, "application/json", json.dumps(document).encode())

    def _send_stream(self, document: Mapping[str, Any]) -> None:
        events = [*map(json.dumps, _chunks(document)), "[DONE]"]
        content = "".join(f"data: {event}\n\n" for event in events)
        self._write(200, "text/event-stream", content.encode())

    def _write(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def log_message(self, format: str, *values: object) -> None:
        """Print nothing."""


_endpoints: dict[str, LlmEndpoint] = {}
"""The endpoints of the attempts that have not ended, by their tokens."""
_running: list[ThreadingHTTPServer] = []
_starting = threading.Lock()


def _server_url() -> str:
    """Return the URL of the server of this process, starting it if needed."""
    with _starting:
        if not _running:
            server = ThreadingHTTPServer(("127.0.0.1", 0), _ProxyHandler, bind_and_activate=False)
            server.block_on_close = False
            server.request_queue_size = 64
            # A client that disconnects is no error.
            server.handle_error = lambda *_: None  # type: ignore[method-assign]
            server.server_bind()
            server.server_activate()
            threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
            _running.append(server)
        return f"http://127.0.0.1:{_running[0].server_port}"


@atexit.register
def close_proxy() -> None:
    """Stop the server; the next attempt starts a new one."""
    with _starting:
        while _running:
            server = _running.pop()
            server.shutdown()
            server.server_close()
