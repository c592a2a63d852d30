"""Send one request to a server: the result is a reply, or a failure that may be worth a retry.

The errors of the `openai` package carry the whole request, including the key, so none of them leave
this module, and quotes from the server have the key masked.

Anything a model said is a reply. A proxy's error page, half an answer or no answer is a failure of
the server and must not count against the agent. Two refusals are replies although they arrive as
errors, since the agent causes them and a retry would not help: a conversation that exceeds the
context, and one that a content filter rejects.
"""

import email.utils
import json
import math
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from capscope.agents.llm.completion import CONTENT_FILTER, CONTEXT_OVERFLOW
from capscope.agents.llm.settings import LlmSettings
from capscope.errors import LlmError, install_hint

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_RETRIED = (408, 409, 425, 429)
_LONGEST_QUOTE = 200
_TOO_LONG = ("length", "exceed", "window", "too long", "too large")
_FILTERED = ("content_filter", "content_policy", "content management policy")


@dataclass(frozen=True)
class Reply:
    """What the model said; token counts are None if the server does not report them."""

    text: str
    finish_reason: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    first_token: tuple[tuple[str, float], ...] | None = None
    """Log probabilities of the most likely first tokens; None if the server sent none."""
    refused: bool = False
    """The server did not ask the model: nothing was paid, and nothing is cached."""


@dataclass(frozen=True)
class Failure:
    """Why there is no reply."""

    reason: str
    temporary: bool
    """A retry may succeed."""
    retry_after: float | None = None
    """Seconds that the server asks to wait."""


class Transport:
    """A connection to one server, shared by all threads."""

    def __init__(self, settings: LlmSettings, base_url: str) -> None:
        self._settings = settings
        self._openai = openai_package()
        self._client = self._openai.OpenAI(
            base_url=base_url,
            api_key=settings.api_key or "none",
            timeout=settings.timeout,
            max_retries=0,
            http_client=self._loopback_client(base_url),
        )
        self._completion_limit = "max_tokens"

    def _loopback_client(self, base_url: str) -> Any:
        """Return an HTTP client without proxy and certificates for this machine, else None.

        Loading the certificates takes longer than many local calls.
        """
        url = urlsplit(base_url)
        if url.scheme != "http" or url.hostname not in _LOOPBACK:
            return None
        no_certificates = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return self._openai.DefaultHttpxClient(trust_env=False, verify=no_certificates)

    def send(self, body: Mapping[str, Any]) -> Reply | Failure:
        """Send a request once."""
        outcome = self._send(body)
        if isinstance(outcome, Failure) and "max_completion_tokens" in outcome.reason:
            # Newer OpenAI models renamed the parameter and reject the old name.
            self._completion_limit = "max_completion_tokens"
            outcome = self._send(body)
        return outcome

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _send(self, body: Mapping[str, Any]) -> Reply | Failure:
        request = dict(body)
        request[self._completion_limit] = request.pop("max_tokens")
        openai = self._openai
        try:
            # As `extra_body`, since the package's validation takes longer than sending.
            answer = self._client.chat.completions.with_raw_response.create(
                model=request["model"], messages=[], extra_body=request
            )
            return self._read(answer.http_response.read())
        except openai.APITimeoutError:
            return Failure(f"gave no answer within {self._settings.timeout:g} s", temporary=True)
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            quote = self._quote(str(cause)) or type(cause).__name__
            return Failure(f"cannot be reached ({quote})", temporary=True)
        except openai.APIStatusError as error:
            return self._status_error(error.status_code, error.response)
        except Exception as error:
            quote = self._quote(f"{type(error).__name__}: {error}")
            return Failure(f"cannot be asked ({quote})", temporary=False)

    def _read(self, content: bytes) -> Reply | Failure:
        """Read the answer from a response body."""
        try:
            document = json.loads(content)
            choice = document["choices"][0]
            message = choice["message"]
            text = _text(message.get("content")) or _text(message.get("refusal"))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            quote = self._quote(content[:1000].decode(errors="replace"))
            return Failure(f"did not send a chat completion ({quote!r})", temporary=True)
        usage = document.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        return Reply(
            self._settings.redact(text),
            str(choice.get("finish_reason") or "unknown"),
            _count(usage.get("prompt_tokens")),
            _count(usage.get("completion_tokens")),
            self._first_token(choice),
        )

    def _first_token(self, choice: Mapping[str, Any]) -> tuple[tuple[str, float], ...] | None:
        """Read the log probabilities of the first token; an answer without tokens has none."""
        try:
            tokens = choice["logprobs"]["content"]
            listed = tokens[0]["top_logprobs"] if tokens else []
            pairs = [
                (self._settings.redact(_text(t["token"])), float(t["logprob"])) for t in listed
            ]
        except (LookupError, TypeError, ValueError):
            return None
        redact = self._settings.redact
        return tuple((redact(token), value) for token, value in pairs if math.isfinite(value))

    def _status_error(self, status: int, response: Any) -> Reply | Failure:
        content = response.content.decode(errors="replace")
        lower = content.lower()
        if status == 413 or (status == 400 and "context" in lower and _any(lower, _TOO_LONG)):
            return Reply("", CONTEXT_OVERFLOW, refused=True)
        if status in (400, 403) and _any(lower, _FILTERED):
            return Reply("", CONTENT_FILTER, refused=True)
        temporary = (status in _RETRIED or status >= 500) and "insufficient_quota" not in lower
        reason = f"answered with status {status} ({self._quote(_message(content))})"
        if status in (401, 403):
            reason += "; check CAPSCOPE_LLM_API_KEY"
        elif status == 404:
            reason += "; check the model and the base URL, which usually ends in /v1"
        return Failure(reason, temporary, retry_after(response.headers))

    def _quote(self, text: str) -> str:
        # Masked before it is cut: half a key is still a secret.
        line = " ".join(self._settings.redact(text).split())
        return line if len(line) <= _LONGEST_QUOTE else line[:_LONGEST_QUOTE] + "…"


def openai_package() -> Any:
    """Import and return the package."""
    try:
        import openai
    except ModuleNotFoundError:
        raise LlmError(f"language models need the openai package: {install_hint('llm')}") from None
    return openai


def retry_after(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """Return the seconds that a server asks to wait: given in ms, in seconds, or as a date.

    >>> retry_after({"retry-after": "7"})
    7.0
    """
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        return max(0.0, float(headers["retry-after"]))
    except KeyError:
        return None
    except ValueError:
        date = email.utils.parsedate_tz(headers.get("retry-after", ""))
        return None if date is None else max(0.0, email.utils.mktime_tz(date) - now())


def _message(content: str) -> str:
    """Return the error message in a response body, or the whole body if its form is unknown."""
    try:
        error = json.loads(content)["error"]
        return str(error["message"]) if isinstance(error, dict) else str(error)
    except (ValueError, LookupError, TypeError):
        return content


def _text(content: Any) -> str:
    if isinstance(content, list):  # some servers send an answer in parts
        content = "".join(_text(part.get("text")) for part in content if isinstance(part, dict))
    if not isinstance(content, str):
        return ""
    # A lone surrogate is legal in JSON but cannot be encoded.
    return content.encode(errors="replace").decode()


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _any(text: str, parts: tuple[str, ...]) -> bool:
    return any(part in text for part in parts)
