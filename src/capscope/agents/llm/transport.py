"""One request to a server, and what came of it: a reply, or a failure that says whether to retry.

The `openai` package speaks to any server with the same protocol. Its own retries sleep, and its
errors carry the whole request, key included; so it is asked to try once, and nothing that it raises
gets beyond this module. What a server says is passed on with the key struck out.

An answer that a model gave is a reply, however foolish. A page of a proxy, half an answer or no
answer is a failure of the server, and it would be wrong to hold it against the agent. Two refusals
are replies although they come as errors: a conversation that no longer fits the model's context,
and one that a filter objects to. Both are the agent's doing, and no retry would mend them.
"""

from __future__ import annotations

import email.utils
import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from capscope.agents.llm.completion import CONTENT_FILTER, CONTEXT_OVERFLOW
from capscope.agents.llm.settings import LlmSettings
from capscope.errors import LlmError

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_RETRIED = (408, 409, 425, 429)
_LONGEST_QUOTE = 200


@dataclass(frozen=True)
class Reply:
    """What the model said; token counts are None where the server does not tell them."""

    text: str
    finish_reason: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    refused: bool = False
    """The server would not ask the model: nothing was paid, and nothing is kept."""


@dataclass(frozen=True)
class Failure:
    """Why there is no reply."""

    reason: str
    passing: bool
    """It may be over in a moment."""
    retry_after: float | None = None
    """Seconds the server asks to wait."""


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
            http_client=self._direct_client(base_url),
        )
        self._completion_limit = "max_tokens"

    def _direct_client(self, base_url: str) -> Any:
        """Return a client that goes straight to this machine; None where the usual one will do.

        A proxy for the outside world is of no use there, and loading the certificates of all the
        world takes longer than many calls. With none of them loaded, none is trusted.
        """
        url = urlsplit(base_url)
        if url.scheme != "http" or url.hostname not in _LOOPBACK:
            return None
        nobody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return self._openai.DefaultHttpxClient(trust_env=False, verify=nobody)

    def send(self, body: Mapping[str, Any]) -> Reply | Failure:
        """Ask once."""
        outcome = self._send(body)
        if isinstance(outcome, Failure) and "max_completion_tokens" in outcome.reason:
            # Newer models of one provider have renamed the setting and refuse the old name.
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
            # Handed over as it is: the package's own look at each part takes longer than sending.
            answer = self._client.chat.completions.with_raw_response.create(
                model=request["model"], messages=[], extra_body=request
            )
            return self._read(answer.http_response.read())
        except openai.APITimeoutError:
            return Failure(f"gave no answer within {self._settings.timeout:g} s", passing=True)
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            said = self._quote(str(cause)) or type(cause).__name__
            return Failure(f"cannot be reached ({said})", passing=True)
        except openai.APIStatusError as error:
            return self._refusal(error.status_code, error.response)
        except Exception as error:
            said = self._quote(f"{type(error).__name__}: {error}")
            return Failure(f"cannot be asked ({said})", passing=False)

    def _read(self, content: bytes) -> Reply | Failure:
        """Take the answer out of a body, if there is one."""
        try:
            document = json.loads(content)
            choice = document["choices"][0]
            message = choice["message"]
            text = _text(message.get("content")) or _text(message.get("refusal"))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            said = self._quote(content[:1000].decode(errors="replace"))
            return Failure(f"sent something that is no chat completion ({said!r})", passing=True)
        usage = document.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        return Reply(
            self._settings.hide(text),
            str(choice.get("finish_reason") or "unknown"),
            _count(usage.get("prompt_tokens")),
            _count(usage.get("completion_tokens")),
        )

    def _refusal(self, status: int, response: Any) -> Reply | Failure:
        content = response.content.decode(errors="replace")
        said = content.lower()
        if status == 413 or (status == 400 and "context" in said and _any(said, _TOO_LONG)):
            return Reply("", CONTEXT_OVERFLOW, refused=True)
        if status in (400, 403) and _any(said, _FILTERED):
            return Reply("", CONTENT_FILTER, refused=True)
        passing = (status in _RETRIED or status >= 500) and "insufficient_quota" not in said
        reason = f"answered with status {status} ({self._quote(_message(content))})"
        if status in (401, 403):
            reason += "; check CAPSCOPE_LLM_API_KEY"
        elif status == 404:
            reason += "; check the model and the base URL, which usually ends in /v1"
        return Failure(reason, passing, retry_after(response.headers))

    def _quote(self, text: str) -> str:
        # Struck out before it is cut: half a key is still a secret.
        line = " ".join(self._settings.hide(text).split())
        return line if len(line) <= _LONGEST_QUOTE else line[:_LONGEST_QUOTE] + "…"


_TOO_LONG = ("length", "exceed", "window", "too long", "too large")
_FILTERED = ("content_filter", "content_policy", "content management policy")


def openai_package() -> Any:
    """Return the package, or say what to install."""
    try:
        import openai
    except ModuleNotFoundError:
        raise LlmError(
            "language models are asked with the openai package: pip install 'capscope[llm]'"
        ) from None
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
    """Return what a server says is wrong; the whole body where it says so in no known form."""
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
    # Half a surrogate pair is legal in JSON but cannot be written anywhere.
    return content.encode(errors="replace").decode()


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _any(text: str, words: tuple[str, ...]) -> bool:
    return any(word in text for word in words)
