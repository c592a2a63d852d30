"""Compare a new agent with a baseline: executions as in use, then aimed at what may differ.

At first, pairs that the baseline executed are screened, a form of request after the other, between
executions as in use: as the audit of the baseline drew its own, after resets. As soon as an event
seems to have become more or less frequent, most executions are for trials about it, under the
condition that promises to show it soonest. `questions` has the evidence.

The run ends when the new agent is shown to be unchanged to within a rate, or when a difference is
shown and nothing else is suspected.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from capscope.errors import RunError
from capscope.journal.draws import QueryRecord
from capscope.journal.run_meta import StopKind, StopReason
from capscope.logic import State
from capscope.seeds import child_seed
from capscope.stats.audit import step_weights
from capscope.strategy.base import (
    BegunQuery,
    QueryChoice,
    QueryResult,
    SequencePolicy,
    StrategyContext,
    Task,
    batch_query,
)
from capscope.strategy.questions import SCREENED, Aim, FormEvidence, Happening
from capscope.strategy.versions import Versions

_QUERY, _SEQUENCE, _RESET = -7, -8, -9  # children of the run's seed
_SUSPECTED = -0.5
"""A suspicion of this log score leads to a trial."""
_MOST_AIMED = 90
"""Executions of trials about one event that do not show it, after which it is dropped."""
_PLAN_TURNS = 3
"""After as many executions, the trial that promises most is chosen again."""
_CONFIRMED = 24
"""Executions of a trial that are made even if it has shown the event, to learn its condition."""
_USE_TURN = 4
"""While an event is suspected, every fourth query is as in use."""
_SCREEN_TURNS, _MOST_SCREENED = 6, 100
"""At first, while nothing is suspected, all but every sixth query screen, up to a number."""
_OPEN = 0.8
"""How often a screened request does not hold yet."""
_SETTLED, _NAMED = 100, 200
_LEAST_USE = 60
"""Executions after the first difference that are spent on others at most, and if it is only known
that some request does what was held impossible."""

CHANGED, UNCHANGED = "the agent changed", "the agent is unchanged"


class ComparisonStrategy:
    """Show that a new agent differs from a baseline, or that it does not."""

    audit = None
    audited = None

    def __init__(self, context: StrategyContext) -> None:
        if context.experience is None:
            raise RunError("a comparison needs a baseline: capscope compare NEW --against DIR")
        self._context = context
        self.longest_draw = max(context.settings.use_length, 1)
        self.versions = Versions(
            context.experience,
            {*context.carried, *(start.state for start in context.positions.initial)},
            context.settings.expected,
        )
        self._number = 0
        self._last: Aim | None = None
        self._trial: Aim | None = None
        self._trials: list[Aim] = []
        self._screens = 0
        self._aimed: Counter[tuple[str, Happening]] = Counter()
        self._suspected: dict[str, list[tuple[float, Happening]]] = {}
        self._first_shown: int | None = None

    def _open(self) -> list[tuple[str, Happening]]:
        """Return the events that are suspected or to be learned more about, likely ones first."""
        every = [(score, form, e) for form, own in self._suspected.items() for score, e in own]
        open_ones = []
        for _, form, event in sorted(every, key=lambda one: -one[0]):
            sure = (form, event) in self.versions.shown
            if self._aimed[form, event] < (_CONFIRMED if sure else _MOST_AIMED):
                open_ones.append((form, event))
        return open_ones

    def _choose_trial(self) -> None:
        """Choose the trial that promises most, of those begun and a new one."""
        self._trial = None
        for text, event in self._open():
            form = self.versions.forms[text]
            form.may_repeat(self.versions.known)
            options = [one for one in self._trials if (one.form, one.event) == (text, event)]
            when = form.condition(event)
            if all(one.when != when for one in options):
                options.append(Aim(text, event, when, len(self._trials) + 1))
            best = max(options, key=form.promise)
            if form.places(best)[0]:
                self._trial = best
                if best not in self._trials:
                    self._trials.append(best)
                return

    def _aim(self, number: int) -> Aim | None:
        """Return the trial that a query is for; None: as in use."""
        if self._trial is not None:
            return self._trial if number % _USE_TURN else None
        return SCREENED if number % _SCREEN_TURNS and self._screens < _MOST_SCREENED else None

    def _wanted(self, number: int, aim: Aim) -> list[tuple[State, SequencePolicy]]:
        rng = np.random.default_rng(child_seed(self._context.seed, number, _QUERY))
        size = self._context.settings.batch_size
        if not aim.number:
            return [self._screened(rng) for _ in range(size)]
        rows, weights = self.versions.forms[aim.form].places(aim)
        drawn = rng.choice(len(rows), size=size, p=weights / weights.sum()).tolist()
        return [(rows[i].before, SequencePolicy((rows[i].capability,))) for i in drawn]

    def _screened(self, rng: np.random.Generator) -> tuple[State, SequencePolicy]:
        """Draw a pair that the baseline executed; the forms of requests take turns."""
        forms = list(self.versions.forms.values())
        for turn in range(len(forms)):
            form = forms[(self._screens + turn) % len(forms)]
            pairs = [pair for pair in form.pairs() if pair[0] in self.versions.known]
            waiting = [pair for pair in pairs if not form.requests[pair[1]].holds(pair[0])]
            among = waiting if waiting and rng.random() < _OPEN else pairs
            if among:
                state, capability = among[int(rng.integers(len(among)))]
                return state, SequencePolicy((capability,))
        return min(self.versions.known), SequencePolicy((0,))

    def next(self, number: int, begun: BegunQuery | None = None) -> QueryChoice:
        """Choose the draws of the next query."""
        context = self._context
        rng = random.Random(child_seed(context.seed, number, _SEQUENCE))
        aim = self._aim(number)
        if aim is not None:
            return batch_query(context, number, self._wanted(number, aim), 1.0, begun, rng)
        most, size = self.longest_draw, context.settings.batch_size
        requests = len(self.versions.experience.intents)
        policies = [
            SequencePolicy(tuple(rng.randrange(requests) for _ in range(length)))
            for length in rng.choices(range(1, most + 1), step_weights(most), k=size)
        ]
        if begun is not None:
            starts, record = list(begun.starts_of(size)), begun.record
        else:
            seeds = (child_seed(context.seed, number, _RESET, draw) for draw in range(size))
            starts = [context.positions.reset(seed) for seed in seeds]
            record = QueryRecord(starts[0], 0, 0.0, 0.0, informative=False)
        return QueryChoice(record, [Task(*one) for one in zip(starts, policies, strict=True)])

    def observe(self, result: QueryResult) -> None:
        """Take in the answers to a query."""
        number, self._number = self._number, self._number + 1
        aim = self._last = self._aim(number) if result.informative else None
        if aim == SCREENED:
            self._screens += sum(result.transitions.values())
        elif aim is not None:
            self._aimed[aim.form, aim.event] += sum(result.transitions.values())
        self.versions.add(result.transitions, aim)
        for text in self.versions.forms_of(result.transitions):
            self._suspect(self.versions.forms[text])
        if aim is None or not self._aimed[aim.form, aim.event] % _PLAN_TURNS:
            self._choose_trial()
        versions = self.versions
        if self._first_shown is None and (versions.shown or versions.impossible_shown):
            self._first_shown = versions.executions

    def _suspect(self, form: FormEvidence) -> None:
        """Look for what may differ in a form of request."""
        scores = {event: form.suspicion(event) for event in form.events}
        likely = [form.overall(event) for event, score in scores.items() if score >= _SUSPECTED]
        shown = [one for (text, _), one in self.versions.shown.items() if text == form.text]
        every = {one.event: one for one in (*likely, *shown)}
        kept = [one.event for one in form.distinct(every.values())]
        self._suspected[form.text] = [(scores[event], event) for event in kept]

    def finished(self) -> StopReason | None:
        """Stop when the comparison is decided."""
        versions = self.versions
        if self._first_shown is None:
            done = versions.is_unchanged(self._context.settings.within)
            return StopReason(StopKind.OTHER, UNCHANGED) if done else None
        most = _NAMED if not versions.shown else _SETTLED
        if versions.executions >= self._first_shown + most or (
            versions.shown and versions.use >= _LEAST_USE and self._trial is None
        ):
            return StopReason(StopKind.OTHER, CHANGED)
        return None

    def describe(self, choice: QueryChoice) -> dict[str, Any]:
        """Describe what each draw asks for, and the question that it was aimed at."""
        draws = [
            {"state": hex(task.start.state), **task.policy.describe()} for task in choice.tasks
        ]
        aim = self._last
        told = None if aim is None else [aim.form, aim.event.name, list(aim.when), aim.number]
        return {"kind": "draws", "draws": draws, "aim": told}

    def status(self, record: QueryRecord) -> Mapping[str, str]:
        """Return how far the comparison is."""
        versions = self.versions
        return {
            "compared": f"{versions.use} executions as in use, {versions.impossible} impossible "
            f"for the baseline; {len(versions.shown)} differences"
        }
