"""Serve the pages on this machine: in a thread, or in a process beside an assessment.

Making a report takes as much of a core as the assessment itself; in the same process it would slow
the agent down. The process of `companion` lives as long as its standard input is open: it ends with
the assessment, however that ends.
"""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from capscope.errors import CapscopeError
from capscope_view.pages import Viewer

_LOOPBACK = "127.0.0.1"
_SECONDS_TO_START = 60.0
_SECONDS_TO_STOP = 10.0
_SECONDS_BETWEEN_LOOKS = 0.05
_SECONDS_FOR_PAGES = 20.0
"""After the run, for open pages to get its last report."""


@dataclass(frozen=True)
class ViewServer:
    """A server under way."""

    address: str
    """Where the list of runs is; it includes the token."""
    viewer: Viewer

    def wait_for_pages(self, seconds: float) -> None:
        """Wait until open pages have the latest report, but no longer than this."""
        until = time.monotonic() + seconds
        while self.viewer.watched() and time.monotonic() < until:
            time.sleep(_SECONDS_BETWEEN_LOOKS)


@contextmanager
def serving(root: Path, *, port: int = 0, pictures: bool | None = None) -> Iterator[ViewServer]:
    """Serve the runs below a folder on this machine; port 0 picks a free one."""
    token = secrets.token_urlsafe(24)
    viewer = Viewer(root, pictures)
    with _listening(port) as listener:
        config = uvicorn.Config(
            viewer.application(token),
            log_config=None,
            log_level="error",
            access_log=False,  # it would have the token
            lifespan="off",
            loop="asyncio",
            http="h11",
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        try:
            _await_start(server, thread)
            address = f"http://{_LOOPBACK}:{listener.getsockname()[1]}/{token}/"
            yield ViewServer(address, viewer)
        finally:
            server.should_exit = True
            thread.join(_SECONDS_TO_STOP)


@contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((_LOOPBACK, port))
        except OSError as error:
            raise CapscopeError(
                f"cannot listen on port {port}: {error.strerror}; choose another, or 0 for a free "
                "one"
            ) from error
        yield listener


def _await_start(server: object, thread: threading.Thread) -> None:
    until = time.monotonic() + _SECONDS_TO_START
    while not getattr(server, "started", False):
        if not thread.is_alive() or time.monotonic() > until:
            raise CapscopeError("the server of the local page did not start")
        time.sleep(_SECONDS_BETWEEN_LOOKS)


@contextmanager
def companion(run: Path, *, wait_for_pages: bool = True) -> Iterator[str]:
    """Serve a run, which need not exist yet, while the block runs; yield the address.

    Pages that are open get the last report of a run that ends by itself, which may take some
    seconds, unless there is no time for that. After an error or an interruption the viewer ends at
    once.
    """
    command = [sys.executable, "-P", "-m", "capscope_view.server", str(run)]
    # In a session of its own: Ctrl-C is for the assessment.
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    ) as process:
        wait = 0.0
        try:
            yield _address(process)
            wait = _SECONDS_FOR_PAGES if wait_for_pages else 0.0
        finally:
            _end(process, wait)


def _address(process: subprocess.Popen[str]) -> str:
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.append(_first_line(process)), daemon=True)
    reader.start()
    reader.join(_SECONDS_TO_START)
    if not lines or not lines[0]:
        raise CapscopeError("the local page could not be started; assess without --live")
    return str(json.loads(lines[0])["address"])


def _first_line(process: subprocess.Popen[str]) -> str:
    return process.stdout.readline() if process.stdout else ""


def _end(process: subprocess.Popen[str], wait: float) -> None:
    try:
        process.communicate(f"{wait}\n", timeout=wait + _SECONDS_TO_STOP)
    except subprocess.TimeoutExpired:
        process.kill()


def serve_until_input_ends(run: Path) -> None:
    """Serve a run; print the address as JSON, and end when standard input does.

    The last line of the input is the number of seconds to wait for open pages.
    """
    with serving(run) as server:
        sys.stdout.write(json.dumps({"address": server.address}) + "\n")
        sys.stdout.flush()
        said = sys.stdin.read().split()
        server.wait_for_pages(float(said[-1]) if said else 0.0)


if __name__ == "__main__":
    serve_until_input_ends(Path(sys.argv[1]))
