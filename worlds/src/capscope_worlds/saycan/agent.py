"""SayCan: of all skills, do the one that is both useful and feasible.

A *chooser*, a language model or a script in its place, rates how useful a skill is for an
instruction after the skills so far. It does not see the world. How feasible a skill is, its
*affordance*, comes from the robot's own perception. The product of the two decides; the agent
continues until "done" wins or its skills are used up.

Neither looks at what the other knows: the chooser asks for a block that the robot cannot take
without what stands on it, and the robot is certain of a block that it mistakes for another. This is
the published method (Ahn et al., *Do As I Can, Not As I Say*), and what makes it worth assessing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from capscope.errors import ProblemError
from capscope.logic import Intent
from capscope.problem import Allowance

DONE = "done"
_SHOWN = 3
"""Skills of each decision that the transcript shows, best first."""


class SkillObservation(Protocol):
    """What a robot perceives."""

    @property
    def affordances(self) -> Mapping[str, float]:
        """How feasible each skill looks, from 0 to 1, by its description."""


class Scoring(Protocol):
    """A chooser during one attempt."""

    def scores(self, done: Sequence[str], affordances: Mapping[str, float]) -> Mapping[str, float]:
        """Return how useful each skill is next, and `DONE`, as shares of at most 1 in total.

        A skill that cannot win with its affordance may be left out.
        """


class SkillChooser(Protocol):
    """Says which skills are useful."""

    @property
    def fingerprint(self) -> str:
        """Identifies the chooser."""

    def begin(self, intent: Intent, seed: int) -> Scoring:
        """Start an attempt at an intent."""


@dataclass(frozen=True)
class SayCanSettings:
    """Limits of an attempt; on the command line `tabletop-affordance:max-skills=2`."""

    max_skills: int = 4
    """Maximum number of skills in an attempt."""

    def __post_init__(self) -> None:
        if self.max_skills < 1:
            raise ProblemError(f"max-skills must be at least 1, not {self.max_skills}")

    def changed(self, options: Mapping[str, str]) -> SayCanSettings:
        """Return the settings with some of them replaced by typed options."""
        text = options.get("max_skills", str(self.max_skills))
        if not text.isdecimal():
            raise ProblemError(f"max-skills must be a number, not {text!r}")
        return SayCanSettings(int(text))


class SayCanAgent:
    """Multiplies a chooser's scores with affordances."""

    def __init__(self, chooser: SkillChooser, settings: SayCanSettings | None = None) -> None:
        self.chooser = chooser
        self.settings = settings or SayCanSettings()

    @property
    def fingerprint(self) -> str:
        """Identifies the agent."""
        return f"{self.chooser.fingerprint}-{self.settings.max_skills}"

    def begin(self, intent: Intent, seed: int) -> SayCanAttempt:
        """Start an attempt at an intent."""
        return SayCanAttempt(self.chooser.begin(intent, seed), self.settings.max_skills)


class SayCanAttempt:
    """One attempt: a skill at a time, until `DONE` wins."""

    def __init__(self, scoring: Scoring, max_skills: int) -> None:
        self._scoring = scoring
        self._max_skills = max_skills
        self._done: list[str] = []
        self._lines: list[str] = []

    @property
    def llm_tokens(self) -> int:
        """Tokens of the language model so far; 0 without one."""
        return int(getattr(self._scoring, "llm_tokens", 0))

    @property
    def transcript(self) -> str:
        """The best skills of each decision, with both factors."""
        return "\n".join(self._lines)

    def spend_from(self, allowance: Allowance) -> None:
        """Pay for every later call from an allowance, if there is a language model."""
        spend = getattr(self._scoring, "spend_from", None)
        if spend is not None:
            spend(allowance)

    def act(self, observation: SkillObservation) -> str | None:
        """Return the best skill; None if that is to stop."""
        if len(self._done) >= self._max_skills:
            return None
        affordances = {**observation.affordances, DONE: 1.0}
        scores = self._scoring.scores(self._done, affordances)
        # By description after the product, so that equal ones do not depend on an order.
        ranked = sorted(scores, key=lambda skill: (-scores[skill] * affordances[skill], skill))
        self._lines += [
            f"{len(self._done) + 1}. {skill}: useful {scores[skill]:.3f}, feasible "
            f"{affordances[skill]:.3f}"
            for skill in ranked[:_SHOWN]
        ]
        if ranked[0] == DONE:
            return None
        self._done.append(ranked[0])
        return ranked[0]
