"""Learn one capability: flip literals to find its precondition, simulate to find its effects.

A precondition is a conjunction, so from a state in which the capability works each literal can be
decided by itself: flip it, and ask. If the capability still works, the hypotheses with the literal
are pruned, else those without. After one query for each atom a single conjunction is left. That is
what makes QACE cheap, and it is right only if the truth is a conjunction: where p or q is needed
and both hold, neither flip stops the capability, and the empty conjunction is left.

So the result is checked in states that were supplied with the capability. In those where the
precondition holds it must work, and show the effects of its list in their proportions; in those of
its disjunct where the precondition does not hold it must not work. No hypothesis is left to change
over to, so a contradiction says that the class does not contain the truth.

An agent does not say whether it executed a capability or declined. It *works* where at least one
of the runs shows an effect of its list that changes something; an uncompiled capability works
wherever anything changes, for all of that has to go into its one list. Flipping an atom that is
all that would change leaves nothing to see; then both hypotheses say the same in every state, and
the shorter one is kept.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from capscope.baselines.qace.compilation import Branch
from capscope.baselines.qace.effects import EffectList
from capscope.baselines.qace.interview import Interview
from capscope.baselines.qace.model import Conjunction, ProbableEffect, QaceCapability
from capscope.baselines.qace.settings import QaceSettings
from capscope.model.beta import beta_cdf
from capscope.symbolic import Effect, State, Vocabulary


class Finding(StrEnum):
    """What came of one capability."""

    LEARNED = "learned"
    DISJUNCTIVE = "outside the class: disjunctive"
    DEPENDENT = "outside the class: effects depend on the state"
    SILENT = "does not work where it did before"
    UNFINISHED = "unfinished"


class Lesson(NamedTuple):
    """A capability that was learned, or why none in the class explains the answers."""

    finding: Finding
    capability: QaceCapability | None = None
    reason: str = ""


def learn_branch(
    branch: Branch, interview: Interview, supplied: Sequence[State], settings: QaceSettings
) -> Lesson:
    """Learn one capability, then check it in some of the supplied states.

    Raises `BudgetSpent` when nothing is left to ask with.
    """
    learner = _Learner(branch, interview, settings)
    if not learner.begin():
        runs = settings.runs_per_effect
        return Lesson(Finding.SILENT, None, f"nothing changed in {runs} runs from its start")
    precondition = learner.find_precondition()
    contradiction = learner.check_precondition(precondition, supplied)
    if contradiction is not None:
        return Lesson(Finding.DISJUNCTIVE, None, contradiction)
    capability = QaceCapability(branch.intent, precondition, learner.estimate(precondition))
    contradiction = learner.check_effects(capability)
    if contradiction is not None:
        return Lesson(Finding.DEPENDENT, None, contradiction)
    return Lesson(Finding.LEARNED, capability)


class _Learner:
    def __init__(self, branch: Branch, interview: Interview, settings: QaceSettings) -> None:
        self._branch = branch
        self._interview = interview
        self._settings = settings
        self._words = interview.problem.vocabulary
        self._list = EffectList(self._words.mask)

    def begin(self) -> bool:
        """Simulate from the start; say whether anything happened."""
        start = self._branch.start
        ends = self._interview.ask(start, self._settings.runs_per_effect)
        self._list.absorb(start, ends)
        return any(end != start for end in ends)

    def find_precondition(self) -> Conjunction:
        """Flip each literal of the start and keep those without which nothing works."""
        care = 0
        for i in range(len(self._words.atoms)):
            flipped = self._branch.start ^ 1 << i
            if self._works(flipped, self._settings.runs_per_flip) is False:
                care |= 1 << i
            else:
                self._list.absorb(flipped, self._interview.answers.get(flipped, ()))
        return Conjunction(care, self._branch.start & care)

    def _works(self, state: State, least_runs: int) -> bool | None:
        """Ask whether the capability works in a state; None where that could not be seen."""
        hidden = self._chance_of_nothing(state)
        if hidden == 1.0:
            return None
        needed = math.ceil(math.log(self._settings.risk) / math.log(hidden)) if hidden else 1
        ends = self._interview.ask(state, max(least_runs, needed))
        return any(
            self._branch.whole or self._list.explains(state, end) for end in ends if end != state
        )

    def _chance_of_nothing(self, state: State) -> float:
        """Estimate how often an execution would change nothing, were it to work in the state."""
        start = self._branch.start
        ends = self._interview.answers[start]
        visible = {e.apply(start) for e in self._list.effects if e.apply(state) != state}
        return 1 - sum(ends[end] for end in visible) / ends.total()

    def check_precondition(
        self, precondition: Conjunction, supplied: Sequence[State]
    ) -> str | None:
        """Compare the precondition with the agent; return what contradicts it."""
        within = [s for s in supplied if precondition.holds(s)]
        beyond = [
            s for s in supplied if self._branch.within.holds(s) and not precondition.holds(s)
        ]
        said = _sentence(precondition, self._words)
        for state in self._some(within):
            if self._works(state, self._settings.runs_per_effect) is False:
                return f"flipping literals says that it works {said}, but not in {state:#x}"
            self._list.absorb(state, self._interview.answers.get(state, ()))
        for state in self._some(beyond):
            if self._works(state, self._settings.runs_per_flip):
                return f"flipping literals says that it works only {said}, but so in {state:#x}"
        return None

    def _some(self, states: Sequence[State]) -> Sequence[State]:
        rng = random.Random(self._interview.seed)
        return rng.sample(states, min(self._settings.checks, len(states)))

    def estimate(self, precondition: Conjunction) -> tuple[ProbableEffect, ...]:
        """Return the effects with their relative frequencies, the most frequent first."""
        effects = tuple(dict.fromkeys(self._list.effects))
        counts = dict.fromkeys(effects, 0.0)
        start = self._branch.start
        # Effects that lead to one state cannot be counted there.
        telling = [s for s in self._asked(precondition) if _apart(effects, s)] or [start]
        for state in telling:
            for end, count in self._interview.answers[state].items():
                alike = [effect for effect in effects if effect.apply(state) == end]
                for effect in alike:
                    counts[effect] += count / len(alike)
        total = sum(counts.values())
        found = [ProbableEffect(e, n / total) for e, n in counts.items() if n]
        return tuple(sorted(found, key=lambda entry: (-entry.probability, entry.effect)))

    def check_effects(self, capability: QaceCapability) -> str | None:
        """Compare the list with each state that was simulated; return what contradicts it."""
        runs = self._settings.runs_per_effect
        simulated = [
            state
            for state in self._asked(capability.precondition)
            if self._interview.answers[state].total() >= runs
        ]
        comparisons = len(simulated) * len(capability.effects)
        for state in simulated:
            ends = self._interview.answers[state]
            expected = capability.outcomes(state)
            for end in {**expected, **ends}:
                chance = tail(ends[end], ends.total(), expected.get(end, 0.0))
                if chance < self._settings.risk / comparisons:
                    return (
                        f"an effect of probability {expected.get(end, 0.0):.2f} was seen "
                        f"{ends[end]} times in {ends.total()} runs from {state:#x}"
                    )
        return None

    def _asked(self, precondition: Conjunction) -> Iterator[State]:
        return (state for state in self._interview.answers if precondition.holds(state))


def tail(count: int, runs: int, probability: float) -> float:
    """Return the chance of a count as far or farther on its side of the expected one.

    >>> tail(0, 10, 0.5) == 0.5**10, tail(10, 10, 1.0), tail(1, 10, 0.0)
    (True, 1.0, 0.0)
    """
    if count / runs == probability:
        return 1.0
    if count / runs > probability:
        return beta_cdf(probability, count, runs - count + 1)
    return 1.0 - beta_cdf(probability, count + 1, runs - count)


def _apart(effects: Sequence[Effect], state: State) -> bool:
    return len({effect.apply(state) for effect in effects}) == len(effects)


def _sentence(precondition: Conjunction, vocabulary: Vocabulary) -> str:
    literals = " and ".join(map(str, precondition.literals(vocabulary)))
    return f"when {literals}" if literals else "always"
