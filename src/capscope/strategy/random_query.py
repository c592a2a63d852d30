"""Random Query: a uniformly drawn sequence of capabilities, the baseline of the paper.

The searches fall back on it if no policy is predicted to distinguish the models.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from capscope.journal.settings import Settings
from capscope.logic import State
from capscope.model import ExtremeModels
from capscope.strategy.base import QueryPlan


@dataclass(frozen=True, slots=True)
class SequencePolicy:
    """A fixed sequence of capabilities, whatever is observed."""

    sequence: tuple[int, ...]

    def walk(self) -> SequenceWalk:
        """Begin at the first capability."""
        return SequenceWalk(iter(self.sequence))

    def describe(self) -> Mapping[str, Any]:
        """Return the sequence."""
        return {"kind": "sequence", "capabilities": list(self.sequence)}


@dataclass(slots=True)
class SequenceWalk:
    """One execution of a fixed sequence."""

    rest: Iterator[int]

    def next(self, state: State) -> int | None:
        """Return the next capability of the sequence."""
        return next(self.rest, None)


def random_plan(capabilities: int, length: int, rng: random.Random) -> QueryPlan:
    """Draw a sequence of capabilities uniformly."""
    sequence = tuple(int(rng.random() * capabilities) for _ in range(length))
    return QueryPlan(SequencePolicy(sequence if capabilities else ()))


@dataclass(frozen=True)
class RandomQuery:
    """Ask for capabilities at random."""

    settings: Settings

    def choose(
        self, models: ExtremeModels, start: State, xi: float, rng: random.Random
    ) -> QueryPlan:
        """Draw a sequence; neither the models nor the start matter."""
        return random_plan(len(models.graph.capabilities), self.settings.random_length, rng)
