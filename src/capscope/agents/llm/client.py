"""Ask a model so that a run survives server failures and pays for nothing twice.

A call checks the answer cache first. If the answer is missing, the server is asked; temporary
failures (busy, unreachable, timeout) are retried after the time the server names, or after waits
that double. When the tries are used up, an `LlmError` stops the run: a server that is down must not
look like an agent that fails. The current draw is not recorded; `resume` finds its answers cached.

Budgets hold to the call: the allowance is checked before each call and charged after it.
"""

import atexit
import random
from collections.abc import Callable, Sequence
from threading import BoundedSemaphore, Event, Lock
from typing import Any

from capscope.agents.llm.cache import AnswerCache
from capscope.agents.llm.completion import (
    CallId,
    Completion,
    Message,
    Sampling,
    cache_key,
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
"""Seconds; if a server asks for more, the run stops and can be resumed later."""
_JITTER = -1  # child of a call's seed, for the length of its waits


class LlmClient:
    """One model on one server, for any number of threads."""

    def __init__(
        self, settings: LlmSettings, wait: Callable[[Event, float], object] = Event.wait
    ) -> None:
        self.settings = settings
        self._wait = wait
        self._slots = BoundedSemaphore(settings.concurrency)
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
        call: CallId,
        allowance: Allowance | None = None,
    ) -> Completion:
        """Return the answer to a conversation for one call, from the cache if possible.

        Put the constant part of the messages first: servers cache prompt prefixes.
        """
        allowance = allowance or Allowance()
        allowance.check_tokens()
        key = cache_key(self.settings.model, messages, sampling, call)
        answer = self.cache.find(key)
        if answer is None:
            allowance.check_cost()
            answer = self._ask(key, messages, sampling, call, allowance.stopped)
        allowance.pay(answer.tokens, answer.cost)
        return answer

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
        call: CallId,
        stopped: Event,
    ) -> Completion:
        settings = self.settings
        body = request_body(
            settings.model, messages, sampling, call if settings.send_seed else None
        )
        reply = self._reply(body, call, stopped)
        if reply.refused:
            return Completion("", 0, 0, reply.finish_reason)
        prompt, completion = reply.prompt_tokens, reply.completion_tokens
        if prompt is None:
            prompt = sum(_estimated_tokens(t) for message in messages for t in message.values())
        if completion is None:
            completion = _estimated_tokens(reply.text)
        cost = settings.cost(prompt, completion)
        answer = Completion(reply.text, prompt, completion, reply.finish_reason, False, cost)
        return self.cache.add(key, settings.model, answer)

    def _reply(self, body: dict[str, Any], call: CallId, stopped: Event) -> Reply:
        """Ask until there is a reply, waiting longer each time."""
        settings = self.settings
        rng = random.Random(child_seed(call.seed, call.number, _JITTER))
        for tried in range(1, settings.tries + 1):
            # Checked before each try: another worker may have stopped the run.
            if stopped.is_set():
                raise LlmError("the run was stopped while waiting for an answer")
            with self._slots:
                outcome = self._connected().send(body)
            if isinstance(outcome, Reply):
                return outcome
            failure = outcome
            asked = failure.retry_after or 0.0
            if not failure.temporary or tried == settings.tries or asked > LONGEST_RETRY_AFTER:
                break
            # Half of each wait is random, so that workers do not all return at once.
            usual = min(FIRST_WAIT * 2 ** (tried - 1), LONGEST_WAIT) * rng.uniform(0.5, 1.0)
            self._wait(stopped, max(asked, usual))
        raise self._error(failure, tried)

    def _error(self, failure: Failure, tried: int) -> LlmError:
        times = f" in {tried} tries" if tried > 1 else ""
        asked = failure.retry_after
        later = f" in {asked:.0f} s" if asked and asked > LONGEST_RETRY_AFTER else ""
        return LlmError(
            f"{self.settings.display_url} {failure.reason}{times}; the current draw was not "
            f"recorded, earlier ones are kept: fix this and resume{later}"
        )

    def _connected(self) -> Transport:
        with self._lock:
            if self._transport is None:
                url = self.settings.base_url
                if url is None:
                    assert self.settings.gguf is not None
                    url = embedded_server(self.settings.gguf)
                self._transport = Transport(self.settings, url)
            return self._transport


class Calls:
    """The calls of one attempt: numbered, counted, and paid for from its allowance.

    An attempt that forwards `spend_from` and `llm_tokens` to its `Calls` respects every budget.
    """

    def __init__(self, client: LlmClient, seed: int) -> None:
        self._client = client
        self._seed = seed
        self._made = 0
        self._allowance = Allowance()
        self.llm_tokens = 0
        """Tokens of the prompts and answers so far."""

    def spend_from(self, allowance: Allowance) -> None:
        """Pay for every later call from an allowance."""
        if allowance.limits_cost and not self._client.settings.priced:
            raise LlmError(
                "a cost limit needs prices: set CAPSCOPE_LLM_PRICE_PROMPT and "
                "CAPSCOPE_LLM_PRICE_COMPLETION to the price of a million tokens"
            )
        self._allowance = allowance

    def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        """Make the next call of the attempt."""
        call = CallId(self._seed, self._made)
        answer = self._client.complete(
            messages, sampling=sampling, call=call, allowance=self._allowance
        )
        self._made += 1
        self.llm_tokens += answer.tokens
        return answer


_shared: dict[LlmSettings, LlmClient] = {}
_shared_lock = Lock()


def shared_client(settings: LlmSettings) -> LlmClient:
    """Return this process's client for these settings.

    Each worker has its own problem, but the limit on concurrent calls applies to all of them.
    """
    with _shared_lock:
        if settings not in _shared:
            _shared[settings] = LlmClient(settings)
        return _shared[settings]


@atexit.register
def close_shared_clients() -> None:
    """Close all shared clients; `shared_client` then creates new ones."""
    with _shared_lock:
        while _shared:
            _shared.popitem()[1].close()


def _estimated_tokens(text: str) -> int:
    """Overestimate the tokens if the server does not count them, so that budgets still hold."""
    return len(text.encode()) // 3 + 1
