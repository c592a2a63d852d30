"""The near side of a worker in another process: hand over draws, and answer its questions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any, Protocol

from capscope.assessment.ask import Answer, DrawOrder
from capscope.assessment.workers.contract import DrawTimedOut, Job, MakeProblem, WorkerLost
from capscope.assessment.workers.service import (
    Done,
    Failed,
    LoadProblem,
    MakeDraw,
    MayCall,
    NextCapability,
    Paid,
    RunJob,
    make_known,
)
from capscope.errors import RunError
from capscope.journal.draws import Draw
from capscope.logic import Intent
from capscope.problem import Allowance, Problem
from capscope.problem.allowance import AllowanceSpent
from capscope.strategy.base import SequencePolicy, Task

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
            first = walk.next(order.task.start.state)
            sent = replace(order, task=Task(order.task.start, None))  # type: ignore[arg-type]
        try:
            self._link.send(MakeDraw(sent, new, first))
            while True:
                match self._link.receive(min(deadline, out_of_time) - time.monotonic()):
                    case NextCapability(state):
                        assert walk is not None, "it was not sent"
                        self._link.send(walk.next(state))
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
