"""An agent that follows instructions: the words of an intent, or a phrase of your own.

The instruction of an intent is its text: `next_to(tree)` reads "next to tree". The policy was
trained on many such phrases and on the commands of skills, but not on all that can be asked; what
it does with others follows from the words that it knows.

Greedy, it takes the action with the highest score; stochastic, it draws one by the scores. It stops
when the intent holds.
"""

from __future__ import annotations

import random

import numpy as np

from capscope.logic import Intent
from capscope.problem import Abstraction
from capscope_worlds.crafter_steve.network import PolicyNetwork
from capscope_worlds.crafter_steve.view import CrafterFeatures, own_features, view_of


class InstructionFollower:
    """A policy with an instruction: what to do next."""

    def __init__(self, network: PolicyNetwork, instruction: str, uniform: random.Random | None):
        """Follow an instruction; `uniform` draws actions, without it they are greedy."""
        self._network = network
        self._meaning = network.meaning(instruction)
        self._random = uniform

    def act(self, observation: CrafterFeatures) -> str:
        """Return the next action."""
        scores = self._network.scores(
            view_of(observation), own_features(observation), self._meaning
        )
        if self._random is None:
            return self._network.actions[int(scores.argmax())]
        weights = np.exp(scores - scores.max())
        sums = np.cumsum(weights)
        chosen = int(np.searchsorted(sums, self._random.random() * float(sums[-1]), "right"))
        return self._network.actions[min(chosen, len(sums) - 1)]


class SteveAgent:
    """Follows the words of an intent."""

    def __init__(
        self, network: PolicyNetwork, abstraction: Abstraction, stochastic: bool = False
    ) -> None:
        """Act on a network; `abstraction` decides whether the intent holds."""
        self.network = network
        self.abstraction = abstraction
        self.stochastic = stochastic

    @property
    def fingerprint(self) -> str:
        """Identifies the agent: its weights, and whether it draws its actions."""
        return f"{self.network.fingerprint}-{'stochastic' if self.stochastic else 'greedy'}"

    def begin(self, intent: Intent, seed: int) -> SteveAttempt:
        """Start an attempt at an intent."""
        return SteveAttempt(self, intent, seed)

    def begin_skill(self, skill: str, seed: int) -> InstructionFollower:
        """Follow a phrase; without an intent, it never stops by itself."""
        uniform = random.Random(seed) if self.stochastic else None
        return InstructionFollower(self.network, skill, uniform)


class SteveAttempt:
    """One attempt; the seed determines all its randomness."""

    def __init__(self, agent: SteveAgent, intent: Intent, seed: int) -> None:
        self._follower = agent.begin_skill(str(intent), seed)
        self._abstraction = agent.abstraction
        self._holds = intent.test(agent.abstraction.vocabulary)

    def act(self, observation: CrafterFeatures) -> str | None:
        """Return the next action, or None if the intent holds."""
        if self._holds(self._abstraction(observation)):
            return None
        return self._follower.act(observation)
