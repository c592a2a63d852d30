"""The far side of a worker in another process: make draws, and ask back what is known there only.

Policies look at the graph, which stays with the loop; so a draw comes with its first capability and
asks for each further one, unless the whole sequence was sent along. Allowances are shared by all
workers, so every call of a language model asks whether it may be made, and says what it cost.
Messages alternate: the near side speaks, then this one. Only `stop` comes in between.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from threading import Event
from typing import Any, NamedTuple

from capscope.assessment.ask import DrawOrder, ask
from capscope.assessment.workers.contract import Job, MakeProblem
from capscope.errors import CapscopeError
from capscope.journal.run_directory import versions
from capscope.logic import Intent, State
from capscope.problem import Allowance, Problem
from capscope.problem.allowance import AllowanceSpent
from capscope.strategy.base import Task


class LoadProblem(NamedTuple):
    """The first message to a worker."""

    make: MakeProblem


class MakeDraw(NamedTuple):
    """Make a draw; answered by `Done` or `Failed`."""

    order: DrawOrder
    """Its policy is None if the worker has to ask for each capability but the first."""
    new_intents: tuple[Intent, ...]
    """Those that the worker does not know yet."""
    first: int | None = None
    """What its policy chooses at the start, if the worker has to ask for the others."""


class RunJob(NamedTuple):
    """Do something else; answered by `Done` or `Failed`."""

    job: Job


class NextCapability(NamedTuple):
    """A draw asks what the policy chooses in a state."""

    state: State


class MayCall(NamedTuple):
    """A draw asks whether tokens, or money, are left."""

    currency: str


class Paid(NamedTuple):
    """A draw says what a call took."""

    tokens: int
    cost: float


class Done(NamedTuple):
    """What was asked for."""

    result: Any


class Failed(NamedTuple):
    """What kept a worker from it."""

    error: BaseException


def make_known(make: MakeProblem, problem: Problem) -> Mapping[str, str]:
    """Return what must be the same wherever a problem is loaded."""
    return {
        "version of capscope": versions()["capscope"],
        "fingerprint of the problem": problem.fingerprint,
        "vocabulary": problem.vocabulary.fingerprint,
        "text of its file": getattr(make, "digest", None) or "",
    }


@dataclass
class _AskingPolicy:
    """Ask the near side what comes after the first; both as a policy and as its only walk."""

    first: int | None
    ask: Callable[[Any], Any]
    begun: bool = False

    def walk(self) -> _AskingPolicy:
        return self

    def next(self, state: State) -> int | None:
        if self.begun:
            capability: int | None = self.ask(NextCapability(state))
            return capability
        self.begun = True
        return self.first

    def describe(self) -> Mapping[str, Any]:
        return {}


class _AskedAllowance(Allowance):
    """What all workers may spend, counted on the near side."""

    def __init__(self, ask: Callable[[Any], Any], stopped: Event) -> None:
        super().__init__(stopped=stopped)
        self._ask = ask

    def check_tokens(self) -> None:
        self._check("tokens")

    def check_cost(self) -> None:
        self._check("cost")

    def _check(self, currency: str) -> None:
        refused = self._ask(MayCall(currency))
        if refused:
            raise AllowanceSpent(refused)

    def pay(self, tokens: int, cost: float) -> None:
        self._ask(Paid(tokens, cost))


class WorkerService:
    """Answers messages until there are no more."""

    def __init__(
        self, hear: Callable[[], Any], say: Callable[[Any], None], stopped: Event | None = None
    ) -> None:
        self._hear = hear
        self._say = say
        self.stopped = stopped or Event()
        self._problem: Problem | None = None
        self._intents: list[Intent] = []

    def serve(self) -> None:
        """Answer messages until `hear` raises `EOFError`."""
        while True:
            try:
                message = self._hear()
            except EOFError:
                return
            try:
                reply: Done | Failed = Done(self._result(message))
            except BaseException as error:
                reply = Failed(_portable(error))
            try:
                self._say(reply)
            except OSError:
                return  # nobody listens anymore
            except Exception as error:  # it cannot be pickled
                self._say(Failed(_portable(error)))

    def _result(self, message: Any) -> Any:
        match message:
            case LoadProblem(make):
                self._problem = make()
                return make_known(make, self._problem)
            case MakeDraw():
                return self._draw(message)
            case RunJob(job):
                assert self._problem is not None, "the problem is loaded first"
                return job(self._problem)
            case Failed(error):
                raise error
        raise AssertionError(f"unknown message {message!r}")

    def _draw(self, message: MakeDraw) -> Any:
        assert self._problem is not None, "the problem is loaded first"
        self._intents += message.new_intents
        order = message.order
        if order.task.policy is None:
            policy = _AskingPolicy(message.first, self._ask)
            order = replace(order, task=Task(order.task.start, policy))
        common = _AskedAllowance(self._ask, self.stopped)
        return ask(self._problem, order, self._intents, common)

    def _ask(self, question: Any) -> Any:
        self._say(question)
        return self._hear()


def _portable(error: BaseException) -> BaseException:
    """Return an error that can be sent: mistakes of the user as they are, others as text."""
    if isinstance(error, CapscopeError):
        return type(error)(str(error))
    return RuntimeError("".join(traceback.format_exception(error)))
