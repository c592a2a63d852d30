"""A problem: the simulator, the agent in it, the words, and how long an attempt may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from capscope.symbolic import Vocabulary
from capscope.world.contracts import (
    Abstraction,
    Agent,
    DrawsPictures,
    KnownTruth,
    Simulator,
    Snapshot,
)


@dataclass(frozen=True, slots=True)
class Limits:
    """How long an attempt may take, and how the next query's start is chosen.

    `temporal_length` is Θ: an attempt ends once the symbolic state has changed that often (None:
    never for this reason). `horizon` bounds the simulator steps of an attempt. `reset_every`
    replaces the sampling of start states: queries go on where the last one ended, and the world
    is reset after that many executions of capabilities.
    """

    temporal_length: int | None = 1
    horizon: int = 100
    reset_every: int | None = None

    def __post_init__(self) -> None:
        for name in ("temporal_length", "horizon", "reset_every"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}")


@dataclass(frozen=True)
class Problem:
    """Everything that is needed to assess an agent."""

    name: str
    simulator: Simulator
    agent: Agent
    abstraction: Abstraction
    limits: Limits = field(default_factory=Limits)
    truth: KnownTruth | None = None
    description: str = ""
    fingerprint: str = ""
    """Identifies the files or code behind the problem; a run is resumed only on the same ones."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the abstraction."""
        return self.abstraction.vocabulary


def picture_of(problem: Problem) -> Callable[[Snapshot], bytes] | None:
    """Return what draws a position of a problem as a PNG; None where there are no pictures."""
    simulator = problem.simulator
    return simulator.picture if isinstance(simulator, DrawsPictures) else None
