"""Replays: for each new kind of change beyond a request, whether the request needed it.

A kind is the form of the request, the form of the change, and whether the request holds at the end.
Up to three different executions of a kind are examined, after the draws of their query were
recorded, in the order of the draws: so nothing depends on the workers, and a run that is resumed
makes exactly the replays that are missing. One that a budget cuts short is not recorded; like a
draw, it is made again if there is more to spend.

Replays take a number of simulator steps that grows with those of the executions so far. A long
execution waits until there is room, and longer if only objects that the request names changed. It
is passed over until then: the next execution like it, or a shorter one, takes its place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from math import inf
from typing import NamedTuple

from capscope.assessment.ask import Query
from capscope.assessment.run_state import RunSpec
from capscope.assessment.time_limit import OutOfTime, interrupted_at
from capscope.journal.draws import Draw, Execution
from capscope.journal.execution_table import ExecutionTable, Transition
from capscope.journal.journal import Journal, Place
from capscope.journal.run_meta import Usage
from capscope.logic import Effect, ExactlyOne, Intent, Literal, State
from capscope.logic.footprint import RequestForm
from capscope.problem import Ending, Snapshot
from capscope.problem.counterfactual import (
    Change,
    Decision,
    Need,
    Recorded,
    StepLimit,
    StepsSpent,
    decide,
    ended_on_the_way,
)
from capscope.seeds import child_seed

_EACH = 3
"""Executions examined of each kind."""
_MOST_PASSES = 15
"""A replay takes the steps of its execution about half as many times, up to this."""
_Kind = tuple[str, Literal, bool]


class _Candidate(NamedTuple):
    """A change that is to be examined."""

    kind: _Kind
    literal: tuple[int, bool]
    change: Change
    weight: int
    """Twice as much room is needed for objects that the request names, and none on the way."""


class Replays:
    """The replays of a run."""

    def __init__(self, spec: RunSpec, journal: Journal, intents: Sequence[Intent]) -> None:
        """Begin without any.

        Args:
            spec: What the run was started with.
            journal: Where executions are read and replays are recorded.
            intents: The capabilities, by index; more may follow.
        """
        self._spec, self._journal, self._intents = spec, journal, intents
        groups, words = ExactlyOne(expected=spec.expected), spec.problem.vocabulary
        self._form = cache(lambda capability: RequestForm(intents[capability], groups, words))
        self._examined: defaultdict[_Kind, set[Transition]] = defaultdict(set)
        self._settled: set[tuple[Transition, Ending]] = set()

    def recall(self, past: ExecutionTable) -> None:
        """Take in the finished queries of a table."""
        if not self._spec.settings.replays:
            return
        recorded = self._journal.replays()
        places = {(q, d) for (q, d, _), _ in recorded}
        made = dict(self._journal.executions_at(places)) if places else {}
        for (q, d, number), literal in recorded:
            if q < len(past.queries):
                transition = _transition(made[q, d][number])
                for kind, (own, _) in self._kinds(transition).items():
                    if own == literal:
                        self._examined[kind].add(transition)

    def examine(self, query: Query, draws: Sequence[Draw], before: Usage) -> tuple[int, bool]:
        """Replay what is new in the draws of a query.

        Args:
            query: The query.
            draws: Its draws, which are recorded.
            before: What the run had spent before them.

        Returns:
            The simulator steps that it took, and whether nothing is missing for want of a budget.
        """
        settings = self._spec.settings
        if not settings.replays:
            return 0, True
        budget = self._spec.budget.simulator_steps
        spent = sum((draw.usage for draw in draws), before).spent("simulator_steps")
        left = inf if budget is None else max(budget - spent, 0)
        steps, executed = 0, before.simulator_steps
        recorded = cache(lambda: self._journal.replays(query.number))
        for index, draw in enumerate(draws):
            executed += draw.simulator_steps
            room = settings.replays + settings.replay_ratio * executed - before.replay_steps
            for number, execution in enumerate(draw.executions):
                place = query.number, index, number
                for kind, literal, change, weight in self._due(execution):
                    decided = recorded().get((place, literal))
                    if decided is None:
                        if steps + weight * _expected(draw, number) > room:
                            continue
                        try:
                            limit = StepLimit(settings.replays, left - steps)
                            decided = self._decided(query, place, draw, change, limit)
                        except StepsSpent:  # it took what was left
                            return int(left), False
                        self._journal.add_replay(place, literal, decided)
                    self._examined[kind].add(_transition(execution))
                    steps += decided.steps
        return steps, True

    def _due(self, execution: Execution) -> Iterator[_Candidate]:
        """Yield the changes of an execution that are to be examined."""
        transition, ending = _transition(execution), execution.attempt.ending
        if ending is Ending.CUT or (transition, ending) in self._settled:
            return
        form = self._form(transition.capability)
        # What follows from the ending alone need not be shown more than once.
        on_the_way = ended_on_the_way(execution.attempt, form.holds)
        most, settled = 1 if on_the_way else _EACH, True
        for kind, (literal, every) in self._kinds(transition).items():
            examined = self._examined[kind]
            if len(examined) < most and transition not in examined:
                settled = False
                named = self._intents[transition.capability].objects
                weight = 0 if on_the_way else 1 + (form.own >> literal[0] & 1)
                change = Change(form.holds, named, every, form.own)
                yield _Candidate(kind, literal, change, weight)
        if settled:
            self._settled.add((transition, ending))

    def _kinds(self, transition: Transition) -> dict[_Kind, tuple[tuple[int, bool], Effect]]:
        """Return the first literal of each kind of change, and all changes of its form."""
        form = self._form(transition.capability)
        held = form.holds(transition.after)
        effect = Effect.between(transition.before, transition.after)
        found = {}
        for literal, own in form.beyond(effect).items():
            atoms = own.adds | own.deletes
            first = (atoms & -atoms).bit_length() - 1
            found[form.text, literal, held] = (first, literal.positive), form.changes(literal)
        return found

    def _decided(
        self, query: Query, place: Place, draw: Draw, change: Change, limit: StepLimit
    ) -> Decision:
        number, index, execution = place
        actions = self._journal.actions(number, index)[: execution + 1]
        attempt = draw.executions[execution].attempt
        own = actions[-1]
        before = [one for earlier in actions[:-1] for one in earlier or ()]
        if own is None or None in actions:
            return Decision(Need.UNDECIDED, (), 0, "its actions took too much room to be recorded")
        recorded = Recorded(
            query.tasks[index].start.position.snapshot,
            child_seed(query.seed, number, index),
            before,
            own,
            attempt.trajectory,
            attempt.ending,
            self._nearby(query, attempt.trajectory[0]) if len(before) > len(own) else None,
        )
        try:
            return interrupted_at(
                self._spec.limit.asking_ends,
                lambda: decide(self._spec.problem, recorded, change, limit),
            )
        except OutOfTime:
            return Decision(Need.UNDECIDED, (), 0, "the time was over")

    def _nearby(self, query: Query, state: State) -> Snapshot | None:
        """Return the first position in a state that a draw started from.

        Draws of the query count also if they are not made yet: they will be.
        """
        first = self._journal.first_start(state)
        starts = (task.start for task in query.tasks if task.start.state == state)
        found = first or next((start.position for start in starts), None)
        return found and found.snapshot


def _expected(draw: Draw, number: int) -> int:
    """Estimate the simulator steps that it takes to replay an execution of a draw."""
    *earlier, own = (one.attempt.simulator_steps for one in draw.executions[: number + 1])
    return sum(earlier) + own * min(3 + own // 2, _MOST_PASSES)


def _transition(execution: Execution) -> Transition:
    trajectory = execution.attempt.trajectory
    return Transition(trajectory[0], execution.capability, trajectory[-1])
