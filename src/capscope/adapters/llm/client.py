"""Ask a model so that a run survives server failures and pays for nothing twice.

A call checks the answer cache first. If the answer is missing, the server is asked; temporary
failures (busy, unreachable, timeout) are retried after the time the server names, or after waits
that double. When the tries are used up, an `LlmError` stops the run: a server that is down must not
look like an agent that fails. The current draw is not recorded; `resume` finds its answers cached.

A server that refuses a request (status 400 and the like) may be at fault, or the conversation. A
greeting with the same settings decides: if the server answers it, the conversation was refused, and
a `ConversationRefused` ends the attempt; otherwise the run stops. Refusals are not cached.

Budgets hold to the call: the allowance is checked before each call and charged after it. The scores
of several prompts are one call.
"""

import atexit
import json
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore, Event, Lock
from typing import Any, Protocol

from capscope.adapters.llm.answers import (
    AnswerCache,
    CallId,
    Completion,
    Message,
    Sampling,
    TokenScores,
    cache_key,
    request_body,
    score_body,
    score_key,
)
from capscope.adapters.llm.settings import LlmSettings, local_server
from capscope.adapters.llm.transport import Failure, Reply, Transport
from capscope.errors import ConversationRefused, LlmError
from capscope.problem import Allowance
from capscope.seeds import child_seed

FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
LONGEST_RETRY_AFTER = 300.0
"""Seconds; if a server asks for more, the run stops and can be resumed later."""
MOST_LOGPROBS = 20
"""The most first tokens that OpenAI's servers list; others may list more."""
MOST_REFUSED = 5
"""Conversations of a kind that may be refused before one is accepted; then the run stops."""
_GREETING: Message = {"role": "user", "content": "Hello."}
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
        # By whether the model has answered before in the conversation: a server may accept every
        # prompt, and no history with tools.
        self._accepted: set[bool] = set()
        self._refused: dict[bool, set[int]] = {False: set(), True: set()}  # seeds of attempts

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

        Args:
            messages: The conversation; constant parts first, because servers cache prompt prefixes.
            sampling: Temperature and limits.
            call: The place of the call in the run.
            allowance: Pays for the call.

        Returns:
            The answer.
        """
        allowance = allowance or Allowance()
        allowance.check_tokens()
        model = self.settings.model
        key = cache_key(model, messages, sampling, call)
        answer = self.cache.find(key)
        if answer is None:
            allowance.check_cost()
            seeded = call if self.settings.send_seed else None
            body = request_body(model, messages, sampling, seeded)
            part = "message" if sampling.whole_message else "text"
            answer = self._ask(key, body, call, allowance, lambda reply: getattr(reply, part))
        self._accepted.add(_continues(messages))
        allowance.pay(answer.tokens, answer.cost)
        return answer

    def scores(
        self,
        prompts: Sequence[Sequence[Message]],
        *,
        top: int = MOST_LOGPROBS,
        allowance: Allowance | None = None,
    ) -> list[TokenScores]:
        """Return the `top` most likely first tokens of the answer to each prompt.

        Prompts that are not in the cache are sent in parallel, as far as `concurrency` allows.

        Args:
            prompts: The conversations; shared parts first.
            top: The number of tokens.
            allowance: Pays for all prompts as one call.

        Returns:
            The scores of each prompt.
        """
        allowance = allowance or Allowance()
        allowance.check_tokens()
        keys = [score_key(self.settings.model, prompt, top) for prompt in prompts]
        found = {key: answer for key in keys if (answer := self.cache.find(key)) is not None}
        missing = {k: p for k, p in zip(keys, prompts, strict=True) if k not in found}
        if missing:
            allowance.check_cost()

            def ask(key: str) -> Completion:
                body = score_body(self.settings.model, missing[key], top)
                call = CallId(int(key[:8], 16))  # for the length of waits only
                return self._ask(key, body, call, allowance, self._logprobs)

            with ThreadPoolExecutor(min(self.settings.concurrency, len(missing))) as threads:
                found.update(zip(missing, threads.map(ask, missing), strict=True))
        self._accepted.update(map(_continues, prompts))
        cost = sum(answer.cost for answer in found.values())
        allowance.pay(sum(found[key].tokens for key in keys), cost)
        return [TokenScores.of(found[key]) for key in keys]

    def _logprobs(self, reply: Reply) -> str:
        if reply.first_token is None:
            raise LlmError(
                f"{self.settings.display_url} sent no log probabilities for {self.settings.model}; "
                "scores need a server and a model that support `logprobs` in chat completions"
            )
        return json.dumps(reply.first_token)

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
        body: dict[str, Any],
        call: CallId,
        allowance: Allowance,
        read: Callable[[Reply], str],
    ) -> Completion:
        """Ask the server, and store what is read from its reply."""
        settings = self.settings
        try:
            reply = self._reply(body, call, allowance)
            text = read(reply)
            counts = _token_counts(reply, body["messages"], text)
            answer = Completion(text, *counts, reply.finish_reason, False, settings.cost(*counts))
            return self.cache.add(key, settings.model, answer)
        except (ConversationRefused, LlmError):
            raise
        except Exception as error:  # anything unforeseen would look like a failed agent
            reason = settings.redact(f"{type(error).__name__}: {error}")
            raise LlmError(
                f"an answer of {settings.display_url} cannot be used ({reason:.200}); the current "
                "draw was not recorded, earlier ones are kept: fix this and resume"
            ) from error

    def _reply(self, body: dict[str, Any], call: CallId, allowance: Allowance) -> Reply:
        """Return the reply to a request; raise if the server refuses it."""
        outcome = self._outcome(body, call, allowance.stopped)
        if isinstance(outcome, Reply):
            return outcome
        greeting = self._outcome({**body, "messages": [_GREETING]}, call, allowance.stopped)
        if isinstance(greeting, Failure):
            raise self._error(f"{greeting.reason}, even to a greeting")
        counts = _token_counts(greeting, [_GREETING], greeting.text)
        allowance.pay(0, self.settings.cost(*counts))
        raise self._refusal_error(outcome, _continues(body["messages"]), call.seed)

    def _refusal_error(
        self, refusal: Failure, continues: bool, seed: int
    ) -> ConversationRefused | LlmError:
        """Return the error for a refused conversation, while the server answers a greeting."""
        with self._lock:
            self._refused[continues].add(seed)
            refused = len(self._refused[continues])
        if continues in self._accepted or refused < MOST_REFUSED:
            return ConversationRefused(f"the server {refusal.reason}")
        kind = "in which the model had answered" if continues else "at their first prompt"
        return LlmError(
            f"{self.settings.display_url} refused all {refused} conversations {kind} (it "
            f"{refusal.reason}); the last one was not recorded, the others are recorded as "
            "refused: fix this and start a new run, or resume"
        )

    def _outcome(self, body: dict[str, Any], call: CallId, stopped: Event) -> Reply | Failure:
        """Ask until there is a reply or a refusal, waiting longer each time."""
        settings = self.settings
        rng = random.Random(child_seed(call.seed, call.number, _JITTER))
        tried = 0
        while True:
            tried += 1
            # Checked before each try: another worker may have stopped the run.
            if stopped.is_set():
                raise LlmError("the run was stopped while waiting for an answer")
            with self._slots:
                outcome = self._connected().send(body)
            if isinstance(outcome, Reply) or outcome.refused:
                return outcome
            asked = outcome.retry_after or 0.0
            if not outcome.temporary or tried == settings.tries or asked > LONGEST_RETRY_AFTER:
                times = f" in {tried} tries" if tried > 1 else ""
                later = f" in {asked:.0f} s" if asked > LONGEST_RETRY_AFTER else ""
                raise self._error(f"{outcome.reason}{times}", later)
            # Half of each wait is random, so that workers do not all return at once.
            usual = min(FIRST_WAIT * 2 ** (tried - 1), LONGEST_WAIT) * rng.uniform(0.5, 1.0)
            self._wait(stopped, max(asked, usual))

    def _error(self, reason: str, later: str = "") -> LlmError:
        return LlmError(
            f"{self.settings.display_url} {reason}; the current draw was not recorded, earlier "
            f"ones are kept: fix this and resume{later}"
        )

    def _connected(self) -> Transport:
        with self._lock:
            if self._transport is None:
                url = self.settings.base_url
                if url is None:
                    assert self.settings.gguf is not None
                    url = local_server().serve(self.settings.gguf)
                self._transport = Transport(self.settings, url)
            return self._transport


class Calls:
    """The calls of one attempt: numbered, counted, and paid for from its allowance.

    An attempt that forwards `spend_from` and `llm_tokens` to its `Calls` respects every budget;
    `ModelAttempt` does.
    """

    def __init__(self, client: LlmClient, seed: int) -> None:
        self._client = client
        self._seed = seed
        self._made = 0
        self._allowance = Allowance()
        self.llm_tokens = 0
        """Tokens of the prompts and answers so far."""

    @property
    def model(self) -> str:
        """The name of the model."""
        return self._client.settings.model

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

    def scores(
        self, prompts: Sequence[Sequence[Message]], top: int = MOST_LOGPROBS
    ) -> list[TokenScores]:
        """Return the scores of the prompts, which do not depend on the attempt."""
        scored = self._client.scores(prompts, top=top, allowance=self._allowance)
        self.llm_tokens += sum(scores.tokens for scores in scored)
        return scored


class PaidCalls(Protocol):
    """Calls to a language model that are counted, and paid for from an allowance."""

    @property
    def llm_tokens(self) -> int:
        """Tokens of the prompts and answers so far."""

    def spend_from(self, allowance: Allowance) -> None:
        """Pay for every later call from an allowance."""


class ModelAttempt:
    """What attempts that ask a language model have in common: tokens, budget and transcript."""

    def __init__(self, paid: PaidCalls) -> None:
        self._paid = paid
        self._parts: list[str] = []

    @property
    def llm_tokens(self) -> int:
        """Tokens of the prompts and answers so far."""
        return self._paid.llm_tokens

    @property
    def transcript(self) -> str:
        """All messages in order, indented below headings, so that none can imitate a heading."""
        return "\n".join(self._parts)

    def spend_from(self, allowance: Allowance) -> None:
        """Pay for every later call from an allowance."""
        self._paid.spend_from(allowance)

    def _note(self, heading: str, text: str) -> None:
        self._parts.append(f"{heading}:")
        self._parts.extend(f"  {line}" for line in text.splitlines() or ["(nothing)"])


_shared: dict[LlmSettings, LlmClient] = {}
_shared_lock = Lock()


def shared_client(settings: LlmSettings) -> LlmClient:
    """Return this process's client, so that the limit on concurrent calls applies to all workers.

    Args:
        settings: The server and the model.

    Returns:
        The same client for equal settings.
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


def _continues(messages: Sequence[Message]) -> bool:
    """Return whether the model has answered before in a conversation."""
    return any(message.get("role") == "assistant" for message in messages)


def _token_counts(reply: Reply, messages: Sequence[Message], text: str) -> tuple[int, int]:
    """Return the tokens of the prompt and the answer, estimated if the server does not say."""
    prompt, completion = reply.prompt_tokens, reply.completion_tokens
    if prompt is None:
        parts = [part for message in messages for part in message.values()]
        texts = (part if isinstance(part, str) else json.dumps(part) for part in parts)
        prompt = sum(map(_estimated_tokens, texts))
    return prompt, _estimated_tokens(text) if completion is None else completion


def _estimated_tokens(text: str) -> int:
    """Overestimate the tokens if the server does not count them, so that budgets still hold."""
    return len(text.encode()) // 3 + 1
