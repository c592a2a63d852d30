"""AALpy on the same agents: what L*_MDP and Alergia need, compared with our own strategies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any

from capscope import load
from capscope.errors import CapscopeError
from capscope.insight.evaluation.reference import TrueModel, enumerate_truth
from capscope.problems import load_problem
from capscope.strategy.registry import DEFAULT_STRATEGY
from capscope_experiments.baselines.aalpy import METHODS, NOTE, PeerSettings, learn_with_aalpy
from capscope_experiments.bench import Bench, Section
from capscope_experiments.bench_runs import BenchRun
from capscope_experiments.curve import Evaluation, learning_points
from capscope_experiments.jobs import Report
from capscope_experiments.measure import mean_total_variation
from capscope_experiments.result_rows import Row, number, numbers, write_rows
from capscope_experiments.saved_runs import load_result, save_result
from capscope_experiments.table import markdown_table, spread, spread_of_reached

_OURS = (DEFAULT_STRATEGY, "exhaustive", "mcqs-s")
_NEAR, _EXACT = 0.01, 1e-9
_TEXT = """
The same agent as a system under learning of AALpy: an input asks for a capability, and the output
is the symbolic state in which the attempt ended. Mean total variation (TV) to the truth is over all
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
    """Run a method of AALpy on one problem."""

    folder: Path
    problem: str
    settings: PeerSettings

    @property
    def name(self) -> str:
        """Its problem, method and seed."""
        return f"aalpy-{self.problem}-{self.settings.method}-{self.settings.seed}"

    @property
    def kind(self) -> str:
        """Runs of one method take about the same time."""
        return f"{self.problem} {self.settings.method}"

    def __call__(self, report: Report) -> PeerRow:
        """Learn, or load what was learned before."""
        path, terms = self.folder / f"{self.name}.json", asdict(self.settings)
        saved = load_result(path, terms)
        if saved is None:
            saved = asdict(self._learn())
            save_result(path, terms, saved)
        return PeerRow(**saved)

    def _learn(self) -> PeerRow:
        problem, truth = load_problem(self.problem), _truth(self.problem)
        run = learn_with_aalpy(problem, truth.capabilities, truth, self.settings)
        near, exact = run.first_within(_NEAR), run.first_within(_EXACT)
        return PeerRow(
            self.problem,
            self.settings.method,
            self.settings.seed,
            None if near is None else near.executions,
            None if exact is None else exact.executions,
            run.last.executions,
            run.last.resets,
            run.last.seconds,
            run.last.mean_tv,
            run.stopped_because,
        )


def evaluate_own_run(path: Path, run: BenchRun) -> PeerRow:
    """Evaluate one of our runs as those of AALpy are."""
    truth, made = _truth(run.problem), load(path)
    evaluation = Evaluation(lambda model: {"agreement": 1 - mean_total_variation(model, truth)})
    points = list(learning_points(made.replay(), evaluation))
    near, exact = (
        next((p.executions for p in points if p.agreement >= 1 - tv), None)
        for tv in (_NEAR, _EXACT)
    )
    last = points[-1]
    resets = int(made.executions.queries.draws.sum())
    return PeerRow(
        run.problem, run.strategy, run.seed, near, exact, last.executions, resets, last.seconds,
        1 - last.agreement, "",
    )  # fmt: skip


def _truth(problem: str) -> TrueModel:
    known = load_problem(problem).truth
    if known is None:
        raise CapscopeError(f"{problem} has no known truth, which this comparison needs")
    return enumerate_truth(known)


def measure_peers(bench: Bench) -> Section:
    """Run AALpy's methods and compare them with our own strategies."""
    runs = bench.planned_runs(_OURS)
    curves = bench.curves(runs)
    own = bench.analyze("mean TV", runs, evaluate_own_run).values()
    jobs = [
        PeerJob(bench.runs, case.problem, PeerSettings(method=method, seed=seed))
        for case in bench.cases
        for method in METHODS
        for seed in bench.seeds
    ]
    found: list[PeerRow] = [
        replace(row, ended_by=curve.stopped_because) for row, curve in zip(own, curves, strict=True)
    ]
    found += bench.run_jobs(jobs)
    names = [*_OURS, *METHODS]
    found.sort(key=lambda row: names.index(row.method))  # jobs end in any order
    heads = [field.name for field in fields(PeerRow)]
    rows = write_rows(bench, "peers.csv", heads, map(astuple, found))
    text = _TEXT.format(note=NOTE).strip()
    body = f"{text}\n\n{_table(rows)}\n\nEvery run: [peers.csv](peers.csv)."
    return Section("AALpy on the same agents", body, ("peers.csv",))


def _table(rows: Sequence[Row]) -> str:
    heads = ["problem", "method", "executions to TV 0.01", "executions to the exact model"]
    heads += ["executions in all", "resets", "mean TV at the end", "seeds"]
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["problem"], row["method"]), []).append(row)
    lines: list[list[Any]] = [
        [
            *key,
            spread_of_reached([number(run["executions_near"]) for run in runs]),
            spread_of_reached([number(run["executions_exact"]) for run in runs]),
            *(spread(numbers(runs, name)) for name in ("executions", "resets")),
            spread(numbers(runs, "mean_tv"), "{:.4f}"),
            len(runs),
        ]
        for key, runs in groups.items()
    ]
    return markdown_table(heads, lines)
