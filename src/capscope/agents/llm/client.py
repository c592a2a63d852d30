"""Ask a model so that a run survives whatever the server does, and pays for nothing twice.

A call looks into the answer cache first. If the answer is not there the server is asked; where it
fails for a moment (busy, broken, out of reach, silent) it is asked again, after the time that it
names or after waits that double. When the tries are used up an `LlmError` stops the run. Nothing is
recorded for the draw under way, the answers it has are in the cache, and `resume` goes on there:
a server that is down must not pass for an agent that fails.

Budgets hold to the call: before each one the allowance of the draw is looked at, and the answer is
paid for before it is handed out.
"""

from __future__ import annotations

import atexit
import random
from collections.abc import Callable, Sequence
from threading import BoundedSemaphore, Event, Lock
from typing import Any

from capscope.agents.llm.cache import AnswerCache
from capscope.agents.llm.completion import (
    Completion,
    Message,
    Place,
    Sampling,
    question_key,
    request_body,
)
from capscope.agents.llm.local import embedded_server
from capscope.agents.llm.settings import LlmSettings
from capscope.agents.llm.transport import Failure, Reply, Transport
from capscope.errors import LlmError
from capscope.seeds import child_seed
from capscope.world import Allowance

FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
LONGEST_RETRY_AFTER = 300.0
"""Seconds; a server that asks for more is left alone until somebody resumes the run."""
_JITTER = -1  # the place, below a call, that seeds how long its waits are

Wait = Callable[[float, Event], None]
"""Wait so many seconds, or until the event is set."""


def wait_or_stop(seconds: float, stopped: Event) -> None:
    """Wait, but no longer than anybody is interested."""
    stopped.wait(seconds)


class LlmClient:
    """One model on one server, for any number of threads."""

    def __init__(self, settings: LlmSettings, wait: Wait = wait_or_stop) -> None:
        self.settings = settings
        self._wait = wait
        self._places = BoundedSemaphore(settings.concurrency)
        self._lock = Lock()
        self._answers: AnswerCache | None = None
        self._transport: Transport | None = None

    @property
    def cache(self) -> AnswerCache:
        """The answers so far."""
        with self._lock:
            if self._answers is None:
                self._answers = AnswerCache(self.settings.cache)
            return self._answers

    def complete(
        self,
        messages: Sequence[Message],
        *,
        sampling: Sampling,
        draw: Place,
        allowance: Allowance | None = None,
    ) -> Completion:
        """Return the answer to a conversation for one draw, out of the cache if it is there.

        Put the part of the messages that is always the same first: servers remember beginnings.
        """
        allowance = allowance or Allowance()
        allowance.check_tokens()
        key = question_key(self.settings.model, messages, sampling, draw)
        answer = self.cache.find(key)
        if answer is None:
            allowance.check_cost()
            answer = self._ask(key, messages, sampling, draw, allowance.stopped)
        allowance.pay(answer.tokens, answer.cost)
        return answer

    def calls(self, seed: int) -> Calls:
        """Begin to count the calls of an attempt that has this seed."""
        return Calls(self, seed)

    def close(self) -> None:
        """Close the connections and the cache."""
        with self._lock:
            if self._transport is not None:
                self._transport.close()
            if self._answers is not None:
                self._answers.close()
            self._transport = self._answers = None

    def _ask(
        self,
        key: str,
        messages: Sequence[Message],
        sampling: Sampling,
        draw: Place,
        stopped: Event,
    ) -> Completion:
        settings = self.settings
        body = request_body(
            settings.model, messages, sampling, draw if settings.send_seed else None
        )
        reply = self._reply(body, draw, stopped)
        if reply.refused:
            return Completion("", 0, 0, reply.finish_reason)
        prompt, completion = reply.prompt_tokens, reply.completion_tokens
        if prompt is None:
            prompt = sum(_guessed_tokens(text) for message in messages for text in message.values())
        if completion is None:
            completion = _guessed_tokens(reply.text)
        cost = settings.cost(prompt, completion)
        answer = Completion(reply.text, prompt, completion, reply.finish_reason, False, cost)
        return self.cache.add(key, settings.model, answer)

    def _reply(self, body: dict[str, Any], draw: Place, stopped: Event) -> Reply:
        """Ask until there is a reply, waiting longer each time; give up with one sentence."""
        settings = self.settings
        rng = random.Random(child_seed(draw.seed, draw.call, _JITTER))
        for tried in range(1, settings.tries + 1):
            # Looked at before each try: others may have given up meanwhile.
            if stopped.is_set():
                raise LlmError("the run was stopped while an answer was awaited")
            with self._places:
                outcome = self._connected().send(body)
            if isinstance(outcome, Reply):
                return outcome
            failure = outcome
            asked = failure.retry_after or 0.0
            if not failure.passing or tried == settings.tries or asked > LONGEST_RETRY_AFTER:
                break
            # Half of each wait is chance, so that workers do not all come back at once.
            usual = min(FIRST_WAIT * 2 ** (tried - 1), LONGEST_WAIT) * rng.uniform(0.5, 1.0)
            self._wait(max(asked, usual), stopped)
        raise self._given_up(failure, tried)

    def _given_up(self, failure: Failure, tried: int) -> LlmError:
        times = f" at {tried} tries" if tried > 1 else ""
        asked = failure.retry_after
        later = f" in {asked:.0f} s" if asked and asked > LONGEST_RETRY_AFTER else ""
        return LlmError(
            f"{self.settings.shown_url} {failure.reason}{times}; nothing was recorded for the draw "
            f"under way and all before it is kept: mend it and resume{later}"
        )

    def _connected(self) -> Transport:
        with self._lock:
            if self._transport is None:
                settings = self.settings
                url = settings.base_url
                if url is None:
                    assert settings.gguf is not None
                    url = embedded_server(settings.gguf)
                self._transport = Transport(settings, url)
            return self._transport


