"""Send one request to a server: the result is a reply, a refusal, or a failure of the server.

The errors of the `openai` package carry the whole request, including the key, so none of them leave
this module, and quotes from the server have the key masked.

Anything a model said is a reply. A proxy's error page, half an answer or no answer is a failure of
the server and must not count against the agent; some failures are worth a retry. A refusal may be
about this one conversation: malformed, longer than the context, or rejected by a content filter. A
request that is too large for a proxy (status 413) is a failure: the limit is not the model's.

A server may do anything: send headers byte by byte, gigabytes, counts that no database can store.
A request therefore has a total time and a largest size, and whatever happens is one of the three
results.
"""

import email.utils
import json
import math
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from capscope.adapters.llm.settings import LlmSettings
from capscope.errors import LlmError, install_hint

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_RETRIED = (408, 409, 425, 429)
_LONGEST_QUOTE = 200
_LONGEST_FINISH_REASON = 100
LARGEST_RESPONSE = 8 * 1024**2
"""Bytes of a response; an answer of 100,000 tokens has less than one megabyte."""
_MOST_TOKENS = 10**9
"""A count beyond this is not believed."""
_LONGEST_CREDIBLE_WAIT = 30 * 24 * 3600.0
"""Seconds; larger values are ignored."""
_TOO_LONG = ("length", "exceed", "window", "too long", "too large")
_FILTERED = ("content_filter", "content_policy", "content management policy")
_MALFORMED = "tool call arguments"
"""In what llama.cpp answers, with status 500, to a history with invalid JSON."""


@dataclass(frozen=True)
class Reply:
    """What the model said; token counts are None if the server does not report them."""

    text: str
    finish_reason: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    first_token: tuple[tuple[str, float], ...] | None = None
    """Log probabilities of the most likely first tokens; None if the server sent none."""
    message: str = ""
    """The whole message as JSON: its role, content and tool calls."""


@dataclass(frozen=True)
class Failure:
    """Why there is no reply."""

    reason: str
    temporary: bool = False
    """A retry may succeed."""
    retry_after: float | None = None
    """Seconds that the server asks to wait."""
    refused: bool = False
    """The server did not ask the model: nothing was paid, and a retry would not help."""


