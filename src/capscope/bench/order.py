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
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from capscope.assessment import Budget, Event, Run, RunSpec, Usage, run_assessment
from capscope.assessment.reading import replay
from capscope.assessment.run import JOURNAL
from capscope.bench.kept import keep, kept
from capscope.bench.measure import SEQUENCES, Measure, Subject, measure_of
from capscope.bench.workers import Hear
from capscope.evaluation.accounting import where_executions_went
from capscope.evaluation.curve import Curve, Milestones, learning_points
from capscope.problems import load_problem, source_slug
from capscope.query import Settings
from capscope.query.strategies import RANDOM

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
        limits = {"enough": self.enough, "sequences": self.sequences}
        return {"budget": self.budget.as_dict(), **limits}


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{zlib.crc32(repr(value).encode()):08x}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def kept_curve(shelf: Path, order: Order) -> Curve | None:
    """Return the curve of a run that is over; None if it was not made under the same terms."""
    values = kept(shelf / order.name / CURVE, order.terms())
    return None if values is None else Curve.from_dict(values)


def fulfil(shelf: Path, order: Order, hear: Hear) -> Curve:
    """Make the run, or go on with it, and read off its curve."""
    known = kept_curve(shelf, order)
    if known is not None:
        return known
    spec = order.spec()
    path = shelf / order.name
    measure = measure_of(order.subject, shelf)
    with _opened(path, spec) as run:
        try:
            reason = run_assessment(run, spec, _listener(order, measure, hear)).stopped_because
        except _Enough:
            reason = "enough learned"
        hear("reading the curve off the journal")
        points = tuple(learning_points(replay(run.journal), measure.agreement))
        shares = where_executions_went(run.journal)
    curve = Curve(
        order.problem, order.strategy, order.seed, points, reason, shares, measure.least,
        measure.name,
    )  # fmt: skip
    keep(path / CURVE, order.terms(), curve.as_dict())
    return curve


def _opened(path: Path, spec: RunSpec) -> Run:
    if not (path / JOURNAL).exists():
        return Run.create(path, spec)
    run = Run.open(path)
    try:
        run.admit(spec)
    except BaseException:
        run.close()
        raise
    return run


def _listener(order: Order, measure: Measure, hear: Hear) -> Callable[[Event], None]:
    milestones = Milestones()

    def listen(event: Event) -> None:
        hear(_standing(event.usage))
        if order.enough is None or not milestones.due(event.usage):
            return
        if measure.agreement(event.models.pessimistic) >= order.enough:
            raise _Enough

    return listen


def _standing(usage: Usage) -> str:
    return f"{usage.executions:,} executions"
