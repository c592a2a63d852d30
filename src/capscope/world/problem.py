"""A problem: a simulator, an agent, an abstraction, and the limits of an attempt."""

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

    `temporal_length` is Θ: an attempt ends after this many changes of the symbolic state (None: no
    limit). `horizon` is the maximum number of simulator steps of an attempt. `reset_every` replaces
    the sampling of start states: each query starts where the last one ended, and the simulator is
    reset after this many executions.
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
    """Everything needed to assess an agent."""

    name: str
    simulator: Simulator
    agent: Agent
    abstraction: Abstraction
    limits: Limits = field(default_factory=Limits)
    truth: KnownTruth | None = None
    description: str = ""
    fingerprint: str = ""
    """Identifies the files or code of the problem; a run is resumed only with the same ones."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the abstraction."""
        return self.abstraction.vocabulary


def picture_of(problem: Problem) -> Callable[[Snapshot], bytes] | None:
    """Return a function that draws a position as a PNG; None if the simulator cannot draw."""
    simulator = problem.simulator
    return simulator.picture if isinstance(simulator, DrawsPictures) else None
