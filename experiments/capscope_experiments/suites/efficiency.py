"""E1: do informative queries save executions? Learning curves of every strategy.

The baselines (Random Query with 25, 3 and 1 draws, and a uniformly drawn untried pair) run until
they reach the highest level of agreement, or until they have taken 25 times the steps that the
better of the paper's strategies needed with the same seed, without departures from the paper if it
was run so; their cost is then reported as "more than". The other strategies do not set that bound:
they need so little that the baselines would be cut too early.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from capscope import load
from capscope.insight.evaluation.reference import TrueModel, enumerate_truth
from capscope.journal.run_meta import Budget
from capscope.logic import State
from capscope.problems import load_problem
from capscope.run import Run
from capscope.stats.audit import AuditResult, step_weights
from capscope.strategy.registry import DEFAULT_STRATEGY, STRATEGIES
from capscope_experiments.bench import Bench, Section
from capscope_experiments.bench_runs import BenchRun
from capscope_experiments.curve import CONSTANT, Curve, Point, Shares
from capscope_experiments.curve_report import (
    end_table,
    needed_tables,
    ratios_table,
    tabulated,
)
from capscope_experiments.curve_rows import combined_curves
from capscope_experiments.figure import draw_curves, draw_paper_figure, legible
from capscope_experiments.jobs import Report
from capscope_experiments.measure import MeasuredProblem, NothingChanges, measure_of
from capscope_experiments.plan import BASELINES
from capscope_experiments.result_rows import Row, grouped, number, numbers, write_rows
from capscope_experiments.table import (
    markdown_table,
    spread,
    spread_of_cells,
    spread_of_reached,
)
from capscope_experiments.variant import Variant

CUT = 25
PAPER_FIGURE = "efficiency-paper"
_AUDITS_FILE = "efficiency-audits.csv"
_AUDIT_HEADS = (
    *("problem", "strategy", "seed", "passed", "audited", "executions", "rate"),
    *("level", "executions_without_audit"),
)
_UNAUDITED = Budget(executions=20_000)
"""For runs without an audit, which do not end by themselves."""
_TEXT = """
Agreement is 1 − VD, against the truth if it is known, else on sampled sequences. *--paper* marks
runs without the departures that `docs/method.md` lists. Executions until a run first reached a
level: mean ± one standard deviation over the seeds; "> " if none reached it, on the problems and at
the two highest levels that some run reached. *uniform* draws an untried pair of a seen state and a
capability; *nothing changes* is the predictor that expects no change.
[efficiency.csv](efficiency.csv) has every point of every run, also of strategies and variants that
are not on this page, and the agreement by other weights: those of a dataset of random sequences
(*by_data*), the same with the paper's filter, which omits rules and capabilities that never achieve
their intent (*filtered*), and each transition *once*. [efficiency-runs.csv](efficiency-runs.csv)
has the end of each run and the purpose of its executions.
"""
_RATIOS = """
At the highest level that all runs of a strategy reached: how many times its steps Random Query
needed (the paper's kind of ratio), and how many times its executions and steps the best baseline
needed. "> ": the baseline was ended before. Levels that the constant predictor has are left out.
"""
_END = """
At the end: agreement, and where measured the mean total variation distance (0 is exact) over the
pairs that change something, and over stochastic pairs; agreement is dominated by pairs in which
nothing happens. In brackets the number of seeds; * marks runs that a budget ended.
"""
_AUDITS = """
The adaptive strategy's claims. *Executions to*: with `--audit 0`. *Stated after*: until the audit
passed, with its own executions. *Surprises*: the exact rate of executions, drawn as the audit draws
them, whose outcome the audited model held impossible; the statement is true if it is at most the
audited rate.
"""


def efficiency(bench: Bench) -> Section:
    """Run every strategy on every problem and compare what they needed."""
    measured = [*efficiency_curves(bench), *constant_curves(bench)]
    curves = combined_curves(bench, "efficiency", measured)
    audits = combined_audits(bench)
    figures = draw_curves(legible(curves), bench.levels, bench.output, "efficiency")
    figures += draw_paper_figure(curves, bench.levels, bench.output, PAPER_FIGURE)
    shown = tabulated(curves)
    ratios = ratios_table(shown, bench.levels)
    body = "\n\n".join(
        [
            _TEXT.strip(),
            "![agreement over simulator steps](efficiency.png)",
            *needed_tables(shown, bench.levels),
            *([_RATIOS.strip(), ratios] if ratios else []),
            *(_END.strip(), end_table(shown)),
            *([_AUDITS.strip(), audits_table(audits, bench.levels[-1])] if audits else []),
        ]
    )
    files = ("efficiency.csv", "efficiency-runs.csv", *([_AUDITS_FILE] if audits else []))
    return Section("E1: learning efficiency", body, (*files, *figures))


def combined_audits(bench: Bench) -> list[Row]:
    """Compare the statement of each audited run with the truth; return all rows, kept ones too."""
    # A budget of steps, for comparisons, ends a run before its audit.
    cases = tuple(c for c in bench.cases if c.budget(DEFAULT_STRATEGY).simulator_steps is None)
    audited = replace(bench, cases=cases)
    runs = audited.planned_runs((DEFAULT_STRATEGY,))
    found: dict[BenchRun, dict[str, Any]] = audited.analyze("audits", runs, audited_rate)
    level, needed = bench.levels[-1], executions_without_audit(audited)
    measured = [
        [
            *(run.problem, run.strategy, run.seed),
            *(row["passed"], row["audited"], row["executions"], row["rate"]),
            *(level, needed[run.problem, run.seed]),
        ]
        for run, row in found.items()
    ]
    return write_rows(bench, _AUDITS_FILE, _AUDIT_HEADS, measured, optional=True)


def audits_table(audits: Sequence[Row], level: float) -> str:
    """Show what audited runs state, and whether it is true."""
    rows = []
    for (problem, _), runs in grouped(audits).items():
        passed = [run for run in runs if run["passed"] == str(True)]
        known = [run for run in passed if run["rate"]]
        rates = [run["rate"] for run in known]
        true = sum(_highest_rate(run["rate"], len(known)) <= float(run["audited"]) for run in known)
        rows.append(
            [
                problem,
                _executions_to(level, runs),
                f"{len(passed)} of {len(runs)}",
                spread(numbers(passed, "executions")) if passed else "–",
                spread_of_cells(rates, "{:.3f}%", 100) if rates else "–",
                f"{true} of {len(rates)}" if rates else "–",
            ]
        )
    heads = [f"executions to {level:g}", "passed", "stated after", "surprises", "true"]
    return markdown_table(["problem", *heads], rows)


def _highest_rate(cell: str, runs: int) -> float:
    """Return the rate of a run; if only the mean of some runs is known, what none can exceed."""
    mean, together, _ = cell.partition("±")
    return float(mean) * (runs if together else 1)


def _executions_to(level: float, runs: Sequence[Row]) -> str:
    """Show what was needed without an audit, unless another level was measured."""
    if any(float(run["level"]) != level for run in runs):
        return "–"
    cells = [run["executions_without_audit"] for run in runs]
    if all(cells):
        return spread_of_cells(cells)
    return spread_of_reached([number(cell) for cell in cells])


def executions_without_audit(bench: Bench) -> dict[tuple[str, int], int | None]:
    """Return by problem and seed the executions to the highest level without an audit."""
    level = bench.levels[-1]
    unaudited = replace(bench, settings=replace(bench.settings, audit=0.0))
    runs = [
        replace(run, enough=level, budget=_UNAUDITED if run.budget == Budget() else run.budget)
        for run in unaudited.planned_runs((DEFAULT_STRATEGY,))
    ]
    reached = [(curve, curve.first_at(level)) for curve in unaudited.curves(runs)]
    return {(c.problem, c.seed): point.executions if point else None for c, point in reached}


def audited_rate(path: Path, run: BenchRun) -> dict[str, Any]:
    """Return how an audit ended and, if the truth is known, the exact rate of surprises."""
    made, known = load(path), load_problem(run.problem).truth
    rate = None
    if known is not None and made.audit is not None:
        rate = surprise_rate(made, enumerate_truth(known), made.audit)
    return {
        "passed": made.audit is not None and made.audit.passed,
        "audited": made.identity.settings.audit,
        "executions": made.usage.executions,
        "rate": rate,
    }


def surprise_rate(run: Run, truth: TrueModel, audit: AuditResult) -> float:
    """Return how often an execution, drawn as the audit draws them, surprises the audited model.

    Capabilities are those of the run: each is as likely as any other, after any history.
    """
    model = run.model
    intents = list(run.capabilities)
    initial = run.initial_positions.states
    met = {state: 1.0 / len(initial) for state in initial}
    rate = 0.0
    for weight in step_weights(max(audit.length, 1)):
        after_step: defaultdict[State, float] = defaultdict(float)
        for state, share in met.items():
            for capability, intent in enumerate(intents):
                for after, probability in truth.predict(state, intent).items():
                    part = share * probability / len(intents)
                    after_step[after] += part
                    if not model.foresees(state, capability, after):
                        rate += weight * part
        met = after_step
    return rate


def efficiency_curves(bench: Bench) -> list[Curve]:
    """Make all runs, first those that determine how far the baselines go."""
    searched = bench.curves(bench.planned_runs())
    return [*searched, *bench.curves(list(_baseline_runs(bench, searched)))]


def constant_curves(bench: Bench) -> list[Curve]:
    """Return the agreement of the constant predictor on each problem, as a curve of one point."""
    problems = [bench.planned_run(c, c.strategies[0], bench.seeds[0]).measured for c in bench.cases]
    bench.build_datasets(problems)
    return list(bench.run_jobs([ConstantJob(bench.runs, measured) for measured in problems]))


@dataclass(frozen=True)
class ConstantJob:
    """Evaluate the constant predictor on a problem."""

    folder: Path
    measured: MeasuredProblem

    @property
    def name(self) -> str:
        """The predictor and the problem."""
        return f"{CONSTANT} on {self.measured.problem}"

    @property
    def kind(self) -> str:
        """Each problem takes its own time."""
        return self.name

    def __call__(self, report: Report) -> Curve:
        """Evaluate it."""
        measure = measure_of(self.measured, self.folder)
        found: Mapping[str, Any] = measure.agreements(NothingChanges(measure.intents))
        point = Point(queries=0, executions=0, simulator_steps=0, seconds=0.0, **found)
        return Curve(
            *(self.measured.problem, CONSTANT, 0, (point,), "no execution needed", Shares()),
            least=measure.least,
            measure=measure.name,
        )


def _baseline_runs(bench: Bench, searched: Sequence[Curve]) -> Iterator[BenchRun]:
    for run in bench.planned_runs(BASELINES):
        if run.budget == Budget():
            others = [c for c in searched if (c.problem, c.seed) == (run.problem, run.seed)]
            run = replace(run, budget=_cut(others, bench.levels[-1]))
        yield replace(run, enough=bench.levels[-1])


def _cut(searched: Sequence[Curve], level: float) -> Budget:
    named = STRATEGIES.all
    printed = [c for c in searched if Variant.parse(c.strategy).as_printed]
    papers = [c for c in searched if c.strategy in named and named[c.strategy].repeats_policy]
    curves = printed or papers or list(searched)
    return Budget(simulator_steps=CUT * steps_to_beat(curves, level)) if curves else Budget()


def steps_to_beat(searched: Sequence[Curve], level: float) -> int:
    """Return the fewest steps to a level; if no run reached it, the most steps of any."""
    reached = [point for curve in searched if (point := curve.first_at(level))]
    if reached:
        return min(point.simulator_steps for point in reached)
    return max(curve.last.simulator_steps for curve in searched)
