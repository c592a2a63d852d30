"""Serve the pages on this machine, in a thread, for as long as a block runs."""

from __future__ import annotations

import importlib.util
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from capscope.errors import CapscopeError, install_hint

if TYPE_CHECKING:
    from capscope.view.pages import Viewer

_LOOPBACK = "127.0.0.1"
_SECONDS_TO_START = 30.0
_SECONDS_TO_STOP = 5.0
_SECONDS_BETWEEN_LOOKS = 0.05
EXTRA = "view"


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


def require_packages() -> None:
    """Raise if the packages of the extra are missing, and name it."""
    if any(importlib.util.find_spec(name) is None for name in ("starlette", "uvicorn")):
        raise CapscopeError(f"the local page needs an extra: {install_hint(EXTRA)}")


@contextmanager
def serving(root: Path, *, port: int = 0, pictures: bool | None = None) -> Iterator[ViewServer]:
    """Serve the runs below a folder on this machine; port 0 picks a free one."""
    require_packages()
    import uvicorn

    from capscope.view.pages import Viewer

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
