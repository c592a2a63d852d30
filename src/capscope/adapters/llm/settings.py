"""Which server and which model to ask, from arguments or environment variables.

`docs/how-to/language-model.md` lists the variables. The local model is served by this process.
Another package provides it: it declares a `LocalServer` in the entry points `capscope.llm_servers`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from capscope.adapters.llm.answers import cache_directory
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


_PREFIX = "CAPSCOPE_LLM_"
_MASK = "***"


@dataclass(frozen=True)
class LlmSettings:
    """A server, a model, and how to ask it."""

    model: str
    base_url: str | None = field(default=None, repr=False)
    """None is the local model: weights served by this process."""
    api_key: str | None = field(default=None, repr=False)
    price_prompt: float | None = None
    """Per million tokens, in any currency."""
    price_completion: float | None = None
    timeout: float = 120.0
    concurrency: int = 16
    tries: int = 6
    send_seed: bool = True
    cache: Path = field(default_factory=lambda: cache_directory() / "answers.sqlite")
    gguf: Path | None = None
    """The weights of the local model."""

    def __post_init__(self) -> None:
        key = (self.api_key or "").strip()
        object.__setattr__(self, "api_key", key or None)
        if not (key.isascii() and key.isprintable()):
            # The HTTP library would quote it in its error.
            raise LlmError(
                "the API key contains a character that is not printable ASCII; set it again"
            )
        if (self.base_url is None) is (self.gguf is None):
            raise LlmError("give either the base URL of a server or the GGUF file to serve")
        if self.base_url is not None and urlsplit(self.base_url).scheme not in ("http", "https"):
            raise LlmError(
                f"{self.redact(self.base_url)!r} is not a base URL; it must start with http(s)://"
            )
        for name in ("timeout", "concurrency", "tries"):
            if not getattr(self, name) > 0:
                raise LlmError(f"{name} must be positive, not {getattr(self, name)}")
        for price in (self.price_prompt, self.price_completion):
            if price is not None and not 0 <= price < float("inf"):
                raise LlmError(f"a price must be a number of at least 0, not {price}")

    @classmethod
    def from_environment(cls, **given: Any) -> LlmSettings:
        """Fill in what is not given from the environment; without a server, use the local model."""
        base_url = _first("CAPSCOPE_LLM_BASE_URL", "OPENAI_BASE_URL")
        if given.get("gguf") is None and (given.get("base_url") or base_url):
            found = {
                "base_url": base_url,
                "model": _first("CAPSCOPE_LLM_MODEL"),
                "api_key": _first("CAPSCOPE_LLM_API_KEY", "OPENAI_API_KEY"),
                "price_prompt": _number("PRICE_PROMPT", None),
                "price_completion": _number("PRICE_COMPLETION", None),
                "concurrency": int(_number("CONCURRENCY", 16) or 0),
            }
            if not (given.get("model") or found["model"]):
                raise LlmError(
                    "no model is named; set CAPSCOPE_LLM_MODEL to one that the server provides"
                )
        else:
            found = _local(given.get("gguf"))
        found["timeout"] = _number("TIMEOUT", 120.0 if found.get("base_url") else 600.0)
        found["send_seed"] = _first("CAPSCOPE_LLM_SEED") not in ("0", "no", "off")
        return cls(**{**found, **{name: v for name, v in given.items() if v is not None}})

    @property
    def priced(self) -> bool:
        """Whether prices are known."""
        return self.price_prompt is not None and self.price_completion is not None

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the cost of an answer; 0 if prices are unknown."""
        prompt, completion = self.price_prompt or 0.0, self.price_completion or 0.0
        return (prompt_tokens * prompt + completion_tokens * completion) / 1e6

    @property
    def display_url(self) -> str:
        """The server without password and query, for messages."""
        if self.base_url is None:
            return "the local model"
        parts = urlsplit(self.base_url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()

    @cached_property
    def _secrets(self) -> tuple[str, ...]:
        password = urlsplit(self.base_url or "").password
        query = urlsplit(self.base_url or "").query
        return tuple(secret for secret in (self.api_key, password, query) if secret)

    def redact(self, text: str) -> str:
        """Mask every secret in a text that is to be stored or shown."""
        for secret in self._secrets:
            text = text.replace(secret, _MASK)
        return text


def _local(gguf: Path | None) -> dict[str, Any]:
    """Return the settings of the local model: one call at a time, free of charge."""
    server = local_server()
    weights = gguf or server.weights()
    if not weights.is_file():
        if gguf is not None:
            raise LlmError(f"no file {gguf}")
        raise LlmError(f"{UNCONFIGURED}{server.fetch_hint}")
    model = server.model if gguf is None else f"{gguf.stem}-{gguf.stat().st_size}"
    return {
        "model": model,
        "gguf": weights,
        "price_prompt": 0.0,
        "price_completion": 0.0,
        "concurrency": 1,
    }


def _first(*names: str) -> str | None:
    return next((value for name in names if (value := os.environ.get(name, "").strip())), None)


def _number(name: str, default: float | None) -> float | None:
    given = _first(_PREFIX + name)
    if given is None:
        return default
    try:
        return float(given)
    except ValueError:
        raise LlmError(f"{_PREFIX}{name} must be a number, not {given!r}") from None
