"""Learning curves: how much an agent had to do until the model was right.

Every strategy runs on the same problems with the same seeds. After each query the exact agreement
of the pessimistic model with the agent could be computed, but it costs more than the query; it is
computed whenever simulator steps or executions have grown by 2 %, which is the resolution of every
number here. Runs are independent, so they share the cores.

Random Query would stop long before it has learned anything (25 queries without news come soon), so
its stopping rule is switched off: it runs until it reaches the highest level, or until it has taken
25 times the steps that the better of the paper's strategies needed with the same seed, and is then
reported as "more than".
"""

from __future__ import annotations

import itertools
import multiprocessing
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from capscope.assessment import Budget, Event, Run, RunSpec, Usage, run_assessment
from capscope.errors import CapscopeError
from capscope.evaluation.accounting import Shares, where_executions_went
from capscope.evaluation.bound import least_executions
from capscope.evaluation.truth import enumerate_truth
from capscope.evaluation.variational_distance import exact_distance
from capscope.model import Models
from capscope.query import Settings
from capscope.query.strategies import ADAPTIVE
from capscope.world import Problem

LEVELS = (0.9, 0.99)
_GROWTH = 1.02
Load = Callable[[str], Problem]


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
    """The least executions with which any learner could get by."""

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


@dataclass(frozen=True)
class Job:
    """A run to make: on which problem, how, and from which agreement on it may end."""

    load: Load
    problem: str
    strategy: str
    seed: int
    settings: Settings
    budget: Budget
    enough: float = 2.0

    @property
    def key(self) -> tuple[str, str, int]:
        """What tells the runs of one experiment apart."""
        return self.problem, self.strategy, self.seed


def steps_to_beat(searched: Sequence[Curve]) -> int:
    """Return the fewest steps to the highest level; those of the dearest run if none got there."""
    reached = [point for curve in searched if (point := curve.first_at(LEVELS[-1]))]
    if reached:
        return min(point.simulator_steps for point in reached)
    return max(curve.last.simulator_steps for curve in searched)


class _Enough(Exception):  # noqa: N818 - not an error: the run has shown what it was made for
    pass


def learn(job: Job) -> Curve:
    """Make one run and record its curve."""
    problem = job.load(job.problem)
    # A second copy answers for the truth, so that the agent of the run starts with nothing solved.
    known = job.load(job.problem).truth
    if known is None:
        raise CapscopeError(f"{job.problem} does not know its truth; no exact agreement to record")
    truth = enumerate_truth(known)
    spec = RunSpec(problem, job.problem, job.strategy, job.seed, job.settings, job.budget)
    points: list[Point] = []

    def record(usage: Usage, models: Models) -> None:
        agreement = 1 - exact_distance(models.pessimistic, truth)
        points.append(
            Point(usage.queries, usage.executions, usage.simulator_steps, agreement, usage.seconds)
        )
        if agreement >= job.enough:
            raise _Enough

    def listen(event: Event) -> None:
        usage = event.usage
        if (
            not points
            or usage.simulator_steps >= points[-1].simulator_steps * _GROWTH
            or usage.executions >= points[-1].executions * _GROWTH
        ):
            record(usage, event.models)

    with (
        tempfile.TemporaryDirectory(prefix="capscope-bench-") as folder,
        Run.create(Path(folder) / "run", spec) as run,
    ):
        try:
            assessment = run_assessment(run, spec, listen)
            reason = assessment.stopped_because
            record(assessment.usage, assessment.models)
        except _Enough:
            reason = "enough learned"
        shares = where_executions_went(run.journal)
    least = least_executions(truth)
    return Curve(job.problem, job.strategy, job.seed, tuple(points), reason, shares, least)


@dataclass(frozen=True)
class Experiment:
    """Which problems, strategies and seeds to compare."""

    load: Load
    problems: Sequence[str]
    strategies: Sequence[str]
    seeds: Sequence[int]
    settings: Settings
    budget: Budget
    workers: int = 1
    cut: int = 25
    """Random Query ends at this multiple of the steps that the better of the paper's needed."""

    def run(self, finished: Callable[[Curve], None], done: Sequence[Curve] = ()) -> list[Curve]:
        """Make all runs but those done already, the searching strategies first.

        `finished` hears of each run as it ends, in whatever order they do.
        """
        asked = set(itertools.product(self.problems, self.strategies, self.seeds))
        curves = [curve for curve in done if (curve.problem, curve.strategy, curve.seed) in asked]
        for batch in (self._searching, self._random):
            have = {(curve.problem, curve.strategy, curve.seed) for curve in curves}
            jobs = [job for job in batch(curves) if job.key not in have]
            for curve in self._carry_out(jobs):
                finished(curve)
                curves.append(curve)
        return sorted(curves, key=self._place)

    def _place(self, curve: Curve) -> tuple[int, int, int]:
        strategies = [*self.strategies, curve.strategy]
        problems = [*self.problems, curve.problem]
        return problems.index(curve.problem), strategies.index(curve.strategy), curve.seed

    def _job(self, problem: str, strategy: str, seed: int) -> Job:
        return Job(self.load, problem, strategy, seed, self.settings, self.budget)

    def _searching(self, curves: Sequence[Curve]) -> Iterator[Job]:
        for problem in self.problems:
            for seed in self.seeds:
                for strategy in self.strategies:
                    if strategy != "random":
                        yield self._job(problem, strategy, seed)

    def _random(self, curves: Sequence[Curve]) -> Iterator[Job]:
        if "random" not in self.strategies:
            return
        for problem in self.problems:
            for seed in self.seeds:
                searched = [c for c in curves if (c.problem, c.seed) == (problem, seed)]
                # The paper's strategies set the measure; the adaptive one needs so little that
                # little would be seen of Random Query.
                searched = [c for c in searched if c.strategy != ADAPTIVE] or searched
                job = self._job(problem, "random", seed)
                if searched:
                    steps = self.cut * steps_to_beat(searched)
                    job = replace(job, budget=replace(self.budget, simulator_steps=steps))
                endless = replace(self.settings, patience=10**9)
                yield replace(job, settings=endless, enough=LEVELS[-1])

    def _carry_out(self, jobs: Sequence[Job]) -> Iterator[Curve]:
        if self.workers == 1:
            yield from map(learn, jobs)
            return
        # A fresh interpreter for each worker: nothing of this process leaks into a run.
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(self.workers, mp_context=context) as pool:
            for future in as_completed([pool.submit(learn, job) for job in jobs]):
                yield future.result()
