"""A worker in another process: the protocol, and the two sides that speak it.

The far side makes draws on its own copy of a problem. Policies look at the graph, which stays with
the loop; so a draw comes with its first capability and asks for each further one, unless the whole
sequence was sent along. Allowances are shared by all workers, so every call of a language model
asks whether it may be made, and says what it cost. Messages alternate: the near side speaks, then
the far one. Only `stop` comes in between. `worker_links` has the connections.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from threading import Event
from typing import Any, NamedTuple, Protocol

from capscope.assessment.ask import Answer, DrawOrder, ask
from capscope.errors import CapscopeError, RunError
from capscope.journal.draws import Draw
from capscope.journal.run_directory import versions
from capscope.logic import Intent, State
from capscope.problem import Allowance, Problem
from capscope.problem.problem import AllowanceSpent
from capscope.strategy.base import SequencePolicy, Task, Walk

MakeProblem = Callable[[], Problem]
"""Makes a copy of the problem; it must be picklable to travel to another process."""
Job = Callable[[Problem], Any]
"""Anything else to be done with a copy of the problem; picklable, and so must be its result."""
ReportingTask = Callable[[Callable[[str], None]], Any]
"""Something to do without a problem; it is given a function that takes its status."""


class WorkerLost(Exception):  # noqa: N818 - an event, not a mistake
    """Raised when a worker is gone, with whatever it was doing."""


class DrawTimedOut(WorkerLost):
    """Raised when a draw takes too long; the worker was ended."""


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
    """Do something else with the problem; answered by `Done` or `Failed`."""

    job: Job


class RunTask(NamedTuple):
    """Do something that needs no problem; answered by `Done` or `Failed`."""

    task: ReportingTask


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


class Reported(NamedTuple):
    """A task says how far it is."""

    status: str


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
    """Ask the near side what comes after the first; it has only one walk."""

    first: int | None
    ask: Callable[[Any], Any]
    begun: bool = False

    def walk(self) -> Walk:
        return self._next

    def _next(self, state: State) -> int | None:
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
        self._reported = -inf

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
                return  # the other end is closed
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
            case RunTask(task):
                return task(self._report)
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

    def _report(self, status: str) -> None:
        now = time.monotonic()
        if now - self._reported >= SECONDS_BETWEEN_REPORTS:
            self._reported = now
            self._ask(Reported(status))

    def _ask(self, question: Any) -> Any:
        self._say(question)
        return self._hear()


def _portable(error: BaseException) -> BaseException:
    """Return an error that can be sent: mistakes of the user as they are, others as text."""
    if isinstance(error, CapscopeError):
        return type(error)(str(error))
    return RuntimeError("".join(traceback.format_exception(error)))


SECONDS_BETWEEN_REPORTS = 0.5
SECONDS_TO_START = 300.0
"""Loading a problem may import large libraries, on a machine that is busy."""
SECONDS_TO_ANSWER = 2.0
"""After the time for a draw is over; a worker interrupts the draw by itself, if it can."""


class Link(Protocol):
    """A connection to a worker; whatever cuts it raises `WorkerLost`."""

    def send(self, message: Any) -> None:
        """Send a message."""

    def receive(self, seconds: float) -> Any:
        """Return the next message; raise `TimeoutError` if it takes longer."""

    def stop(self) -> None:
        """Tell the worker, while it makes a draw, that the answer is no longer needed."""

    def close(self) -> None:
        """End the worker at once."""


class RemoteWorker:
    """A worker at the other end of a link."""

    def __init__(
        self, link: Link, problem: Problem, make: MakeProblem, draw_timeout: float | None
    ) -> None:
        self._link = link
        self._expected = make_known(make, problem)
        self._draw_timeout = draw_timeout
        self._known_intents = 0
        link.send(LoadProblem(make))

    def wait_until_ready(self) -> None:
        """Wait until the problem is loaded; raise if it is not the same problem there."""
        try:
            found = _result(self._link.receive(SECONDS_TO_START))
        except TimeoutError:
            self.close()
            raise WorkerLost(f"a worker did not start within {SECONDS_TO_START:g} s") from None
        for what, expected in self._expected.items():
            if found[what] != expected:
                self.close()
                raise RunError(
                    f"a worker has another {what} than this process ({found[what] or 'none'}, not "
                    f"{expected or 'none'}); install the same version of capscope and of the "
                    "problem everywhere"
                )

    def draw(self, order: DrawOrder, intents: Sequence[Intent], common: Allowance) -> Answer:
        """Make one draw, paid from `common`."""
        begun = time.monotonic()
        deadline = inf if self._draw_timeout is None else begun + self._draw_timeout
        left = order.budget.seconds
        out_of_time = inf if left is None else begun + left + SECONDS_TO_ANSWER
        cost = 0.0
        new = tuple(intents[self._known_intents :])
        self._known_intents = len(intents)
        policy = order.task.policy
        walk, first, sent = None, None, order
        if not isinstance(policy, SequencePolicy):
            # It may look at the graph, which stays here.
            walk = policy.walk()
            first = walk(order.task.start.state)
            sent = replace(order, task=Task(order.task.start, None))  # type: ignore[arg-type]
        try:
            self._link.send(MakeDraw(sent, new, first))
            while True:
                match self._link.receive(min(deadline, out_of_time) - time.monotonic()):
                    case NextCapability(state):
                        assert walk is not None, "it was not sent"
                        self._link.send(walk(state))
                    case MayCall(currency):
                        self._link.send(_refusal(common, currency))
                    case Paid(tokens, price):
                        common.pay(tokens, price)
                        cost += price
                        self._link.send(None)
                    case Failed(error):
                        break
                    case Done(answer):
                        assert isinstance(answer, Answer), "a draw was asked for"
                        return answer
        except TimeoutError:
            self.close()
            if out_of_time <= deadline:
                seconds = time.monotonic() - begun
                return Answer(Draw((), 0, 0, seconds, cut=True, llm_cost=cost), {})
            raise DrawTimedOut(f"{order} took longer than {self._draw_timeout:g} s") from None
        except BaseException:
            self.close()  # in the middle of a conversation it cannot be used again
            raise
        raise error

    def run(self, job: Job) -> Any:
        """Do something else with the problem."""
        try:
            self._link.send(RunJob(job))
            message = self._link.receive(self._draw_timeout or inf)
        except TimeoutError:
            self.close()
            raise DrawTimedOut(f"a worker took longer than {self._draw_timeout:g} s") from None
        except BaseException:
            self.close()
            raise
        return _result(message)

    def stop(self) -> None:
        """Let the draw under way end after its current attempt."""
        self._link.stop()

    def close(self) -> None:
        """End the worker at once."""
        self._link.close()


def run_task(link: Link, task: ReportingTask, report: Callable[[str], None]) -> Any:
    """Have a task done at the other end of a link.

    Args:
        link: A link to a worker that has nothing else to do.
        task: What is to be done; it is pickled, and so is its result.
        report: Called with each status that the task reports.

    Returns:
        The result of the task; what it raises is raised here.
    """
    link.send(RunTask(task))
    while isinstance(message := link.receive(inf), Reported):
        report(message.status)
        link.send(None)
    return _result(message)


def _result(message: Any) -> Any:
    if isinstance(message, Failed):
        raise message.error
    assert isinstance(message, Done), "nothing is asked back"
    return message.result


def _refusal(common: Allowance, currency: str) -> str | None:
    """Return why a call must not be made; None if it may."""
    try:
        if currency == "tokens":
            common.check_tokens()
        else:
            common.check_cost()
    except AllowanceSpent as spent:
        return str(spent)
    return None
