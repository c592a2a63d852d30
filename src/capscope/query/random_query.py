"""Random Query: a uniformly drawn sequence of capabilities, the baseline of the paper.

Draws, starts and stops are those of every strategy; only the policy differs. The other strategies
fall back on it when no policy is predicted to distinguish the models.
"""

from __future__ import annotations

import random

from capscope.model import Models
from capscope.query.policy import Plan, SequencePolicy
from capscope.query.settings import Settings
from capscope.symbolic import State


def random_plan(capabilities: int, length: int, rng: random.Random) -> Plan:
    """Draw a sequence of capabilities, each one uniformly."""
    sequence = tuple(int(rng.random() * capabilities) for _ in range(length))
    return Plan(SequencePolicy(sequence if capabilities else ()))


class RandomQuery:
    """Ask for capabilities at random."""

    def __init__(self, settings: Settings) -> None:
        self._length = settings.random_length

    def choose(self, models: Models, start: State, xi: float, rng: random.Random) -> Plan:
        """Draw a sequence; neither the models nor the start matter."""
        return random_plan(len(models.capabilities), self._length, rng)
