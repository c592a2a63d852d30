"""Learn one capability: flip literals to find its precondition, simulate to find its effects.

A precondition is a conjunction, so from a state in which the capability works each literal can be
decided independently: flip it and ask. If the capability still works, the hypotheses with the
literal are pruned, otherwise those without. After one query per atom a single conjunction is left.
That makes QACE cheap, and it is correct only if the truth is a conjunction: if p or q is needed and
both hold, neither flip stops the capability, and the empty conjunction is left.

So the result is checked in states that were supplied with the capability. Where the precondition
holds, it must work and show the effects of its list in their proportions; in states of its disjunct
where the precondition does not hold, it must not work. No other hypothesis is left, so a
contradiction means that the class does not contain the truth.

A disjunct is a conjunction over the states that were seen. Flips lead beyond them: remove what a
block stands on, and an agent that could use any place for it gives up. There the truth is
disjunctive again, and each start finds a conjunction narrower than the disjunct. Strict QACE fails
then. With `split`, the disjunct is compiled further: a supplied state in which the capability works
although no part covers it becomes the start of another part.

An agent does not say whether it executed a capability or declined. A capability *works* in a state
if at least one execution shows an effect of its list that changes something; an uncompiled one
works wherever anything changes, because all of that has to go into its one list. If the flipped
atom is all that would change, nothing can be observed. Then an irrelevant atom that the effect
touches is flipped with it. If there is none, both hypotheses predict the same, and the literal is
kept: the narrower precondition makes no claim where another part may apply.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import NamedTuple

from capscope.logic import Effect, State, Vocabulary
from capscope.seeds import child_seed
from capscope.stats.beta import beta_cdf
from capscope_experiments.baselines.qace.compilation import LearningTask
from capscope_experiments.baselines.qace.effects import EffectList
from capscope_experiments.baselines.qace.interview import Interview
from capscope_experiments.baselines.qace.model import Conjunction, ProbableEffect, QaceCapability
from capscope_experiments.baselines.qace.settings import QaceSettings


class LearningOutcome(StrEnum):
    """The outcome of learning one capability."""

    LEARNED = "learned"
    DISJUNCTIVE = "outside the class: disjunctive"
    DEPENDENT = "outside the class: effects depend on the state"
    SILENT = "does not work where it did before"
    UNFINISHED = "unfinished"


class LearningResult(NamedTuple):
    """What was learned, or why no model in the class explains the answers."""

    outcome: LearningOutcome
    parts: tuple[QaceCapability, ...] = ()
    """One, unless the disjunct was split."""
    reason: str = ""


class _Contradiction(Exception):  # noqa: N818 - not an error: it is a result
    def __init__(self, outcome: LearningOutcome, reason: str) -> None:
        super().__init__(reason)
        self.outcome = outcome


def learn_task(
    task: LearningTask, interview: Interview, supplied: Sequence[State], settings: QaceSettings
) -> LearningResult:
    """Learn one capability, and check it in some of the supplied states.

    Raises `BudgetSpent` if the budget does not suffice.
    """
    parts: list[QaceCapability] = []
    start: State | None = task.start
    try:
        while start is not None:
            learner = _Learner(replace(task, start=start), interview, settings)
            parts.append(learner.learn(supplied))
            start = learner.uncovered([part.precondition for part in parts], supplied)
            if start is not None and (task.whole or not settings.split):
                said = _sentence(parts[0].precondition, interview.problem.vocabulary)
                raise _Contradiction(
                    LearningOutcome.DISJUNCTIVE,
                    f"flipping literals shows that it works only {said}, but it does in {start:#x}",
                )
    except _Contradiction as found:
        return LearningResult(found.outcome, (), str(found))
    return LearningResult(LearningOutcome.LEARNED, tuple(parts))


class _Learner:
    def __init__(self, task: LearningTask, interview: Interview, settings: QaceSettings) -> None:
        self._task = task
        self._interview = interview
        self._settings = settings
        self._vocabulary = interview.problem.vocabulary
        self._list = EffectList(self._vocabulary.mask)

    def learn(self, supplied: Sequence[State]) -> QaceCapability:
        """Find precondition and effects, and check both where the precondition holds."""
        self._begin()
        precondition = self._find_precondition()
        self._check_precondition(precondition, supplied)
        effects = self._estimate(precondition)
        capability = QaceCapability(self._task.intent, precondition, effects)
        self._check_effects(capability)
        return capability

    def uncovered(
        self, preconditions: Sequence[Conjunction], supplied: Sequence[State]
    ) -> State | None:
        """Return a state of the disjunct in which it works though no precondition holds."""
        beyond = [
            state
            for state in supplied
            if self._task.within.holds(state) and not any(p.holds(state) for p in preconditions)
        ]
        for state in self._some(beyond, len(preconditions)):
            if self._works(state, self._settings.runs_per_flip):
                return state
        return None

    def _begin(self) -> None:
        """Simulate from the start."""
        start = self._task.start
        ends = self._interview.ask(start, self._settings.runs_per_effect)
        if all(end == start for end in ends):
            raise _Contradiction(
                LearningOutcome.SILENT, f"nothing changed in {ends.total()} runs from {start:#x}"
            )
        self._list.absorb(start, ends)

    def _find_precondition(self) -> Conjunction:
        """Flip each literal of the start and keep those without which it does not work."""
        flips = [1 << i for i in range(len(self._vocabulary.atoms))]
        found = {flip: self._still_works(flip) for flip in flips}
        # An effect that is invisible in the flipped state may be visible if an irrelevant atom is
        # flipped as well.
        irrelevant = [flip for flip in flips if found[flip]]
        for flip in flips:
            if found[flip] is None:
                answers = (self._still_works(flip | other) for other in irrelevant)
                found[flip] = next((a for a in answers if a is not None), None)
        care = sum(flip for flip in flips if not found[flip])
        return Conjunction(care, self._task.start & care)

    def _still_works(self, flips: int) -> bool | None:
        """Return whether it works with some atoms of the start flipped; learn from it if so."""
        state = self._task.start ^ flips
        works = self._works(state, self._settings.runs_per_flip)
        if works:
            self._list.absorb(state, self._interview.answers[state])
        return works

    def _works(self, state: State, least_runs: int) -> bool | None:
        """Return whether the capability works in a state; None if that cannot be observed."""
        hidden = self._probability_of_no_change(state)
        if hidden == 1.0 and not self._task.whole:
            return None
        needed = 1
        if 0.0 < hidden < 1.0:
            needed = math.ceil(math.log(self._settings.risk) / math.log(hidden))
        ends = [end for end in self._interview.ask(state, max(least_runs, needed)) if end != state]
        if any(self._task.whole or self._list.explains(state, end) for end in ends):
            return True
        return None if hidden == 1.0 else False

    def _probability_of_no_change(self, state: State) -> float:
        """Estimate how often an execution changes nothing if it works in the state."""
        start = self._task.start
        ends = self._interview.answers[start]
        visible = {e.apply(start) for e in self._list.effects if e.apply(state) != state}
        return 1 - sum(ends[end] for end in visible) / ends.total()

    def _check_precondition(self, precondition: Conjunction, supplied: Sequence[State]) -> None:
        """Check that it works in supplied states where the precondition holds."""
        for state in self._some([s for s in supplied if precondition.holds(s)], 0):
            if self._works(state, self._settings.runs_per_effect) is False:
                said = _sentence(precondition, self._vocabulary)
                raise _Contradiction(
                    LearningOutcome.DISJUNCTIVE,
                    f"flipping literals shows that it works {said}, but it does not in {state:#x}",
                )
            self._list.absorb(state, self._interview.answers.get(state, ()))

    def _some(self, states: Sequence[State], place: int) -> Sequence[State]:
        rng = random.Random(child_seed(self._interview.seed, self._task.start, place))
        return rng.sample(states, min(self._settings.checks, len(states)))

    def _estimate(self, precondition: Conjunction) -> tuple[ProbableEffect, ...]:
        """Return the effects with their relative frequencies, the most frequent first."""
        effects = tuple(dict.fromkeys(self._list.effects))
        counts = dict.fromkeys(effects, 0.0)
        start = self._task.start
        # Effects that lead to the same state cannot be distinguished there.
        informative = [s for s in self._asked(precondition) if _distinguishable(effects, s)] or [
            start
        ]
        for state in informative:
            for end, count in self._interview.answers[state].items():
                possible = [effect for effect in effects if effect.apply(state) == end]
                for effect in possible:
                    counts[effect] += count / len(possible)
        total = sum(counts.values())
        found = [ProbableEffect(e, n / total) for e, n in counts.items() if n]
        return tuple(sorted(found, key=lambda entry: (-entry.probability, entry.effect)))

    def _check_effects(self, capability: QaceCapability) -> None:
        """Compare the list with what was observed in each state that was simulated."""
        answers, runs = self._interview.answers, self._settings.runs_per_effect
        asked = self._asked(capability.precondition)
        simulated = [state for state in asked if answers[state].total() >= runs]
        comparisons = len(simulated) * len(capability.effects)
        for state in simulated:
            ends, expected = answers[state], capability.outcomes(state)
            for end in {**expected, **ends}:
                probability = expected.get(end, 0.0)
                if tail(ends[end], ends.total(), probability) < self._settings.risk / comparisons:
                    raise _Contradiction(
                        LearningOutcome.DEPENDENT,
                        f"an effect of probability {probability:.2f} was seen {ends[end]} times "
                        f"in {ends.total()} runs from {state:#x}",
                    )

    def _asked(self, precondition: Conjunction) -> Iterator[State]:
        return (state for state in self._interview.answers if precondition.holds(state))


def tail(count: int, runs: int, probability: float) -> float:
    """Return the probability of a count at least as far on its side of the expected one.

    >>> tail(0, 10, 0.5) == 0.5**10, tail(10, 10, 1.0), tail(1, 10, 0.0)
    (True, 1.0, 0.0)
    """
    if count / runs == probability:
        return 1.0
    if count / runs > probability:
        return beta_cdf(probability, count, runs - count + 1)
    return 1.0 - beta_cdf(probability, count + 1, runs - count)


def _distinguishable(effects: Sequence[Effect], state: State) -> bool:
    return len({effect.apply(state) for effect in effects}) == len(effects)


def _sentence(precondition: Conjunction, vocabulary: Vocabulary) -> str:
    literals = " and ".join(map(str, precondition.literals(vocabulary)))
    return f"when {literals}" if literals else "always"
