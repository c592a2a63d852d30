"""Language models that this process serves itself, provided by other packages.

A package declares a `LocalServer` in the entry points `capscope.llm_servers`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from capscope.errors import LlmError
from capscope.registry import Registry

UNCONFIGURED = (
    "no language model is configured: set CAPSCOPE_LLM_BASE_URL and CAPSCOPE_LLM_MODEL, or "
)


@dataclass(frozen=True)
class LocalServer:
    """A program that serves weights on this machine."""

    name: str
    model: str
    """The name of the default model."""
    weights: Callable[[], Path]
    """Returns the path of its weights; the file may not exist."""
    fetch_hint: str
    """What to do if it does not exist."""
    serve: Callable[[Path], str]
    """Serves weights until the process ends, and returns the base URL; once for each file."""


LOCAL_SERVERS = Registry("capscope.llm_servers", "local model server", LocalServer, ())


def local_server() -> LocalServer:
    """Return the first installed server.

    Raises:
        LlmError: If no package provides one.
    """
    for server in LOCAL_SERVERS.all.values():
        return server
    raise LlmError(f"{UNCONFIGURED}install capscope-worlds[local-llm], which runs a small one")
