"""What every experiment is given, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from capscope.assessment.worker_links import Link
from capscope.assessment.workers import WorkerSettings
from capscope.journal.settings import Settings
from capscope.problems import is_named, source_slug
from capscope.strategy.registry import STRATEGIES
from capscope_experiments.bench_runs import BenchRun, RunJob, finish_run, saved_curve
from capscope_experiments.curve import Curve
from capscope_experiments.jobs import (
    Job,
    Report,
    ShowProgress,
    run_jobs,
    show_nothing,
)
from capscope_experiments.measure import DatasetJob, MeasuredProblem
from capscope_experiments.plan import BASELINES, BenchCase
from capscope_experiments.variant import Variant, strategy_of

Analysis = Callable[[Path, BenchRun], Any]
"""Analyzes a run in a directory; a function of a module, so that it can be sent to a process."""


@dataclass(frozen=True)
class Bench:
    """What experiments compare, where their runs are, and where they write."""

    output: Path
    runs: Path
    cases: tuple[BenchCase, ...]
    seeds: tuple[int, ...]
    settings: Settings
    levels: tuple[float, ...]
    workers: int
    """Jobs at a time."""
    show: ShowProgress = show_nothing
    connect: Callable[[], Link] | None = None
    """Starts a worker for a job; None: a process of this machine, or this one for one at a time."""
    sampling: WorkerSettings = field(default_factory=WorkerSettings)
    """What executes the sequences of evaluation datasets."""
    keep: bool = False
    """Keep the rows in the output folder that are not measured again."""

    def measures(self, row: Mapping[str, str]) -> bool:
        """Return whether this bench measures what a row of results is about."""
        if not row.get("problem"):
            return bool(self.cases)
        label = row_label(row)
        measured = [c.strategies for c in self.cases if row_problem(c.problem) == row["problem"]]
        # What is not one of the strategies, such as a method of AALpy, is measured with any.
        return any(label in labels or not is_strategy(label) for labels in measured)

    def curves(self, runs: Sequence[BenchRun]) -> list[Curve]:
        """Return the curve of every run, in the same order; make the runs that are missing."""
        curves = {run: saved_curve(self.runs, run) for run in runs}
        missing = [run for run, curve in curves.items() if curve is None]
        self.build_datasets(run.measured for run in missing)
        for run, curve in self.run_jobs([RunJob(self.runs, run) for run in missing]):
            curves[run] = curve
        found = ((run, curves[run]) for run in runs)
        return [replace(curve, strategy=run.label) for run, curve in found if curve is not None]

    def build_datasets(self, problems: Iterable[MeasuredProblem]) -> None:
        """Build the datasets that are missing; two runs must not build one at the same time.

        One after the other: all workers share the sequences of each.
        """
        jobs = [DatasetJob(self.runs, p, self.sampling) for p in dict.fromkeys(problems)]
        list(run_jobs(jobs, 1, self.show))

    def analyze(
        self, title: str, runs: Sequence[BenchRun], analysis: Analysis
    ) -> dict[BenchRun, Any]:
        """Analyze runs in parallel, made if missing; return the results in their order."""
        jobs = [AnalysisJob(title, self.runs / run.name, run, analysis) for run in runs]
        found = dict(self.run_jobs(jobs))
        return {run: found[run] for run in runs}

    def run_jobs(self, jobs: Sequence[Job]) -> Iterator[Any]:
        """Run jobs in parallel; yield their results as they finish."""
        return run_jobs(jobs, self.workers, self.show, self.connect)

    def planned_runs(self, labels: Collection[str] | None = None) -> list[BenchRun]:
        """Return the runs of every case, strategy and seed, by default without the baselines.

        Seed by seed, so that an interrupted bench has something of everything.
        """
        return [
            self.planned_run(case, label, seed)
            for seed in self.seeds
            for case in self.cases
            for label in case.strategies
            if (label not in BASELINES if labels is None else label in labels)
            if seed in self.seeds_of(case, label)
            if Variant.parse(label).possible_with(self.settings)
        ]

    def seeds_of(self, case: BenchCase, label: str) -> Sequence[int]:
        """Return the seeds of a strategy; the plan may have fewer for long runs."""
        return self.seeds[: case.max_seeds.get(label, len(self.seeds))]

    def planned_run(self, case: BenchCase, label: str, seed: int) -> BenchRun:
        """Return a run of a case with the settings of the bench."""
        variant, settings = Variant.parse(label), self.settings
        if case.intents and not settings.intents:
            settings = replace(settings, intents=case.intents)
        return BenchRun(
            *(case.problem, variant.strategy, seed, variant.applied(settings), case.budget(label)),
            sequences=case.sequences,
            label=label,
        )


@dataclass(frozen=True)
class AnalysisJob:
    """Analyze a run; it is made first if it is missing or was interrupted."""

    title: str
    path: Path
    run: BenchRun
    analysis: Analysis

    @property
    def name(self) -> str:
        """The title and the name of the run."""
        return f"{self.title} of {self.run.name}"

    @property
    def kind(self) -> str:
        """Runs of one strategy on one problem take about the same time."""
        return self.run.kind

    def __call__(self, report: Report) -> tuple[BenchRun, Any]:
        """Analyze it."""
        finish_run(self.path.parent, self.run, report)
        return self.run, self.analysis(self.path, self.run)


def row_problem(source: str) -> str:
    """Return what rows call a problem: its name, or that of its file, which may be anywhere.

    >>> row_problem("/home/me/lamps-domain.pddl:/home/me/two-lamps.pddl")
    'two-lamps'
    """
    return source if is_named(source) else source_slug(source)


def row_label(row: Mapping[str, str]) -> str:
    """Return the strategy or method that a row of results is about."""
    return row.get("strategy") or row.get("method", "")


def is_strategy(label: str) -> bool:
    """Return whether a label names a strategy, or a variant of one."""
    return STRATEGIES.get(strategy_of(label)) is not None


@dataclass(frozen=True)
class Section:
    """The result of an experiment: a section in Markdown, and the files it wrote."""

    title: str
    body: str
    files: tuple[str, ...]

    def text(self) -> str:
        """Return the section as a page."""
        return f"# {self.title}\n\n{self.body.strip()}\n"
