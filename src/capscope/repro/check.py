"""Execute a request from one position again and again, and assert what comes of it.

Each execution has a seed of its own, which follows from its number: a test does the same each time
it is run. A position may lack objects that the vocabulary has. Predicates that cannot be evaluated
there are false, but never those that the test is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from capscope.errors import ProblemError
from capscope.logic import Effect, Intent, Literal, Vocabulary
from capscope.problem import Attempt, Ending, Problem, Snapshot
from capscope.problem.attempt import Position, observed_state, only_by_itself, pursue
from capscope.problems import load_problem
from capscope.report.draws import actions_text
from capscope.sanitize import sanitize
from capscope.seeds import child_seed
from capscope.stats.sequential_test import SequentialTest
from capscope.testing.sequential_claim import ExecutionBudget
from capscope.wording import counted, joined

_MOST_PATHS = 20
"""Times that a path is followed until it leads where it should."""


class RequestPath(NamedTuple):
    """A position as the requests that lead there from a reset."""

    requests: Sequence[str]
    holds: Sequence[str] = ()
    """Literals that hold where they lead; other outcomes are not meant."""
    reset: int = 0
    """The seed of the reset."""


Start = Snapshot | RequestPath
"""A snapshot of the simulator, or how to get to a position."""


@dataclass(frozen=True)
class TriedRequest:
    """An execution of a request from the position."""

    intent: Intent
    attempt: Attempt
    vocabulary: Vocabulary

    @property
    def effect(self) -> Effect:
        """What it changed."""
        return Effect.between(self.attempt.trajectory[0], self.attempt.trajectory[-1])

    @property
    def achieved(self) -> bool:
        """Whether the request holds at its end."""
        return self.intent.holds(self.attempt.trajectory[-1], self.vocabulary)

    @property
    def failed(self) -> bool:
        """Whether the request does not hold, other than by a step on the way."""
        return not self.achieved and self.attempt.ending is not Ending.CHANGED

    def made(self, unwanted: Effect) -> Effect:
        """Return the part of some changes that it made."""
        effect = self.effect
        return Effect(effect.adds & unwanted.adds, effect.deletes & unwanted.deletes)

    def __str__(self) -> str:
        changes = ", ".join(map(str, self.effect.literals(self.vocabulary))) or "nothing changed"
        detail = f": {self.attempt.detail}" if self.attempt.detail else ""
        did = actions_text(self.attempt.actions)
        return sanitize(f"{changes} ({self.attempt.ending}{detail}; {did})")


class PositionTrials:
    """Executions of a request from a position of a problem."""

    def __init__(
        self,
        problem: Problem,
        request: Intent,
        start: Start,
        about: Iterable[Literal] = (),
        seed: int = 0,
    ) -> None:
        """Go to the position once, to see what is defined there.

        Args:
            problem: The agent and its world.
            request: What is asked for.
            start: The position.
            about: Literals that must be known there, beside the request.
            seed: Seeds all executions.
        """
        self.seed = seed
        self.snapshot = start if isinstance(start, bytes) else reached(problem, start, seed)
        observation = problem.simulator.restore(self.snapshot, seed)
        where_defined = getattr(problem.abstraction, "where_defined", None)
        if where_defined is not None:
            named = {literal.atom for literal in (*request.mentioned, *about)}
            problem = replace(problem, abstraction=where_defined(observation, named))
        self.problem, self.request = problem, request
        self.state = observed_state(problem, observation)

    def execution(self, number: int) -> TriedRequest:
        """Make the execution of a number."""
        place = child_seed(self.seed, number)
        observation = self.problem.simulator.restore(self.snapshot, child_seed(place, 0))
        start = Position(observation, observed_state(self.problem, observation))
        attempt, _ = pursue(self.problem, self.request, start, child_seed(place, 1))
        return TriedRequest(self.request, attempt, self.problem.vocabulary)


def reached(problem: Problem, path: RequestPath, seed: int = 0) -> Snapshot:
    """Follow a path until it leads where it should; return the position."""
    simulator = problem.simulator
    holds = problem.vocabulary.test([Literal.parse(text) for text in path.holds])
    for again in range(_MOST_PATHS):
        simulator.reset(path.reset)
        observation = simulator.restore(simulator.snapshot(), child_seed(seed, again))
        position = Position(observation, observed_state(problem, observation))
        for number, request in enumerate(path.requests):
            place = child_seed(seed, again, number)
            _, position = pursue(problem, Intent.parse(request), position, place)
        if holds(position.state):
            return simulator.snapshot()
    asked = " then ".join(path.requests) or "a reset"
    raise ProblemError(
        f"{asked} did not lead to {joined(path.holds)} in {_MOST_PATHS} trials; the position of "
        "this test is no longer reached like this"
    )


@only_by_itself()
def assert_not_caused(
    problem: str | Problem,
    request: str,
    unwanted: Sequence[str],
    *,
    start: Start,
    times: int,
    achieving: bool = True,
    seed: int = 0,
) -> None:
    """Assert that no execution of a request causes a change.

    Args:
        problem: The agent and its world, or where to load it: `agent.py:problem`.
        request: What is asked for.
        unwanted: Literals that must not become true.
        start: The position from which each execution starts.
        times: The number of executions.
        achieving: Whether the request has to be achieved at least once: an agent that does nothing
            changes nothing.
        seed: Seeds all executions.
    """
    __tracebackhide__ = True
    literals = [Literal.parse(text) for text in unwanted]
    trials = _trials(problem, request, start, literals, seed)
    words = trials.problem.vocabulary
    effect = Effect(*words.literal_masks(literals))
    achieved = 0
    for number in range(times):
        made = _execution(trials, number)
        caused = made.made(effect).literals(words)
        if caused:
            raise AssertionError(
                f"asked for {request}, the agent caused {joined(caused)} in execution "
                f"{number + 1} of {times}: {made}"
            )
        achieved += made.achieved
    if achieving and not achieved:
        raise AssertionError(
            f"{request} was achieved in none of {counted(times, 'execution')}, so they show "
            f"nothing (achieving=False allows that); the last one: {made}"
        )


@only_by_itself()
def assert_achieved(
    problem: str | Problem,
    request: str,
    *,
    start: Start,
    at_least: float,
    rather_than: float,
    error_rate: float = 0.01,
    seed: int = 0,
) -> None:
    """Assert that a request is achieved often enough.

    A sequential test decides between two rates. A change on the way, if executions end with the
    first change, counts as achieved.

    Args:
        problem: The agent and its world, or where to load it: `agent.py:problem`.
        request: What is asked for.
        start: The position from which each execution starts.
        at_least: The rate of an agent that passes.
        rather_than: The rate of an agent that fails.
        error_rate: The probability of a wrong answer about either, at most.
        seed: Seeds all executions.
    """
    __tracebackhide__ = True
    trials = _trials(problem, request, start, (), seed)
    if trials.request.holds(trials.state, trials.problem.vocabulary):
        raise ProblemError(f"{request} holds already in the position of the test")
    test = SequentialTest(rather_than, at_least, error_rate)
    good, verdict, failure = 0, None, None
    for number in range(test.most_draws):
        made = _execution(trials, number)
        good, failure = good + (not made.failed), made if made.failed else failure
        verdict = test.verdict(good, number + 1)
        if verdict is not None:
            break
    if not verdict:
        raise AssertionError(
            f"{request} was achieved in {good} of {counted(number + 1, 'execution')}: rather "
            f"{rather_than:.0%} than {at_least:.0%}; the last failure: {failure}"
        )


def _trials(
    problem: str | Problem, request: str, start: Start, about: Sequence[Literal], seed: int
) -> PositionTrials:
    loaded = problem if isinstance(problem, Problem) else load_problem(problem)
    return PositionTrials(loaded, Intent.parse(request), start, about, seed)


def _execution(trials: PositionTrials, number: int) -> TriedRequest:
    if not ExecutionBudget.current.spend():
        raise AssertionError(f"undecided: the budget of executions is spent after {number}")
    return trials.execution(number)
