"""Replays: for each new kind of change beyond a request, whether the request needed it.

A kind is the form of the request, the form of the change, and whether the request holds at the end.
Up to three different executions of a kind are examined, after the draws of their query were
recorded, in the order of the draws: so nothing depends on the workers, and a run that is resumed
makes exactly the replays that are missing. One that a budget cuts short is not recorded; like a
draw, it is made again if there is more to spend.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from math import inf

from capscope.assessment.ask import Query
from capscope.assessment.run_state import RunSpec
from capscope.assessment.time_limit import OutOfTime, interrupted_at
from capscope.journal.draws import Draw, Execution
from capscope.journal.execution_table import ExecutionTable, Transition
from capscope.journal.journal import Journal, Place
from capscope.logic import Effect, ExactlyOne, Intent, Literal
from capscope.logic.request_form import RequestForm
from capscope.problem import Ending
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
Kind = tuple[str, Literal, bool]


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
        self._examined: Counter[Kind] = Counter()
        self._known: set[Transition] = set()

    def recall(self, past: ExecutionTable) -> None:
        """Take in the finished queries of a table."""
        if not self._spec.settings.replays:
            return
        self._known.update(past.transitions())
        recorded = self._journal.replays()
        places = {(q, d) for (q, d, _), _ in recorded}
        made = dict(self._journal.executions_at(places)) if places else {}
        for (q, d, number), literal in recorded:
            if q < len(past.queries):
                for kind, (own, _) in self._kinds(_transition(made[q, d][number])).items():
                    self._examined[kind] += own == literal

    def examine(self, query: Query, draws: Sequence[Draw], steps_left: float) -> tuple[int, bool]:
        """Replay what is new in the draws of a query.

        Args:
            query: The query.
            draws: Its draws, which are recorded.
            steps_left: What is left of the run's budget of simulator steps.

        Returns:
            The simulator steps that it took, and whether nothing is missing.
        """
        steps = 0
        if not self._spec.settings.replays:
            return steps, True
        recorded = self._journal.replays(query.number) if self._anything_new(draws) else {}
        for index, draw in enumerate(draws):
            for number, execution in enumerate(draw.executions):
                for literal, change in self._new(execution):
                    place = (query.number, index, number)
                    decided = recorded.get((place, literal))
                    if decided is None:
                        try:
                            limit = StepLimit(self._spec.settings.replays, steps_left - steps)
                            decided = self._decided(query, place, draw, change, limit)
                        except StepsSpent:
                            return steps, False
                        self._journal.add_replay(place, literal, decided)
                    steps += decided.steps
        return steps, True

    def _anything_new(self, draws: Sequence[Draw]) -> bool:
        made = (_transition(one) for draw in draws for one in draw.executions)
        return not self._known.issuperset(made)

    def _new(self, execution: Execution) -> Iterator[tuple[tuple[int, bool], Change]]:
        """Yield the changes of an execution that are to be examined."""
        transition = _transition(execution)
        if execution.attempt.ending is Ending.CUT or transition in self._known:
            return
        self._known.add(transition)
        form = self._form(transition.capability)
        named = self._intents[transition.capability].objects
        # What follows from the ending alone need not be shown more than once.
        most = 1 if ended_on_the_way(execution.attempt, form.holds) else _EACH
        for kind, (literal, every) in self._kinds(transition).items():
            if self._examined[kind] < most:
                self._examined[kind] += 1
                yield literal, Change(form.holds, named, every, form.own)

    def _kinds(self, transition: Transition) -> dict[Kind, tuple[tuple[int, bool], Effect]]:
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
        )
        try:
            return interrupted_at(
                self._spec.limit.asking_ends,
                lambda: decide(self._spec.problem, recorded, change, limit),
            )
        except OutOfTime:
            return Decision(Need.UNDECIDED, (), 0, "the time was over")


def steps_left(spec: RunSpec, spent: float) -> float:
    """Return what is left of a budget of simulator steps."""
    allowed = spec.budget.simulator_steps
    return inf if allowed is None else allowed - spent


def _transition(execution: Execution) -> Transition:
    trajectory = execution.attempt.trajectory
    return Transition(trajectory[0], execution.capability, trajectory[-1])
