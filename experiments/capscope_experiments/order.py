"""The runs that experiments need: each is made once, kept, and shared by all of them.

A run is a run directory like any other (`capscope show`, `evaluate` and `resume` work on it), so a
bench that is killed goes on in the middle of the run it was at, and a curve is read off the journal
when the run is over. The curve is kept beside the journal: reading a journal of many million
executions takes a while.

Random Query would stop long before it has learned anything (25 queries without news come soon), so
its stopping rule is switched off here and its run ends once it has learned `enough`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from capscope.assessment.reading import read_journal, replay

from capscope.assessment import Budget, Event, RunDirectory, RunSpec, Usage, run_assessment
from capscope.model import StateGraph
from capscope.problems import load_problem, source_slug
from capscope.record.run_directory import JOURNAL
from capscope.record.settings import Settings
from capscope.strategy.registry import RANDOM
from capscope_experiments.accounting import where_executions_went
from capscope_experiments.curve import Curve, Milestones, Point, learning_points, point_at
from capscope_experiments.kept import keep, kept
from capscope_experiments.measure import SEQUENCES, Measure, Subject, measure_of
from capscope_experiments.workers import Hear

CURVE = "curve.json"
_ENDLESS = 10**9


class _Enough(Exception):  # noqa: N818 - not an error: the run has shown what it was made for
    pass


@dataclass(frozen=True)
class Order:
    """A run to be made."""

    problem: str
    strategy: str
    seed: int
    settings: Settings
    budget: Budget
    enough: float | None = None
    """The agreement from which on the run may end."""
    sequences: int = SEQUENCES
    """In the dataset that it is judged on, where the truth is not known."""

    @property
    def name(self) -> str:
        """The name of its run directory; settings that are not the default are part of it."""
        changed = [f"{name}{_short(value)}" for name, value in self.settings.changed().items()]
        return "-".join([source_slug(self.problem), self.strategy, *changed, str(self.seed)])

    @property
    def kind(self) -> str:
        """What runs that take about as long have in common."""
        return f"{self.problem} {self.strategy}"

    @property
    def subject(self) -> Subject:
        """What it is judged on."""
        return Subject(self.problem, self.settings, self.sequences)

    def spec(self) -> RunSpec:
        """Return what the run is started with."""
        settings = self.settings
        if self.strategy == RANDOM:
            settings = replace(settings, patience=_ENDLESS)
        problem = load_problem(self.problem)
        return RunSpec(problem, self.problem, self.strategy, self.seed, settings, self.budget)

    def terms(self) -> dict[str, Any]:
        """Return what a kept curve must have been made under."""
        return {
            "problem": load_problem(self.problem).fingerprint,
            "budget": self.budget.as_dict(),
            "enough": self.enough,
            "sequences": self.sequences,
        }


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{zlib.crc32(repr(value).encode()):08x}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def kept_curve(shelf: Path, order: Order) -> Curve | None:
    """Return the curve of a run that is over; None if it was not made under the same terms."""
    values = kept(shelf / order.name / CURVE, order.terms())
    if values is None:
        return None
    try:
        curve = Curve.from_dict(values)
    except (KeyError, TypeError):
        return None  # written by another version: it is read off the journal again
    # Problems in two folders may share the name of a run.
    return curve if curve.problem == order.problem else None


def fulfil(shelf: Path, order: Order, hear: Hear) -> Curve:
    """Make the run, or go on with it, and read off its curve."""
    known = kept_curve(shelf, order)
    if known is not None:
        return known
    spec = order.spec()
    path = shelf / order.name
    measure = measure_of(order.subject, shelf)
    with _opened(path, spec) as run:
        reason = _ended_by(run, spec, order, measure, hear)
        hear("reading the curve off the journal")
        points = tuple(_points(run, order, measure))
        shares = where_executions_went(run.journal, points[-1].queries)
    curve = Curve(
        order.problem, order.strategy, order.seed, points, reason, shares, measure.least,
        measure.name,
    )  # fmt: skip
    keep(path / CURVE, order.terms(), curve.as_dict())
    return curve


def _opened(path: Path, spec: RunSpec) -> RunDirectory:
    if not (path / JOURNAL).exists():
        return RunDirectory.create(path, spec.meta())
    run = RunDirectory.open(path)
    try:
        run.admit(spec.identity(), spec.budget)
    except BaseException:
        run.close()
        raise
    return run


def _ended_by(run: RunDirectory, spec: RunSpec, order: Order, measure: Measure, hear: Hear) -> str:
    """Go on with a run until it is over, and say why it is."""
    stopped = run.journal.read_meta().get("stopped", {})
    if order.enough is None and stopped.get("budget") == order.budget.as_dict():
        return str(stopped["because"])
    milestones = Milestones()

    def look(usage: Usage, graph: StateGraph) -> None:
        if order.enough is None or not milestones.due(usage):
            return
        if measure.agreement(graph.pessimistic) >= order.enough:
            raise _Enough

    def listen(event: Event) -> None:
        hear(_standing(event.usage))
        look(event.usage, event.graph)

    try:
        if order.enough is not None:
            # A run that is taken up again is looked at where it would have been without a break.
            for usage, graph in _finished_stages(run, order.budget):
                look(usage, graph)
        return run_assessment(run, spec, listen).stopped_because
    except _Enough:
        return "enough learned"


def _points(run: RunDirectory, order: Order, measure: Measure) -> Iterator[Point]:
    """Yield the points up to where the order ends; the run may have gone further for another."""
    point = None
    for point in learning_points(_stages(run, order.budget), measure.agreement):
        yield point
        if order.enough is not None and point.agreement >= order.enough:
            return
    if point is None:  # discovery alone spent the budget
        reading = read_journal(run.path, run.journal)
        yield point_at(reading.usage, reading.graph, measure.agreement)


def _stages(run: RunDirectory, budget: Budget) -> Iterator[tuple[Usage, StateGraph]]:
    """Replay a run up to the query that spent a budget."""
    for usage, graph in replay(run.journal):
        yield usage, graph
        if budget.spent_by(usage):
            return


def _finished_stages(run: RunDirectory, budget: Budget) -> Iterator[tuple[Usage, StateGraph]]:
    # A query that was interrupted is finished, and looked at, when the run goes on.
    for usage, graph in _stages(run, budget):
        record = run.journal.query(usage.queries - 1)
        if record is not None and record.finished:
            yield usage, graph


def _standing(usage: Usage) -> str:
    return f"{usage.executions:,} executions"
