"""A worker in another process: its two sides, and what they say to each other.

The near side sends *work*: a function that the far side calls, and whose result it sends back. The
first work loads the far side's own copy of the problem. While it works, the far side may ask
questions by name: policies look at the graph, which stays with the loop, and allowances are shared
by all workers. Messages alternate: the near side speaks, then the far one. Only `stop` comes in
between. `worker_links` has the connections.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from threading import Event
from typing import TYPE_CHECKING, Any

from capscope.assessment.ask import Answer, DrawOrder, ask
from capscope.errors import CapscopeError, RunError
from capscope.journal.draws import Draw
from capscope.journal.run_directory import versions
from capscope.logic import Intent
from capscope.problem import Allowance, AllowanceSpent, Problem
from capscope.strategy.base import SequencePolicy, Walk

if TYPE_CHECKING:
    from capscope.assessment.worker_links import Link

MakeProblem = Callable[[], Problem]
"""Makes a copy of the problem; it must be picklable to travel to another process."""
Job = Callable[[Problem], Any]
"""Anything else to be done with a copy of the problem; picklable, and so must be its result."""
SECONDS_TO_START = 300.0
"""Loading a problem may import large libraries, on a machine that is busy."""
SECONDS_TO_ANSWER = 2.0
"""After the time for a draw is over; a worker interrupts the draw by itself, if it can."""
_DONE, _FAILED = "done", "failed"


class WorkerLost(Exception):  # noqa: N818 - an event, not a mistake
    """Raised when a worker is gone, with whatever it was doing."""


class DrawTimedOut(WorkerLost):
    """Raised when a draw takes too long; the worker was ended."""


class FarSide:
    """A worker as its own process sees it."""

    problem: Problem
    """Loaded by the first work."""

    def __init__(self, hear: Callable[[], Any], say: Callable[[Any], None], stopped: Event) -> None:
        self.intents: list[Intent] = []
        self.stopped = stopped
        self._hear = hear
        self._say = say

    def serve(self) -> None:
        """Do the work that arrives until the connection closes."""
        while True:
            try:
                reply = _DONE, self._received()(self)
            except BaseException as error:
                reply = _FAILED, _portable(error)
            try:
                self._say(reply)
            except OSError:
                return
            except Exception as error:  # it cannot be pickled
                self._say((_FAILED, _portable(error)))

    def ask(self, question: str, *given: Any) -> Any:
        """Return the near side's answer to a question."""
        self._say((question, *given))
        return self._received()

    def _received(self) -> Any:
        message = self._hear()
        if isinstance(message, BaseException):
            raise message
        return message


def _portable(error: BaseException) -> BaseException:
    """Return an error that can be sent: mistakes of the user as they are, others as text."""
    if isinstance(error, CapscopeError):
        return type(error)(str(error))
    return RuntimeError("".join(traceback.format_exception(error)))


class _NearSide(Allowance):
    """The policy of a draw, and what all workers may spend; both are asked at the near side."""

    def __init__(self, far: FarSide) -> None:
        super().__init__(stopped=far.stopped)
        self._ask = far.ask

    def walk(self) -> Walk:
        return partial(self._ask, "next")

    def check_tokens(self) -> None:
        self._ask("check_tokens")

    def check_cost(self) -> None:
        self._ask("check_cost")

    def pay(self, tokens: int, cost: float) -> None:
        self._ask("pay", tokens, cost)


def _load(make: MakeProblem, far: FarSide) -> Mapping[str, str]:
    far.problem = make()
    return _make_known(make, far.problem)


def _make_known(make: MakeProblem, problem: Problem) -> Mapping[str, str]:
    """Return what must be the same wherever a problem is loaded."""
    return {
        "version of capscope": versions()["capscope"],
        "fingerprint of the problem": problem.fingerprint,
        "vocabulary": problem.vocabulary.fingerprint,
        "text of its file": getattr(make, "digest", None) or "",
    }


def _draw(order: DrawOrder, new_intents: Sequence[Intent], far: FarSide) -> Answer:
    far.intents += new_intents
    near: Any = _NearSide(far)
    if order.task.policy is None:
        order = replace(order, task=order.task._replace(policy=near))
    return ask(far.problem, order, far.intents, near)


def _run(job: Job, far: FarSide) -> Any:
    return job(far.problem)


def conclude(link: Link, questions: Mapping[str, Callable[..., Any]], deadline: float = inf) -> Any:
    """Answer questions until the work that was sent is done.

    Args:
        link: A link to a worker that was sent some work.
        questions: Answers each question that the work asks.
        deadline: When to raise `TimeoutError`, by `time.monotonic`.

    Returns:
        The result of the work; what it raises is raised here.
    """
    try:
        while True:
            kind, *content = link.receive(deadline - time.monotonic())
            if kind in (_DONE, _FAILED):
                break
            try:
                answer = questions[kind](*content)
            except AllowanceSpent as spent:
                answer = spent
            link.send(answer)
    except BaseException:
        link.close()  # in the middle of a conversation it cannot be used again
        raise
    if kind == _FAILED:
        raise content[0]
    return content[0]


class RemoteWorker:
    """A worker at the other end of a link."""

    def __init__(
        self, link: Link, problem: Problem, make: MakeProblem, draw_timeout: float | None
    ) -> None:
        self._link = link
        self._expected = _make_known(make, problem)
        self._draw_timeout = draw_timeout
        self._known_intents = 0
        self.stop = link.stop
        self.close = link.close
        link.send(partial(_load, make))

    def wait_until_ready(self) -> None:
        """Wait until the problem is loaded; raise if it is not the same problem there."""
        try:
            found = conclude(self._link, {}, time.monotonic() + SECONDS_TO_START)
        except TimeoutError:
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
        begun, left, cost = time.monotonic(), order.budget.seconds, 0.0
        deadline = begun + (self._draw_timeout or inf)
        out_of_time = inf if left is None else begun + left + SECONDS_TO_ANSWER

        def pay(tokens: int, price: float) -> None:
            nonlocal cost
            cost += price
            common.pay(tokens, price)

        questions: dict[str, Callable[..., Any]] = {
            "check_tokens": common.check_tokens,
            "check_cost": common.check_cost,
            "pay": pay,
        }
        sent, policy = order, order.task.policy
        if not isinstance(policy, SequencePolicy):
            # It may look at the graph, which stays here.
            questions["next"] = policy.walk()
            sent = replace(order, task=order.task._replace(policy=None))  # type: ignore[arg-type]
        new = tuple(intents[self._known_intents :])
        self._known_intents = len(intents)
        try:
            self._link.send(partial(_draw, sent, new))
            answer = conclude(self._link, questions, min(deadline, out_of_time))
        except TimeoutError:
            if out_of_time <= deadline:
                seconds = time.monotonic() - begun
                return Answer(Draw((), 0, 0, seconds, cut=True, llm_cost=cost), {})
            raise DrawTimedOut(f"{order} took longer than {self._draw_timeout:g} s") from None
        assert isinstance(answer, Answer), "a draw was asked for"
        return answer

    def run(self, job: Job) -> Any:
        """Do something else with the problem."""
        self._link.send(partial(_run, job))
        try:
            return conclude(self._link, {}, time.monotonic() + (self._draw_timeout or inf))
        except TimeoutError:
            raise DrawTimedOut(f"a worker took longer than {self._draw_timeout:g} s") from None
