"""Serve GGUF weights on loopback, from within this process, with the OpenAI protocol.

`xllamacpp` has the server of llama.cpp in a wheel: no compiler, no second program, no network. The
client then speaks to it as to any other server, so a small local model goes through exactly the
code that a large remote one does. It remembers the beginning of the last prompt, which makes the
difference between 15 s and 2 s for a prompt of a thousand tokens on two cores.

One request is answered at a time: a processor is not faster at two, and the context would be shared
among them. Its threads wait for one another in a busy loop, so that one more than there are free
cores makes it many times slower (6 to 35 s with two threads against 2.6 s with one, for 40 tokens
on two busy cores). Half of the cores leaves room for whoever else is at work.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from capscope.errors import LlmError

CONTEXT = 8192
"""Tokens of a conversation, those of the answer included."""
_MAGIC = b"GGUF"
_SILENT = -1
_lock = Lock()


@contextmanager
def local_server(
    gguf: Path, *, port: int = 0, context: int = CONTEXT, threads: int | None = None
) -> Iterator[str]:
    """Serve weights on loopback while the block lasts; yield the base URL.

    Port 0 is any that is free; without a number of threads, half as many as there are cores.
    """
    server = _started(gguf, port, context, threads)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server  # the server ends with its last reference


def embedded_server(gguf: Path) -> str:
    """Return the base URL of these weights in this process, started when first asked for."""
    with _lock:
        return f"{_embedded(gguf.resolve()).listening_address}/v1"


@cache
def _embedded(gguf: Path) -> Any:
    return _started(gguf, 0, CONTEXT, None)


def _started(gguf: Path, port: int, context: int, threads: int | None) -> Any:
    try:
        with gguf.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise LlmError(f"{gguf} is not a GGUF file")
    except OSError as error:
        raise LlmError(f"cannot read the weights {gguf}: {error.strerror}") from error
    try:
        import xllamacpp
    except ModuleNotFoundError:
        raise LlmError(
            "local models are served by xllamacpp: pip install 'capscope[local-llm]'"
        ) from None
    params = xllamacpp.CommonParams()
    params.model.path = str(gguf)
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = context
    params.n_parallel = 1
    params.cpuparams.n_threads = threads or max(1, (os.cpu_count() or 1) // 2)
    params.cpuparams_batch.n_threads = params.cpuparams.n_threads
    params.verbosity = _SILENT
    params.warmup = False
    params.ui = False
    try:
        return xllamacpp.Server(params)
    except Exception as error:
        where = f" on port {port}" if port else ""
        reason = " ".join(str(error).split()) or type(error).__name__
        raise LlmError(
            f"{gguf} cannot be served{where} ({reason}); is the file whole and the port free?"
        ) from None
