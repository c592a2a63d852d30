"""A real server on loopback that speaks the OpenAI protocol and misbehaves on request.

It plays its script in order, and then repeats its usual answer. It never sleeps: a server that
hangs does so until the test is over.
"""

import json
import math
import threading
from collections import deque
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def chat(text, finish_reason="stop", prompt_tokens=10, completion_tokens=5, **message):
    """Return the JSON document of an answer."""
    return {
        "id": "stub",
        "object": "chat.completion",
        "created": 0,
        "model": "stub",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish_reason,
                "message": {"role": "assistant", "content": text, **message},
            }
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        },
    }


# Responses: functions of the handler and the request's body.


def say(text, *words, **document):
    """Give an answer; if log probabilities are asked for, yes is twice as likely as no."""
    told, scored = chat(text, *words, **document), chat(text, *words, **document)
    scored["choices"][0]["logprobs"] = listing(yes=0.5, no=0.25)
    plain, with_logprobs = (sends(json.dumps(one).encode()) for one in (told, scored))
    return lambda handler, request: (with_logprobs if request.get("logprobs") else plain)(
        handler, request
    )


def scores(**probabilities):
    """Answer with the first of some tokens and the probabilities of all of them."""
    document = chat(next(iter(probabilities)), "length", 10, 1)
    document["choices"][0]["logprobs"] = listing(**probabilities)
    return sends(json.dumps(document).encode())


def listing(**probabilities):
    """List the probabilities of the first token."""
    listed = [{"token": t, "logprob": math.log(p)} for t, p in probabilities.items()]
    return {"content": [{**listed[0], "top_logprobs": listed}]}


def fails(status, message="no", headers=None, **error):
    body = json.dumps({"error": {"message": message, **error}}).encode()
    return sends(body, status, headers)


def sends(body, status=200, headers=None, length=None):
    """Send bytes; with a wrong `length` the connection ends in the middle."""

    def act(handler, request):
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)
        handler.close_connection = length is not None

    return act


def drops(handler, request):
    """Close the connection without an answer."""
    handler.close_connection = True


def hangs(handler, request):
    """Send nothing until the test is over."""
    handler.server.stub.over.wait()
    handler.close_connection = True


class Stub:
    def __init__(self):
        self.script = deque()
        self.usual = say("hello")
        self.requests = []
        self.headers = []
        self.asked = threading.Event()
        self.over = threading.Event()
        self.url = ""
        self.at_once = self.most_at_once = 0
        self._lock = threading.Lock()

    def handle(self, handler, request):
        with self._lock:
            self.requests.append(request)
            self.headers.append({n.lower(): v for n, v in handler.headers.items()})
            self.asked.set()
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            act = self.script.popleft() if self.script else self.usual
        try:
            act(handler, request)
        finally:
            with self._lock:
                self.at_once -= 1


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body in two packets would run into the client's delayed acknowledgement.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/v1/chat/completions"
        self.server.stub.handle(self, request)
        self.wfile.flush()

    def log_message(self, *words):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def handle_error(self, request, client_address):
        """Ignore clients that disconnect."""


@contextmanager
def stub_server():
    stub = Stub()
    with Server(("127.0.0.1", 0), Handler) as server:
        server.stub = stub
        stub.url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield stub
        finally:
            stub.over.set()
            server.shutdown()
            thread.join()
