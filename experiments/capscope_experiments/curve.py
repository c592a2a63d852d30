"""Learning curves, computed from the journal of a run: what was spent until the model was right.

The journal has everything that a run observed, in order, so the model after any query can be
rebuilt and evaluated by any measure without asking the agent again. Evaluating costs more than a
query; it is done whenever simulator steps or executions have grown by 2 % (10 % for a model that
generalizes), which is the resolution of every number taken from a curve.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from capscope.journal.execution_table import ExecutionTable
from capscope.journal.run_meta import Usage
from capscope.model import CapabilityModel, ExtremeModels, LearnedModel, StateGraph
from capscope.report.digest.learning import FIRST_TRIES, ON_THE_WAY, REPEATS, spending
from capscope.strategy.registry import DEFAULT_STRATEGY

_GROWTH = 1.02
_LEARNED_GROWTH = 1.1  # fitting a model that generalizes takes longer than looking pairs up
CONSTANT = "nothing changes"
"""The label of the predictor that expects no change; its agreement needs no execution."""
ModelOf = Callable[[StateGraph], CapabilityModel]
"""What is evaluated at a stage of a run."""
WEIGHTINGS = {
    "by_data": "by the evaluation data",
    "filtered": "with the paper's filter",
    "once": "each transition once",
}
"""What transitions weigh in an agreement: the field of a point, and what it is called."""
Agreements = Callable[[CapabilityModel], Mapping[str, float | None]]
"""How well a model agrees with the agent: every measure that a point has, by its name."""


@dataclass(frozen=True, slots=True)
class Point:
    """What a run had spent, and its agreement then."""

    queries: int
    executions: int
    simulator_steps: int
    agreement: float
    seconds: float
    by_data: float | None = None
    filtered: float | None = None
    once: float | None = None
    """The agreement under each of the weightings."""
    changing_tv: float | None = None
    stochastic_tv: float | None = None
    """The mean total variation distance over the pairs that change something, and over those with
    several outcomes; None if it was not measured or there are no such pairs."""


@dataclass(frozen=True, slots=True)
class Shares:
    """The number, or the share, of the executions of each kind."""

    # An execution tries a pair for the first time (`new`), tries it again in another draw of the
    # same query (`repeat`), passes through known pairs on the way to something new (`walk`), or
    # belongs to a query that found nothing new (`nowhere`).

    new: float = 0
    repeat: float = 0
    walk: float = 0
    nowhere: float = 0


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

    def weighted(self, weighting: str) -> Curve:
        """Return the curve of the agreement under another weighting, where it was measured."""
        found = ((point, getattr(point, weighting)) for point in self.points)
        points = (replace(point, agreement=value) for point, value in found if value is not None)
        return replace(self, points=tuple(points), measure=WEIGHTINGS[weighting])

    def as_dict(self) -> dict[str, Any]:
        """Return the curve as JSON-ready values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Curve:
        """Read a curve back from what `as_dict` wrote."""
        points = tuple(Point(**point) for point in values["points"])
        return cls(**{**values, "points": points, "shares": Shares(**values["shares"])})


def model_of(strategy: str, seed: int) -> ModelOf:
    """Return the model of a strategy: the learned one if it generalizes, else the pessimistic."""
    if strategy == DEFAULT_STRATEGY:
        return lambda graph: LearnedModel.fitted(graph, seed)
    return lambda graph: ExtremeModels(graph).pessimistic


class Milestones:
    """Find the moments at which a run has spent some more than at the last one."""

    def __init__(self, strategy: str = "", first: int = 0) -> None:
        self._growth = _LEARNED_GROWTH if strategy == DEFAULT_STRATEGY else _GROWTH
        self._executions = float(first)
        self._steps = math.inf if first else -1.0

    def due(self, usage: Usage) -> bool:
        """Return whether this is a milestone; if so, the growth counts from here."""
        if usage.executions < self._executions and usage.simulator_steps < self._steps:
            return False
        self._executions = max(usage.executions, 1) * self._growth
        self._steps = max(usage.simulator_steps, 1) * self._growth
        return True


class Evaluation:
    """Evaluates the model of a strategy at the stages of a run, each of them once."""

    def __init__(
        self,
        agreements: Agreements,
        strategy: str = "",
        seed: int = 0,
        first: int = 0,
    ) -> None:
        self._agreements = agreements
        self._model = model_of(strategy, seed)
        self._points: dict[int, Point] = {}
        self.milestones = partial(Milestones, strategy, first)
        """Makes the milestones of a run: none before `first` executions."""

    def at(self, usage: Usage, graph: StateGraph) -> Point:
        """Return what was spent at a stage, and the agreement of the model."""
        if usage.queries not in self._points:
            spent = usage.queries, usage.executions, usage.simulator_steps
            found: Mapping[str, Any] = self._agreements(self._model(graph))
            self._points[usage.queries] = Point(*spent, seconds=usage.seconds, **found)
        return self._points[usage.queries]


def learning_points(
    stages: Iterable[tuple[Usage, StateGraph]], evaluation: Evaluation
) -> Iterator[Point]:
    """Evaluate the model of a run at every milestone and at the end.

    The graphs of all stages may be one object that grows: each is evaluated before the next.
    """
    milestones = evaluation.milestones()
    latest: tuple[Usage, StateGraph] | None = None
    evaluated = True
    for usage, graph in stages:
        latest = usage, graph
        evaluated = milestones.due(usage)
        if evaluated:
            yield evaluation.at(usage, graph)
    if latest is not None and not evaluated:
        yield evaluation.at(*latest)


def where_executions_went(executions: ExecutionTable) -> Shares:
    """Count executions by what they did; those cut short by a budget found nothing new."""
    counts = spending(executions, repeats_policy=True)
    new, repeat, walk = (counts[name] for name in (FIRST_TRIES, REPEATS, ON_THE_WAY))
    return Shares(new, repeat, walk, sum(counts.values()) - new - repeat - walk)
