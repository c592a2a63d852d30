"""The runs that experiments need: each is made once, saved, and shared by all of them.

A run is an ordinary run directory (`capscope show`, `evaluate` and `resume` work on it), so a bench
that is killed continues in the middle of a run. The learning curve is computed from the journal
when the run is over, and saved next to it: reading a journal of many million executions takes a
while.

Random Query would stop long before it has learned anything (25 queries without news come soon), so
its stopping rule is switched off here and its run ends once it has reached `enough` agreement.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from capscope import load
from capscope.assessment import Event, RunSpec, run_assessment
from capscope.assessment.run_state import with_declared
from capscope.journal.journal import Journal
from capscope.journal.run_meta import Budget, Usage
from capscope.journal.settings import Settings
from capscope.logic import to_json
from capscope.model import StateGraph
from capscope.problems import load_problem, source_slug
from capscope.strategy.registry import DEFAULT_STRATEGY, RANDOM
from capscope_experiments.curve import (
    Curve,
    Evaluation,
    Milestones,
    Point,
    learning_points,
    where_executions_went,
)
from capscope_experiments.jobs import Report
from capscope_experiments.measure import SEQUENCES, MeasuredProblem, measure_of
from capscope_experiments.saved_runs import (
    finished_stages,
    load_result,
    open_or_create,
    save_result,
    stages_within,
)

CURVE = "curve.json"
_UNLIMITED = 10**9
_PAIRS_PER_EXECUTION = 500
"""A model that generalizes is first evaluated at one execution per this number of pairs."""


class _Enough(Exception):  # noqa: N818 - not an error: the run has reached its agreement
    pass


@dataclass(frozen=True)
class BenchRun:
    """A run to make."""

    problem: str
    strategy: str
    seed: int
    settings: Settings
    budget: Budget
    enough: float | None = None
    """The agreement at which the run may end."""
    sequences: int = SEQUENCES
    """In the dataset that it is evaluated on, if the truth is not known."""
    label: str = ""
    """What tables call it; empty: its strategy."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", self.label or self.strategy)

    @property
    def name(self) -> str:
        """The name of its run directory; settings that are not the default are part of it."""
        changed = [f"{name}{_short(value)}" for name, value in self.settings.changed().items()]
        return "-".join([source_slug(self.problem), self.strategy, *changed, str(self.seed)])

    @property
    def kind(self) -> str:
        """Runs of the same kind take about the same time."""
        return f"{self.problem} {self.label}"

    @property
    def measured(self) -> MeasuredProblem:
        """What its agreement is measured on."""
        return MeasuredProblem(self.problem, self.settings, self.sequences)

    def spec(self) -> RunSpec:
        """Return what the run is started with: no replays, since steps are compared."""
        settings = replace(self.settings, replays=0)
        if self.strategy == RANDOM:
            settings = replace(settings, patience=_UNLIMITED)
        problem = load_problem(self.problem)
        settings = with_declared(settings, problem)
        return RunSpec(problem, self.problem, self.strategy, self.seed, settings, self.budget)

    def terms(self) -> dict[str, Any]:
        """Return the terms under which a saved curve is valid."""
        return {
            "problem": load_problem(self.problem).fingerprint,
            "budget": to_json(self.budget),
            "enough": self.enough,
            "sequences": self.sequences,
            "measured": [field.name for field in fields(Point)],
        }


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{zlib.crc32(repr(value).encode()):08x}"
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class RunJob:
    """Make a run."""

    folder: Path
    run: BenchRun

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.run.name

    @property
    def kind(self) -> str:
        """Runs of one strategy on one problem take about the same time."""
        return self.run.kind

    def __call__(self, report: Report) -> tuple[BenchRun, Curve]:
        """Make the run."""
        return self.run, make_run(self.folder, self.run, report)


def saved_curve(folder: Path, run: BenchRun) -> Curve | None:
    """Return the curve of a finished run; None if it was not made under the same terms."""
    values = load_result(folder / run.name / CURVE, run.terms())
    if values is None:
        return None
    try:
        curve = Curve.from_dict(values)
    except (KeyError, TypeError):
        return None  # written by another version: it is computed from the journal again
    # Problems in two folders may share the name of a run.
    return curve if curve.problem == run.problem else None


def make_run(folder: Path, run: BenchRun, report: Report) -> Curve:
    """Make a run, or continue it, and return its curve."""
    saved = saved_curve(folder, run)
    if saved is not None:
        return saved
    measure = measure_of(run.measured, folder)
    first = measure.least // _PAIRS_PER_EXECUTION if run.strategy == DEFAULT_STRATEGY else 0
    evaluation = Evaluation(measure.agreements, run.strategy, run.seed, first)
    reason = finish_run(folder, run, report, evaluation)
    report("computing the learning curve")
    path = folder / run.name
    points = tuple(_points(path, run, evaluation))
    made = load(path).executions.first_queries(points[-1].queries)
    shares = where_executions_went(made)
    curve = Curve(
        run.problem, run.strategy, run.seed, points, reason, shares, measure.least, measure.name
    )
    save_result(path / CURVE, run.terms(), curve.as_dict())
    return curve


def finish_run(
    folder: Path, run: BenchRun, report: Report, evaluation: Evaluation | None = None
) -> str:
    """Make a run, or continue it, until it ends, and return why it ended.

    A run that may end when it has learned enough needs the evaluation.
    """
    spec = run.spec()
    with open_or_create(folder / run.name, spec) as directory:
        return _complete(directory.journal, spec, run, evaluation, report)


def _complete(
    journal: Journal, spec: RunSpec, run: BenchRun, evaluation: Evaluation | None, report: Report
) -> str:
    stopped = journal.read_meta().stop_reason
    if run.enough is None and stopped is not None:
        return str(stopped)
    milestones = evaluation.milestones() if evaluation else Milestones()

    def check(usage: Usage, graph: StateGraph) -> None:
        if run.enough is None or evaluation is None or not milestones.due(usage):
            return
        if evaluation.at(usage, graph).agreement >= run.enough:
            raise _Enough

    def listen(event: Event) -> None:
        report(f"{event.usage.executions:,} executions")
        check(event.usage, event.graph)

    try:
        if run.enough is not None:
            # A continued run is checked at the same milestones as one never interrupted.
            for usage, graph in finished_stages(journal.path.parent, run.budget):
                check(usage, graph)
        run_assessment(journal, spec, listen)
        return str(journal.read_meta().stop_reason)
    except _Enough:
        return "enough learned"


def _points(path: Path, run: BenchRun, evaluation: Evaluation) -> Iterator[Point]:
    """Yield the points up to where the run ends; the journal may go further for another bench."""
    point = None
    for point in learning_points(stages_within(path, run.budget), evaluation):
        yield point
        if run.enough is not None and point.agreement >= run.enough:
            return
    if point is None:  # discovery alone spent the budget
        whole = load(path)
        yield evaluation.at(whole.usage, whole.graph)
