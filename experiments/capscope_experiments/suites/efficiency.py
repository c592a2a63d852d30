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
from capscope_experiments.bench import Bench, Section, pooled
from capscope_experiments.bench_runs import BenchRun
from capscope_experiments.curve import Curve
from capscope_experiments.curve_report import (
    draw_curves,
    draw_weightings,
    needed_table,
    same_steps_table,
    shares_table,
    weightings_table,
    write_points,
)
from capscope_experiments.figure import VARIANT
from capscope_experiments.table import markdown_table, spread, spread_of_reached

CUT = 25
AS_PRINTED = f"{VARIANT} --paper"
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
[efficiency.csv](efficiency.csv).
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
    curves = efficiency_curves(bench)
    write_points(curves, bench.output / "efficiency.csv")
    figures = draw_curves(curves, bench.levels, bench.output, "efficiency")
    figures += draw_weightings(curves, bench.levels, bench.output, "efficiency-weightings")
    body = "\n\n".join(
        [
            _TEXT.strip(),
            "![agreement over simulator steps](efficiency.png)",
            needed_table(curves, bench.levels),
            *_same_steps(bench, curves),
            WEIGHTINGS_TEXT.strip(),
            "![agreement under three weightings](efficiency-weightings.png)",
            weightings_table(curves, bench.levels[-2:]),
            *_audits(bench),
            _SHARES.strip(),
            shares_table(curves),
        ]
    )
    return Section("E1: learning efficiency", body, ("efficiency.csv", *figures))


def _same_steps(bench: Bench, curves: Sequence[Curve]) -> list[str]:
    """Compare problems on which every strategy has the same budget of steps; nothing without."""
    problems = []
    for case in bench.cases:
        steps = {case.budget(strategy).simulator_steps for strategy in case.strategies}
        if len(steps) == 1 and steps != {None}:
            problems.append(case.problem)
    return [_SAME_STEPS.strip(), same_steps_table(curves, problems)] if problems else []


def _audits(bench: Bench) -> list[str]:
    """Return the part about audits; nothing without a strategy that makes them."""
    # A budget of steps, for comparisons, ends a run before its audit.
    cases = tuple(c for c in bench.cases if c.budget(DEFAULT_STRATEGY).simulator_steps is None)
    if not any(DEFAULT_STRATEGY in case.strategies for case in cases):
        return []
    return [_AUDITS.strip(), audits_table(replace(bench, cases=cases))]


def audits_table(bench: Bench) -> str:
    """Compare the statement of each audited run with the truth."""
    found: dict[BenchRun, dict[str, Any]] = bench.analyze(
        "audits", bench.planned_runs((DEFAULT_STRATEGY,)), audited_rate
    )
    needed = executions_without_audit(bench)
    rows = []
    for (problem, _), results in pooled(found).items():
        passed = [row for row in results if row["passed"]]
        rates = [row["rate"] for row in passed if row["rate"] is not None]
        true = sum(rate <= row["audited"] for rate, row in zip(rates, passed, strict=False))
        rows.append(
            [
                problem,
                spread_of_reached(needed[problem]),
                f"{len(passed)} of {len(results)}",
                spread([row["executions"] for row in passed], "{:,.0f}") if passed else "–",
                spread([100 * rate for rate in rates], "{:.3f} %") if rates else "–",
                f"{true} of {len(rates)}" if rates else "–",
            ]
        )
    heads = [f"executions to {bench.levels[-1]:g}", "passed", "stated after", "surprises", "true"]
    return markdown_table(["problem", *heads], rows)


def executions_without_audit(bench: Bench) -> dict[str, list[int | None]]:
    """Return by problem what each run needed for the highest level if there is no audit."""
    level = bench.levels[-1]
    unaudited = replace(bench, settings=replace(bench.settings, audit=0.0))
    runs = [
        replace(run, enough=level, budget=_UNAUDITED if run.budget == Budget() else run.budget)
        for run in unaudited.planned_runs((DEFAULT_STRATEGY,))
    ]
    needed: dict[str, list[int | None]] = {}
    for curve in unaudited.curves(runs):
        point = curve.first_at(level)
        needed.setdefault(curve.problem, []).append(point.executions if point else None)
    return needed


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
    places = {
        (case.problem, name): (i, j)
        for i, case in enumerate(bench.cases)
        for j, strategy in enumerate(case.strategies)
        for name in (strategy, strategy + AS_PRINTED)
    }
    return sorted(
        [*searched, *random], key=lambda c: (*places[c.problem, c.strategy], c.strategy, c.seed)
    )


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
