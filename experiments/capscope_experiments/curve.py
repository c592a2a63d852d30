"""Learning curves, read off the journal of a run: how much was spent until the model was right.

Everything that a run saw is in its journal, in order, so the model as it was after any query can be
built again and judged again, by whatever measure, without asking the agent anything. Judging costs
more than a query does; it is done whenever simulator steps or executions have grown by 2 %, which
is the resolution of every number taken from a curve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from capscope.assessment import Usage
from capscope.model import CapabilityModel, StateGraph
from capscope_experiments.accounting import Shares

_GROWTH = 1.02
Agreement = Callable[[CapabilityModel], float]
"""How well a model agrees with the agent, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Point:
    """Where a run stood."""

    queries: int
    executions: int
    simulator_steps: int
    agreement: float
    seconds: float


@dataclass(frozen=True)
class Curve:
    """How a run learned."""

    problem: str
    strategy: str
    seed: int
    points: tuple[Point, ...]
    stopped_because: str
    shares: Shares
    least: int = 0
    """The least executions with which any learner could get by; 0 where that is unknown."""
    measure: str = "exact"
    """What the agreement is measured on: `exact` or `sampled`."""

    @property
    def last(self) -> Point:
        """Where the run ended."""
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
    """Say when a run has spent 2 % more than when it was last looked at."""

    def __init__(self) -> None:
        self._executions = self._steps = -1.0

    def due(self, usage: Usage) -> bool:
        """Say whether it is time to look, and if so count from here on."""
        if usage.executions < self._executions and usage.simulator_steps < self._steps:
            return False
        self._executions = max(usage.executions, 1) * _GROWTH
        self._steps = max(usage.simulator_steps, 1) * _GROWTH
        return True


def learning_points(
    stages: Iterable[tuple[Usage, StateGraph]], agreement: Agreement
) -> Iterator[Point]:
    """Judge the pessimistic model at every milestone and at the end.

    The models of all stages may be one object that grows: each is judged before the next is asked
    for.
    """
    milestones = Milestones()
    latest: tuple[Usage, StateGraph] | None = None
    judged = True
    for usage, graph in stages:
        latest = usage, graph
        judged = milestones.due(usage)
        if judged:
            yield point_at(usage, graph, agreement)
    if latest is not None and not judged:
        yield point_at(*latest, agreement)


def point_at(usage: Usage, graph: StateGraph, agreement: Agreement) -> Point:
    """Judge the model at one stage of a run."""
    return Point(
        usage.queries,
        usage.executions,
        usage.simulator_steps,
        agreement(graph.pessimistic),
        usage.seconds,
    )
