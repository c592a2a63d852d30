"""E1: do informative queries save executions? Learning curves of every strategy.

Random Query is the baseline. It runs until it reaches the highest level of agreement, or until it
has taken 20 times the steps that the better of the paper's strategies needed with the same seed;
its cost is then reported as "more than". The adaptive strategy does not set that bound: it needs so
little that Random Query would be cut too early.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from capscope.record.usage import Budget
from capscope.strategy.registry import DEFAULT_STRATEGY, RANDOM
from capscope_experiments.bench import Bench, Section
from capscope_experiments.bench_runs import BenchRun
from capscope_experiments.curve import Curve
from capscope_experiments.curve_report import (
    draw_curves,
    needed_table,
    shares_table,
    write_points,
)

CUT = 20
_TEXT = """
Agreement is 1 − VD. The table shows what a run spent until it first reached a level: mean ± one
standard deviation over the seeds. In brackets, how many times as much Random Query needed. "> "
marks a lower bound: the run, or Random Query, ended before it reached the level. "× the least"
divides the executions by the least that any learner of this model class needs for an exact model
with standard errors of 0.05. That is more than an agreement of 0.99 requires, so the ratio can be
slightly below 1. "Ended by" is why the runs ended; a run that ended by a budget did not reach its
own stop. All points are in [efficiency.csv](efficiency.csv).
"""
_SHARES = """
What the executions were spent on: *new pairs* try a capability in a state for the first time,
*repeats* are the other draws of that query, *walks* pass through known pairs on the way to a new
one, and the last column is queries that found no new pair. The adaptive strategy repeats in later
queries.
"""


def efficiency(bench: Bench) -> Section:
    """Run every strategy on every problem and compare what they needed."""
    curves = efficiency_curves(bench)
    write_points(curves, bench.output / "efficiency.csv")
    figures = draw_curves(curves, bench.levels, bench.output, "efficiency")
    body = "\n\n".join(
        [
            _TEXT.strip(),
            "![agreement over simulator steps](efficiency.png)",
            needed_table(curves, bench.levels),
            _SHARES.strip(),
            shares_table(curves),
        ]
    )
    return Section("E1: learning efficiency", body, ("efficiency.csv", *figures))


def efficiency_curves(bench: Bench) -> list[Curve]:
    """Make all runs, first those that determine how far Random Query goes."""
    searched = bench.curves(bench.planned_runs())
    random = bench.curves(list(_random_runs(bench, searched)))
    places = {
        (case.problem, strategy): (i, j)
        for i, case in enumerate(bench.cases)
        for j, strategy in enumerate(case.strategies)
    }
    return sorted([*searched, *random], key=lambda c: (places[c.problem, c.strategy], c.seed))


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
    curves = [curve for curve in searched if curve.strategy != DEFAULT_STRATEGY] or list(searched)
    return Budget(simulator_steps=CUT * steps_to_beat(curves, level)) if curves else Budget()


def steps_to_beat(searched: Sequence[Curve], level: float) -> int:
    """Return the fewest steps to a level; if no run reached it, the most steps of any."""
    reached = [point for curve in searched if (point := curve.first_at(level))]
    if reached:
        return min(point.simulator_steps for point in reached)
    return max(curve.last.simulator_steps for curve in searched)
