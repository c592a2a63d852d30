"""Learning curves, computed from the journal of a run: what was spent until the model was right.

The journal has everything that a run observed, in order, so the model after any query can be
rebuilt and evaluated by any measure without asking the agent again. Evaluating costs more than a
query; it is done whenever simulator steps or executions have grown by 2 %, which is the resolution
of every number taken from a curve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from capscope.model import CapabilityModel, ExtremeModels, StateGraph
from capscope.record.usage import Usage
from capscope_experiments.accounting import Shares

_GROWTH = 1.02
Agreement = Callable[[CapabilityModel], float]
"""How well a model agrees with the agent, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Point:
    """What a run had spent, and its agreement then."""

    queries: int
    executions: int
    simulator_steps: int
    agreement: float
    seconds: float


@dataclass(frozen=True)
class Curve:
    """The learning curve of a run."""

    problem: str
    strategy: str
    seed: int
    points: tuple[Point, ...]
    stopped_because: str
    shares: Shares
    least: int = 0
    """The executions that any learner needs at least; 0 if that is unknown."""
    measure: str = "exact"
    """What the agreement is measured on: `exact` or `sampled`."""

    @property
    def last(self) -> Point:
        """The end of the run."""
        return self.points[-1]

    def first_at(self, level: float) -> Point | None:
        """Return the first point at or above a level of agreement."""
        return next((point for point in self.points if point.agreement >= level), None)

    def as_dict(self) -> dict[str, Any]:
        """Return the curve as JSON-ready values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Curve:
        """Read a curve back from what `as_dict` wrote."""
        points = tuple(Point(**point) for point in values["points"])
        return cls(**{**values, "points": points, "shares": Shares(**values["shares"])})


class Milestones:
    """Find the moments at which a run has spent 2 % more than at the last one."""

    def __init__(self) -> None:
        self._executions = self._steps = -1.0

    def due(self, usage: Usage) -> bool:
        """Return whether this is a milestone; if so, the next 2 % count from here."""
        if usage.executions < self._executions and usage.simulator_steps < self._steps:
            return False
        self._executions = max(usage.executions, 1) * _GROWTH
        self._steps = max(usage.simulator_steps, 1) * _GROWTH
        return True


def learning_points(
    stages: Iterable[tuple[Usage, StateGraph]], agreement: Agreement
) -> Iterator[Point]:
    """Evaluate the pessimistic model at every milestone and at the end.

    The graphs of all stages may be one object that grows: each is evaluated before the next.
    """
    milestones = Milestones()
    latest: tuple[Usage, StateGraph] | None = None
    evaluated = True
    for usage, graph in stages:
        latest = usage, graph
        evaluated = milestones.due(usage)
        if evaluated:
            yield point_at(usage, graph, agreement)
    if latest is not None and not evaluated:
        yield point_at(*latest, agreement)


def point_at(usage: Usage, graph: StateGraph, agreement: Agreement) -> Point:
    """Evaluate the model at one stage of a run."""
    return Point(
        usage.queries,
        usage.executions,
        usage.simulator_steps,
        agreement(ExtremeModels(graph).pessimistic),
        usage.seconds,
    )
