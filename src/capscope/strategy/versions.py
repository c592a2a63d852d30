"""Does a new agent behave as an audited one did? The evidence, whatever chose the executions.

The baseline's executions are the null hypothesis: under it, the new agent draws from the same
outcomes in the same states. `questions` has the questions about each form of request. How often the
new agent does what the baseline's *model* held impossible is bet on as in an audit: that is what
"unchanged to within x %" means.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from capscope.journal.execution_table import Transition
from capscope.journal.experience import Experience
from capscope.logic import ExactlyOne, ExpectedEffects, State
from capscope.logic.footprint import RequestForm
from capscope.model import LearnedModel, StateGraph
from capscope.stats.audit import log_wealth, upper_bound
from capscope.stats.betting import evidence_of_change
from capscope.strategy.questions import Aim, EventEvidence, FormEvidence, Happening

ERROR_UNCHANGED, ERROR_IMPOSSIBLE, ERROR_CONDITIONS = 0.02, 0.0075, 0.005
"""How often "unchanged" is false, that something impossible happens more often, and the condition
of a difference; with the error rates of `questions` 5 %."""


class Versions:
    """The baseline, and what the new agent has shown so far."""

    def __init__(
        self, experience: Experience, known: Iterable[State], expected: Sequence[str] = ()
    ) -> None:
        """Begin with the executions of the baseline.

        Args:
            experience: What the baseline observed.
            known: The states that executions of the new agent can start from.
            expected: What belongs to requests, as in the settings.
        """
        self.experience, words = experience, experience.vocabulary
        self._foreseen: dict[Transition, bool] = {}
        self.known = set(known)
        """The states that executions of the new agent can start from."""
        both = (*experience.audited, *experience.learned)
        states = {state for before, _, after in both for state in (before, after)}
        self.groups = ExactlyOne.seen_in(states, words, ExpectedEffects(expected, words))
        requests = [RequestForm(intent, self.groups, words) for intent in experience.intents]
        self._form_of = [request.text for request in requests]
        forms: dict[str, dict[int, RequestForm]] = {}
        mine: dict[str, dict[Transition, tuple[int, int]]] = {}
        for number, request in enumerate(requests):
            forms.setdefault(request.text, {})[number] = request
        for one in dict.fromkeys(both):
            own = mine.setdefault(self._form_of[one[1]], {})
            own[Transition(*one)] = experience.learned[one], experience.audited[one]
        self.forms = {
            text: FormEvidence(forms[text], own, words, 1 / len(mine), self._foresees)
            for text, own in mine.items()
        }
        self.shown: dict[tuple[str, Happening], EventEvidence] = {}
        """The differences, each as it was when it had the most evidence."""
        self.impossible_shown = False
        """Whether what was held impossible surely happens more often than in the audit."""
        self.executions = self.use = self.impossible = 0
        """The executions of the new agent; those as in use; those of them that the baseline's model
        held impossible."""

    @cached_property
    def model(self) -> LearnedModel:
        """The model of the baseline, as it was audited."""
        source = self.experience
        lessons = None
        if source.earlier is not None:
            lessons = LearnedModel.of_experience(source.earlier).lessons_for(source.vocabulary)
        graph = StateGraph(source.vocabulary, source.intents)
        for state in source.beginnings:
            graph.node(state)
        graph.update({Transition(*one): times for one, times in source.learned.items()})
        return LearnedModel.fitted(graph, source.seed, lessons)

    def _foresees(self, transition: Transition) -> bool:
        if transition not in self._foreseen:
            self._foreseen[transition] = self.model.foresees(*transition)
        return self._foreseen[transition]

    @cached_property
    def audited(self) -> tuple[int, int]:
        """The surprises in the audit of the baseline, and its executions."""
        missed = (
            n for one, n in self.experience.audited.items() if not self._foresees(Transition(*one))
        )
        return sum(missed), self.experience.audited.total()

    @property
    def bound(self) -> float:
        """What the audit of the baseline bounds the rate of surprises to."""
        surprises, executions = self.audited
        return upper_bound(executions, surprises, ERROR_UNCHANGED) if executions else 1.0

    def add(self, transitions: Mapping[Transition, int], aim: Aim | None) -> None:
        """Take in executions of the new agent, as in use or aimed at a question."""
        if aim is not None and aim.number:
            self.forms[aim.form].may_repeat(self.known)
        for transition, times in transitions.items():
            self.known.update((transition.before, transition.after))
            self.executions += times
            if aim is None:
                self.use += times
                self.impossible += times * (not self._foresees(transition))
            form = self.forms.get(self._form_of[transition.capability])
            if form is not None:
                for _ in range(times):
                    form.add(transition, aim)
        self.impossible_shown |= self._does_impossible()
        for text in self.forms_of(transitions):
            form = self.forms[text]
            told = (form.in_use(event) for event in form.events)
            for change in told if aim is None or not aim.number else [form.trial(aim)]:
                if change is not None and change.score >= 0:
                    known = self.shown.get((text, change.event))
                    if known is None or change.score > known.score:
                        self.shown[text, change.event] = change

    def forms_of(self, transitions: Iterable[Transition]) -> list[str]:
        """Return the forms of the requests of some executions that the baseline made, too."""
        texts = dict.fromkeys(self._form_of[one.capability] for one in transitions)
        return [text for text in texts if text in self.forms]

    def unchanged_to(self) -> float:
        """Return the bound on how often the new agent does what was held impossible."""
        return upper_bound(self.use, self.impossible, ERROR_UNCHANGED)

    def is_unchanged(self, within: float) -> bool:
        """Return whether that is bounded by a rate."""
        return log_wealth(self.use, self.impossible, within) >= -math.log(ERROR_UNCHANGED)

    def more_needed(self, within: float) -> int | None:
        """Return how many more executions in use would bound it; None if none would."""
        rate = self.impossible / self.use if self.use else 0.0
        for factor in range(1, 41):
            number = math.ceil(max(self.use, 50) * (1 + factor / 4))
            if log_wealth(number, round(rate * number), within) >= -math.log(ERROR_UNCHANGED):
                return number - self.use
        return None

    def _does_impossible(self) -> bool:
        surprises, executions = self.audited
        hits, draws, others, all_others = (
            np.array([n]) for n in (surprises, executions, self.impossible, self.use)
        )
        score = evidence_of_change((hits, draws, others, all_others))[0]
        return bool(
            executions
            and score >= -math.log(ERROR_IMPOSSIBLE)
            and self.impossible * executions > surprises * self.use
        )
