"""AALpy on the same agents: what L*_MDP and Alergia need, beside our own strategies."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from capscope.assessment.reading import replay

from capscope.analysis.evaluation.truth import TrueModel, enumerate_truth
from capscope.analysis.evaluation.variational_distance import mean_total_variation
from capscope.errors import CapscopeError
from capscope.problems import load_problem
from capscope.record.journal import Journal
from capscope.record.run_directory import RunDirectory
from capscope.strategy.registry import ADAPTIVE
from capscope_experiments.baselines.aalpy import METHODS, NOTE, PeerSettings, learn_with_aalpy
from capscope_experiments.curve import learning_points
from capscope_experiments.kept import keep, kept
from capscope_experiments.order import Order
from capscope_experiments.suite import Bench, Section
from capscope_experiments.table import markdown_table, spread, write_csv
from capscope_experiments.workers import Hear

_OURS = (ADAPTIVE, "mcqs-s")
_NEAR, _EXACT = 0.01, 1e-9
_TEXT = """
The same agent as a system under learning of AALpy: an input asks for a capability, the output is
the symbolic state in which the attempt ended. Mean total variation (TV) to the truth is over all
reachable pairs of state and capability; a pair that a model does not know counts 1. A *reset* is a
return to the initial position (AALpy) or to any stored one (ours). {note}
"""


@dataclass(frozen=True)
class PeerRow:
    """What one run needed."""

    problem: str
    method: str
    seed: int
    executions_near: int | None
    """Executions until mean TV was at most 0.01."""
    executions_exact: int | None
    executions: int
    resets: int
    seconds: float
    mean_tv: float
    ended_by: str


@dataclass(frozen=True)
class PeerJob:
    """A method of AALpy on one problem."""

    shelf: Path
    problem: str
    settings: PeerSettings

    @property
    def name(self) -> str:
        """Its method, problem and seed."""
        return f"aalpy-{self.problem}-{self.settings.method}-{self.settings.seed}"

    @property
    def kind(self) -> str:
        """Runs of one method take about as long."""
        return f"{self.problem} {self.settings.method}"

    def __call__(self, hear: Hear) -> PeerRow:
        """Learn."""
        path, terms = self.shelf / f"{self.name}.json", asdict(self.settings)
        known = kept(path, terms)
        if known is None:
            problem = load_problem(self.problem)
            truth = _truth(self.problem)
            run = learn_with_aalpy(problem, truth.capabilities, truth, self.settings)
            near, exact = run.first_within(_NEAR), run.first_within(_EXACT)
            known = asdict(
                PeerRow(
                    self.problem,
                    self.settings.method,
                    self.settings.seed,
                    None if near is None else near.executions,
                    None if exact is None else exact.executions,
                    run.executions,
                    run.resets,
                    run.seconds,
                    run.mean_tv,
                    run.stopped_because,
                )
            )
            keep(path, terms, known)
        return PeerRow(**known)


@dataclass(frozen=True)
class OwnJob:
    """One of our runs, judged as AALpy's are."""

    shelf: Path
    order: Order
    ended_by: str

    @property
    def name(self) -> str:
        """The name of the run."""
        return f"mean TV of {self.order.name}"

    @property
    def kind(self) -> str:
        """Runs of one strategy take about as long to read."""
        return self.order.kind

    def __call__(self, hear: Hear) -> PeerRow:
        """Read the run."""
        truth = _truth(self.order.problem)
        with RunDirectory.open(self.shelf / self.order.name, read_only=True) as run:
            points = list(
                learning_points(
                    replay(run.journal), lambda model: 1 - mean_total_variation(model, truth)
                )
            )
            resets = _draws(run.journal)
        near, exact = (
            next((p.executions for p in points if p.agreement >= 1 - tv), None)
            for tv in (_NEAR, _EXACT)
        )
        last = points[-1]
        return PeerRow(
            self.order.problem, self.order.strategy, self.order.seed, near, exact,
            last.executions, resets, last.seconds, 1 - last.agreement, self.ended_by,
        )  # fmt: skip


def _truth(problem: str) -> TrueModel:
    known = load_problem(problem).truth
    if known is None:
        raise CapscopeError(f"{problem} does not know its truth, which peers are judged by")
    return enumerate_truth(known)


def _draws(journal: Journal) -> int:
    numbers = itertools.takewhile(lambda n: journal.query(n) is not None, itertools.count())
    return sum(len(journal.draws(number)) for number in numbers)


def measure_peers(bench: Bench) -> Section:
    """Run AALpy's methods and set our own strategies beside them."""
    orders = bench.orders(_OURS)
    curves = bench.curves(orders)
    jobs: list[PeerJob | OwnJob] = [
        OwnJob(bench.runs, order, curve.stopped_because)
        for order, curve in zip(orders, curves, strict=True)
    ]
    jobs += [
        PeerJob(bench.runs, case.problem, PeerSettings(method=method, seed=seed))
        for case in bench.cases
        for method in METHODS
        for seed in bench.seeds
    ]
    names = [*_OURS, *METHODS]
    rows: list[PeerRow] = sorted(
        bench.carry_out(jobs), key=lambda row: (row.problem, names.index(row.method), row.seed)
    )
    values = [list(asdict(row).values()) for row in rows]
    write_csv(bench.output / "peers.csv", list(asdict(rows[0])), values)
    text = _TEXT.format(note=NOTE).strip()
    body = f"{text}\n\n{_table(rows)}\n\nEvery run: [peers.csv](peers.csv)."
    return Section("AALpy on the same agents", body, ("peers.csv",))


def _table(rows: Sequence[PeerRow]) -> str:
    heads = ["problem", "method", "executions to TV 0.01", "executions to the exact model"]
    heads += ["executions in all", "resets", "seconds", "mean TV at the end", "ended by", "seeds"]
    lines: list[list[Any]] = []
    for (problem, method), found in itertools.groupby(rows, lambda r: (r.problem, r.method)):
        group = list(found)
        lines.append(
            [
                problem,
                method,
                _reached([row.executions_near for row in group]),
                _reached([row.executions_exact for row in group]),
                spread([row.executions for row in group]),
                spread([row.resets for row in group]),
                spread([row.seconds for row in group]),
                spread([row.mean_tv for row in group], "{:.4f}"),
                ", ".join(dict.fromkeys(row.ended_by for row in group)),
                len(group),
            ]
        )
    return markdown_table(heads, lines)


def _reached(executions: Sequence[int | None]) -> str:
    reached = [value for value in executions if value is not None]
    if len(reached) == len(executions):
        return spread(reached)
    return f"{len(reached)} of {len(executions)} runs"
