"""Choose a skill, carry it out for a few steps, choose again; until the goal holds.

A skill's score is how much more likely the model answers yes than no when asked whether the skill
is the best one for the goal in the current state: log P(yes) − log P(no) of the first token of its
answer. The scores of a choice are asked side by side. They are computed, not sampled, so a choice
depends on goal and state alone, and a state that was met before costs nothing.

The goal is checked before every step. A skill is followed for a fixed number of steps, and the
number of choices is fixed; then the agent gives up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from capscope.adapters.llm import Calls, LlmClient, ModelAttempt, TokenScores
from capscope.errors import ProblemError
from capscope.logic import Intent
from capscope.problem import Abstraction, Attempting
from capscope.seeds import child_seed
from capscope_worlds.skill_chooser.prompt import SkillPrompt

_CALLS, _SKILLS = 0, 1  # children of the attempt's seed


@dataclass(frozen=True)
class ChooserSettings:
    """Limits of an attempt, and how many first tokens the server lists."""

    skill_steps: int = 5
    """How long a chosen skill is followed."""
    choices: int = 3
    """Maximum number of choices in an attempt."""
    logprobs: int = 20
    """First tokens that are listed; OpenAI's servers list at most 20."""

    def __post_init__(self) -> None:
        for name in ("skill_steps", "choices", "logprobs"):
            if getattr(self, name) < 1:
                option = name.replace("_", "-")
                raise ProblemError(f"{option} must be at least 1, not {getattr(self, name)}")

    def changed(self, options: Mapping[str, str]) -> ChooserSettings:
        """Return the settings with some of them replaced by typed options."""
        try:
            return replace(self, **{name: int(text) for name, text in options.items()})
        except ValueError as error:
            raise ProblemError(
                f"{', '.join(options)} must be whole numbers ({error})".replace("_", "-")
            ) from None


class SkillRunner(Protocol):
    """Carries out skills."""

    @property
    def fingerprint(self) -> str:
        """Identifies what it does."""

    def begin_skill(self, skill: str, seed: int) -> Attempting:
        """Start to follow a skill."""


def yes_over_no(scores: TokenScores) -> float:
    """Return log P(yes) − log P(no).

    A token that is not listed is at most as likely as the least likely listed one, and counts as
    that. Without any tokens, the score is 0.
    """
    least = scores.least
    if least is None:
        return 0.0
    yes, no = scores.logprob("yes"), scores.logprob("no")
    return (least if yes is None else yes) - (least if no is None else no)


class SkillChooserAgent:
    """A language model that chooses among skills."""

    def __init__(
        self,
        client: LlmClient,
        skills: Sequence[str],
        runner: SkillRunner,
        prompt: SkillPrompt,
        abstraction: Abstraction,
        settings: ChooserSettings | None = None,
    ) -> None:
        """Choose among `skills`; `abstraction` gives the state to be described and judged."""
        self.client = client
        self.skills = tuple(skills)
        self.runner = runner
        self.prompt = prompt
        self.abstraction = abstraction
        self.settings = settings or ChooserSettings()

    @property
    def fingerprint(self) -> str:
        """Identifies the agent: the model, all wording, the skills, and what follows them."""
        wording = self.prompt.messages("goal", "state", "skill")
        phrases = [(p.name, p.phrase, p.negated) for p in self.prompt.vocabulary.predicates]
        parts = (wording, phrases, self.skills, self.runner.fingerprint, self.settings)
        digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
        return f"{self.client.settings.model}-{digest}"

    def begin(self, intent: Intent, seed: int) -> ChoosingAttempt:
        """Start an attempt at an intent."""
        return ChoosingAttempt(self, intent, seed)


class ChoosingAttempt(ModelAttempt):
    """One attempt at an intent; it notes the goal, and for each choice the scores of all skills."""

    def __init__(self, agent: SkillChooserAgent, intent: Intent, seed: int) -> None:
        self._agent = agent
        self._seed = seed
        self._calls = Calls(agent.client, child_seed(seed, _CALLS))
        super().__init__(self._calls)
        self._goal = agent.prompt.goal(intent)
        self._holds = intent.test(agent.abstraction.vocabulary)
        self._follower: Attempting | None = None
        self._steps_left = 0
        self._choices = 0
        self._parts.append(f"goal: {self._goal}")

    def act(self, observation: Any) -> Any:
        """Return the next action of the chosen skill, choosing one if needed; None to stop."""
        state = self._agent.abstraction(observation)
        if self._holds(state):
            return None
        if self._follower is None or not self._steps_left:
            if self._choices == self._agent.settings.choices:
                return None
            skill = self._choose(self._agent.prompt.state(state))
            seed = child_seed(self._seed, _SKILLS, self._choices)
            self._follower = self._agent.runner.begin_skill(skill, seed)
            self._steps_left = self._agent.settings.skill_steps
            self._choices += 1
        self._steps_left -= 1
        return self._follower.act(observation)

    def _choose(self, state: str) -> str:
        agent = self._agent
        prompts = [agent.prompt.messages(self._goal, state, skill) for skill in agent.skills]
        answers = self._calls.scores(prompts, agent.settings.logprobs)
        scores = [yes_over_no(answer) for answer in answers]
        best = max(range(len(scores)), key=scores.__getitem__)
        self._parts.append(f"state: {state}")
        for score, skill in sorted(zip(scores, agent.skills, strict=True), reverse=True):
            self._parts.append(f"  {score:+.3f} {skill}")
        self._parts.append(f"chosen: {agent.skills[best]}")
        return agent.skills[best]