class Calls:
    """The calls of one attempt: numbered, counted, and paid for from its allowance.

    An attempting that keeps one and passes on `spend_from` and `llm_tokens` keeps to every budget.
    """

    def __init__(self, client: LlmClient, seed: int) -> None:
        self._client = client
        self._seed = seed
        self._made = 0
        self._allowance = Allowance()
        self.llm_tokens = 0
        """Tokens of the answers so far, those of the questions included."""

    def spend_from(self, allowance: Allowance) -> None:
        """Pay for every call from here on out of an allowance."""
        if allowance.limits_cost and not self._client.settings.priced:
            raise LlmError(
                "a limit on cost needs prices: set CAPSCOPE_LLM_PRICE_PROMPT and "
                "CAPSCOPE_LLM_PRICE_COMPLETION to what a million tokens cost"
            )
        self._allowance = allowance

    def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        """Make the next call of the attempt."""
        place = Place(self._seed, self._made)
        answer = self._client.complete(
            messages, sampling=sampling, draw=place, allowance=self._allowance
        )
        self._made += 1
        self.llm_tokens += answer.tokens
        return answer


_shared: dict[LlmSettings, LlmClient] = {}
_sharing = Lock()


def shared_client(settings: LlmSettings) -> LlmClient:
    """Return the client of this process for these settings.

    Each worker has a problem of its own, but the limit on calls at a time is for all of them.
    """
    with _sharing:
        if settings not in _shared:
            _shared[settings] = LlmClient(settings)
        return _shared[settings]


@atexit.register
def close_shared_clients() -> None:
    """Close them all; whoever asks for one again gets a new one."""
    with _sharing:
        while _shared:
            _shared.popitem()[1].close()


def _guessed_tokens(text: str) -> int:
    """Guess on the high side, for servers that do not count: a budget must hold all the same."""
    return len(text.encode()) // 3 + 1
