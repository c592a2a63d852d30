"""E1: do informative queries save executions? Learning curves of every strategy.

Random Query is the baseline. It runs until it reaches the highest level of agreement, or until it
has taken 25 times the steps that the better of the paper's strategies needed with the same seed,
without departures from the paper if it was run so; its cost is then reported as "more than". The
other strategies do not set that bound: they need so little that Random Query would be cut too
early.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from capscope import load
from capscope.analysis.evaluation.reference import enumerate_truth
from capscope.problems import load_problem
from capscope.record.settings import PAPER
from capscope.record.usage import Budget
from capscope.strategy.registry import DEFAULT_STRATEGY, RANDOM, STRATEGIES
from capscope_experiments.audit_truth import surprise_rate
from capscope_experiments.bench import Bench, Section
from capscope_experiments.bench_runs import BenchRun
from capscope_experiments.curve import Curve
from capscope_experiments.curve_report import (
    draw_curves,
    draw_weightings,
    needed_table,
    same_steps_problems,
    same_steps_table,
    shares_table,
    weightings_table,
)
from capscope_experiments.curve_rows import combined_curves
from capscope_experiments.figure import VARIANT
from capscope_experiments.plan import BenchCase
from capscope_experiments.result_rows import Row, grouped, number, numbers, write_rows
from capscope_experiments.table import (
    markdown_table,
    spread,
    spread_of_cells,
    spread_of_reached,
)

CUT = 25
AS_PRINTED = f"{VARIANT} --paper"
_AUDITS_FILE = "efficiency-audits.csv"
_AUDIT_HEADS = (
    *("problem", "strategy", "seed", "passed", "audited", "executions", "rate"),
    *("level", "executions_without_audit"),
)
_UNAUDITED = Budget(executions=20_000)
"""For runs without an audit, which do not end by themselves."""
_TEXT = """
Agreement is 1 − VD. The table shows what a run spent until it first reached a level: mean ± one
standard deviation over the seeds. In brackets, how many times as much Random Query needed. "> "
marks a lower bound: the run, or Random Query, ended before it reached the level. "× the least"
divides the executions by the least that any learner needs which knows only the pairs that it tried,
for an exact model with standard errors of 0.05. That is more than an agreement of 0.99 requires, so
the ratio can be slightly below 1; far below it for the adaptive strategy, which infers most pairs.
"Ended by" is why the runs ended; a run that ended by a budget did not reach its own stop. "--paper"
marks runs without any departure from the paper. All points are in
[efficiency.csv](efficiency.csv), and the runs in [efficiency-runs.csv](efficiency-runs.csv).
"""
WEIGHTINGS_TEXT = """
What a transition weighs changes how fast a strategy looks. *By the evaluation data*: weighted by an
independent dataset of random sequences, so that what random queries visit counts most. *With the
paper's filter*: the same, without rules and capabilities that never achieve their intent; the
paper's figure is nearest to this one. *Each transition once*: all transitions count the same, those
that are hard to reach too; exact if the truth is known.
"""
_SAME_STEPS = """
What was learned from the same number of simulator steps, as in the paper's figure of Overcooked:
agreement on an independent dataset at the end.
"""
_SHARES = """
What the executions were spent on: *new pairs* try a capability in a state for the first time,
*repeats* are the other draws of that query, *walks* pass through known pairs on the way to a new
one, and the last column is queries that found no new pair. The adaptive and the exhaustive strategy
make one draw of a query: what they repeat, they ask again in a later query, usually one without a
new pair.
"""


_AUDITS = """
What the adaptive strategy learns if no audit interrupts it, what it claims, and whether that is
true. *Executions to*: until the level of agreement, with `--audit 0`. *Stated after*: the
executions until the audit was passed, those of the audit included. *Surprises*: the exact share of
executions, drawn as the audit draws them, that end in an outcome which the audited model held
impossible; the statement is true if it is at most the rate that was audited. Constants were chosen
by looking at blocksworld, tireworld, first responders and probabilistic elevators, and a fault was
found on minigrid-q; the other problems are held out.
"""


def efficiency(bench: Bench) -> Section:
    """Run every strategy on every problem and compare what they needed."""
    curves = combined_curves(bench, "efficiency", efficiency_curves(bench))
    audits = combined_audits(bench)
    figures = draw_curves(curves, bench.levels, bench.output, "efficiency")
    figures += draw_weightings(curves, bench.levels, bench.output, "efficiency-weightings")
    body = "\n\n".join(
        [
            _TEXT.strip(),
            "![agreement over simulator steps](efficiency.png)",
            needed_table(curves, bench.levels),
            *_same_steps(curves),
            WEIGHTINGS_TEXT.strip(),
            "![agreement under three weightings](efficiency-weightings.png)",
            weightings_table(curves, bench.levels[-2:]),
            *([_AUDITS.strip(), audits_table(audits, bench.levels[-1])] if audits else []),
            _SHARES.strip(),
            shares_table(curves),
        ]
    )
    files = ("efficiency.csv", "efficiency-runs.csv", *([_AUDITS_FILE] if audits else []))
    return Section("E1: learning efficiency", body, (*files, *figures))


def _same_steps(curves: Sequence[Curve]) -> list[str]:
    """Compare problems on which every strategy has the same budget of steps; nothing without."""
    problems = same_steps_problems(curves)
    return [_SAME_STEPS.strip(), same_steps_table(curves, problems)] if problems else []


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
                spread_of_cells(rates, "{:.3f} %", 100) if rates else "–",
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
    """Return by problem and seed what runs need for the highest level if there is no audit."""
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


def efficiency_curves(bench: Bench) -> list[Curve]:
    """Make all runs, first those that determine how far Random Query goes."""
    searched = bench.curves(bench.planned_runs()) + printed_curves(bench)
    random = bench.curves(list(_random_runs(bench, searched)))
    cases = {case.problem: case for case in bench.cases}
    return [
        replace(c, step_budget=_planned_steps(cases[c.problem], c)) for c in [*searched, *random]
    ]


def _planned_steps(case: BenchCase, curve: Curve) -> int | None:
    return case.budget(curve.strategy.partition(VARIANT)[0]).simulator_steps


def printed_curves(bench: Bench) -> list[Curve]:
    """Run the paper's strategies without any departure, where the plan says so.

    Not if the settings of the bench decide about departures themselves.
    """
    if PAPER.keys() & bench.settings.changed().keys():
        return []
    cases = tuple(
        replace(case, strategies=tuple(s for s in case.strategies if s in case.as_printed))
        for case in bench.cases
    )
    printed = replace(bench, cases=cases, settings=bench.settings.as_in_paper())
    most = {case.problem: case.max_printed_seeds for case in cases}
    runs = [run for run in printed.planned_runs() if run.seed in bench.seeds[: most[run.problem]]]
    curves = printed.curves(runs)
    return [replace(curve, strategy=curve.strategy + AS_PRINTED) for curve in curves]


def _random_runs(bench: Bench, searched: Sequence[Curve]) -> Iterator[BenchRun]:
    for seed in bench.seeds:
        for case in bench.cases:
            if RANDOM in case.strategies and seed in bench.seeds_of(case, RANDOM):
                run = bench.planned_run(case, RANDOM, seed)
                if RANDOM not in case.budgets:
                    others = [c for c in searched if (c.problem, c.seed) == (case.problem, seed)]
                    run = replace(run, budget=_cut(others, bench.levels[-1]))
                yield replace(run, enough=bench.levels[-1])


def _cut(searched: Sequence[Curve], level: float) -> Budget:
    named = STRATEGIES.all
    printed = [c for c in searched if c.strategy.endswith(AS_PRINTED)]
    papers = [c for c in searched if c.strategy in named and named[c.strategy].repeats_policy]
    curves = printed or papers or list(searched)
    return Budget(simulator_steps=CUT * steps_to_beat(curves, level)) if curves else Budget()


def steps_to_beat(searched: Sequence[Curve], level: float) -> int:
    """Return the fewest steps to a level; if no run reached it, the most steps of any."""
    reached = [point for curve in searched if (point := curve.first_at(level))]
    if reached:
        return min(point.simulator_steps for point in reached)
    return max(curve.last.simulator_steps for curve in searched)
