"""Random Query: a uniformly drawn sequence of capabilities, the baseline of the paper.

Draws, starts and stops are those of the paper's other strategies, which fall back on it when no
policy is predicted to distinguish the models.
"""

from __future__ import annotations

import random

from capscope.model import ExtremeModels
from capscope.record.settings import Settings
from capscope.strategy.policy import QueryPlan, SequencePolicy
from capscope.symbolic import State


def random_plan(capabilities: int, length: int, rng: random.Random) -> QueryPlan:
    """Draw a sequence of capabilities uniformly."""
    sequence = tuple(int(rng.random() * capabilities) for _ in range(length))
    return QueryPlan(SequencePolicy(sequence if capabilities else ()))


class RandomQuery:
    """Ask for capabilities at random."""

    def __init__(self, settings: Settings) -> None:
        self._length = settings.random_length

    def choose(
        self, models: ExtremeModels, start: State, xi: float, rng: random.Random
    ) -> QueryPlan:
        """Draw a sequence; neither the models nor the start matter."""
        return random_plan(len(models.graph.capabilities), self._length, rng)
