"""The question about one skill, with what changes most at the end.

Servers cache the prefixes of prompts. The instructions are the same in every call, the goal in an
attempt, the state in a choice; only the skill differs between the calls of one choice. So the
question itself is in the instructions, and a call of a choice costs little more than the few tokens
of its skill.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from capscope.adapters.llm import Message
from capscope.logic import Intent, Literal, State, Vocabulary
from capscope.logic.vocabulary import Phrasing

_INSTRUCTIONS = """\
You choose the next skill of a player in {world}. You are given a goal, the current state and a \
candidate skill. Is this candidate the best skill to execute next for the goal? Answer yes or no."""


@dataclass(frozen=True)
class SkillPrompt:
    """Turns goals, states and skills into prompts."""

    vocabulary: Vocabulary
    world: str
    """What the player is in, for the instructions."""

    @property
    def instructions(self) -> str:
        """The system message of every call."""
        return _INSTRUCTIONS.format(world=self.world)

    @cached_property
    def _phrasing(self) -> Phrasing:
        return Phrasing.of(self.vocabulary)

    def _spoken(self, literal: Literal) -> str:
        return self._phrasing.literal(str(literal)).replace("_", " ")

    def goal(self, intent: Intent) -> str:
        """Describe a goal."""
        return self._phrasing.literal(str(intent)).replace("_", " ")

    def state(self, state: State) -> str:
        """Describe a state by everything that holds in it."""
        holding = self.vocabulary.holding(state)
        return "; ".join(self._spoken(Literal(atom)) for atom in holding) or "nothing is known"

    def messages(self, goal: str, state: str, skill: str) -> list[Message]:
        """Return the conversation that asks about one skill."""
        question = f"Goal: {goal}.\nCurrent state: {state}.\nCandidate skill: {skill}"
        return [
            {"role": "system", "content": self.instructions},
            {"role": "user", "content": question},
        ]