Outcome = Reply | Failure


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
            http_client=self._http_client(base_url),
            default_headers={"Accept-Encoding": "identity"},
        )
        self._completion_limit = "max_tokens"

    def _http_client(self, base_url: str) -> Any:
        """Return an HTTP client that reads responses of limited size.

        For this machine it has neither proxy nor certificates: loading them takes longer than many
        local calls.
        """
        hooks = {"response": [self._limit_response]}
        url = urlsplit(base_url)
        if url.scheme != "http" or url.hostname not in _LOOPBACK:
            return self._openai.DefaultHttpxClient(event_hooks=hooks)
        no_certificates = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return self._openai.DefaultHttpxClient(
            event_hooks=hooks, trust_env=False, verify=no_certificates
        )

    def _limit_response(self, response: Any) -> None:
        """Have the body of a response read in limited size and time."""
        encoding = response.headers.get("content-encoding", "identity")
        if encoding != "identity":
            # A few kilobytes can unpack to gigabytes, and none was asked for.
            raise _UnusableResponse(f"sent a compressed answer ({self._quote(encoding)})")
        ends = time.monotonic() + self._settings.timeout
        whole = response.stream

        def limited() -> Iterator[bytes]:
            size = 0
            for chunk in whole:
                size += len(chunk)
                if size > LARGEST_RESPONSE:
                    raise _UnusableResponse(f"sent more than {LARGEST_RESPONSE:,} bytes")
                if time.monotonic() > ends:
                    raise _UnusableResponse("did not end its answer in time")
                yield chunk

        # The HTTP library of `openai` accepts only streams of its own classes.
        methods = {"__iter__": lambda _: limited(), "close": lambda _: whole.close()}
        response.stream = object.__new__(type("LimitedStream", (type(whole),), methods))

    def send(self, body: Mapping[str, Any]) -> Outcome:
        """Send a request once."""
        outcome = self._send_in_time(body)
        if (
            isinstance(outcome, Failure)
            and outcome.refused
            and "max_completion_tokens" in outcome.reason
        ):
            # Newer OpenAI models renamed the parameter and reject the old name.
            self._completion_limit = "max_completion_tokens"
            outcome = self._send_in_time(body)
        return outcome

    def _send_in_time(self, body: Mapping[str, Any]) -> Outcome:
        """Send a request; a server that drips its answer is not waited for any longer.

        The HTTP library limits the time between two bytes, not the whole. So the request is made in
        a thread, which is left behind when the time is over.
        """
        outcomes: list[Outcome] = []

        def send() -> None:
            try:
                outcomes.append(self._send(body))
            except Exception as error:
                quote = self._quote(f"{type(error).__name__}: {error}")
                outcomes.append(Failure(f"sent what cannot be used ({quote})", temporary=True))

        thread = threading.Thread(target=send, name="capscope-llm", daemon=True)
        thread.start()
        thread.join(self._settings.timeout)
        return outcomes[0] if outcomes else self._too_late()

    def _too_late(self) -> Failure:
        return Failure(f"gave no answer within {self._settings.timeout:g} s", temporary=True)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _send(self, body: Mapping[str, Any]) -> Outcome:
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
            return self._too_late()
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            if isinstance(cause, _UnusableResponse):
                return Failure(str(cause), temporary=True)
            quote = self._quote(str(cause)) or type(cause).__name__
            return Failure(f"cannot be reached ({quote})", temporary=True)
        except openai.APIStatusError as error:
            return self._status_error(error.status_code, error.response)
        except _UnusableResponse as error:
            return Failure(str(error), temporary=True)
        except Exception as error:
            quote = self._quote(f"{type(error).__name__}: {error}")
            return Failure(f"cannot be asked ({quote})", temporary=False)

    def _read(self, content: bytes) -> Reply | Failure:
        """Read the answer from a response body."""
        try:
            document = json.loads(content)
            choice = document["choices"][0]
            message = choice["message"]
            if not isinstance(message.get("content"), str | list | None):
                raise TypeError("content that is not text")
            text = _text(message.get("content")) or _text(message.get("refusal"))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            quote = self._quote(content[:1000].decode(errors="replace"))
            return Failure(f"did not send a chat completion ({quote!r})", temporary=True)
        usage = document.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        return Reply(
            self._settings.redact(text),
            _text(str(choice.get("finish_reason") or "unknown"))[:_LONGEST_FINISH_REASON],
            _count(usage.get("prompt_tokens")),
            _count(usage.get("completion_tokens")),
            self._first_token(choice),
            message=self._settings.redact(_message_json(message, text)),
        )

    def _first_token(self, choice: Mapping[str, Any]) -> tuple[tuple[str, float], ...] | None:
        """Read the log probabilities of the first token; an answer without tokens has none."""
        try:
            tokens = choice["logprobs"]["content"]
            listed = tokens[0]["top_logprobs"] if tokens else []
            pairs = [(_text(t["token"]), float(t["logprob"])) for t in listed]
        except (LookupError, TypeError, ValueError):
            return None
        redact = self._settings.redact
        return tuple((redact(token), value) for token, value in pairs if math.isfinite(value))

    def _status_error(self, status: int, response: Any) -> Failure:
        content = response.content.decode(errors="replace")
        lower = content.lower()
        reason = f"answered with status {status} ({self._quote(_message(content))})"
        if _refuses(status, lower):
            return Failure(reason, refused=True)
        temporary = (status in _RETRIED or status >= 500) and "insufficient_quota" not in lower
        if status in (401, 403):
            reason += "; check CAPSCOPE_LLM_API_KEY"
        elif status == 413:
            reason += "; a proxy may limit the size of requests"
        elif status == 404:
            reason += "; check the model and the base URL, which usually ends in /v1"
        return Failure(reason, temporary, retry_after(response.headers))

    def _quote(self, text: str) -> str:
        # Masked before it is cut: half a key is still a secret.
        line = " ".join(self._settings.redact(text).split())
        return line if len(line) <= _LONGEST_QUOTE else line[:_LONGEST_QUOTE] + "…"


def _refuses(status: int, content: str) -> bool:
    """Return whether an error may be about the conversation rather than the server."""
    return (
        status in (400, 422)
        or (status == 403 and any(sign in content for sign in _FILTERED))
        or (status == 413 and "context" in content and any(sign in content for sign in _TOO_LONG))
        or (status == 500 and _MALFORMED in content)
    )


class _UnusableResponse(Exception):  # noqa: N818 - it says what the response is
    """A response that is not read to its end; the message goes on after the server's name."""


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
            seconds = float(headers["retry-after-ms"]) / 1000
        else:
            seconds = float(headers["retry-after"])
    except KeyError:
        return None
    except ValueError:
        try:
            date = email.utils.parsedate_tz(headers.get("retry-after", ""))
            seconds = math.nan if date is None else email.utils.mktime_tz(date) - now()
        except (ValueError, OverflowError, IndexError, TypeError):
            return None
    credible = math.isfinite(seconds) and seconds <= _LONGEST_CREDIBLE_WAIT
    return max(0.0, seconds) if credible else None


def _message_json(message: Mapping[str, Any], text: str) -> str:
    calls = message.get("tool_calls")
    whole: dict[str, Any] = {"role": "assistant", "content": text or None}
    if isinstance(calls, list) and calls:
        whole["tool_calls"] = calls
    # Like the text: what cannot be encoded could not be sent back.
    return _text(json.dumps(whole, ensure_ascii=False))


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
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None
