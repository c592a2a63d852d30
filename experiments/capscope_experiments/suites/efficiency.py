"""E1: does asking the telling questions save executions? Learning curves of every strategy.

Random Query is the measure. It runs until it reaches the highest level of agreement, or until it
has taken so many times the steps that the better of the paper's strategies needed with the same
seed, and is then reported as "more than". The adaptive strategy does not set that bound: it needs
so little that little would be seen of Random Query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from capscope.assessment import Budget
from capscope.strategy.registry import ADAPTIVE, RANDOM
from capscope_experiments.curve import Curve
from capscope_experiments.curve_report import draw_curves, needed_table, shares_table, write_points
from capscope_experiments.order import Order
from capscope_experiments.plan import Case
from capscope_experiments.suite import Bench, Section

CUT = 20
_TEXT = """
Agreement is 1 − VD. What a run spent until it first reached a level, mean ± one standard deviation
over the seeds; in brackets how many times as much Random Query needed ("> " where it was cut before
it got there, or where a run never did). "× the least" sets the executions against the least with
which any learner of this model class could have an exact model with standard errors of 0.05; that
is more than agreement of 0.99 asks for, so a ratio a little below 1 is possible. "Ended by" says
why the runs ended; one that ended by a budget was not at its own stop. All points are in
[efficiency.csv](efficiency.csv).
"""
_SHARES = """
What the executions went into: *new pairs* try a capability for the first time in a state, *repeats*
are the other draws of that query, *walks* go through known pairs on the way to a new one, the last
column is queries that found no new pair. The adaptive strategy repeats in later queries.
"""


def efficiency(bench: Bench) -> Section:
    """Run every strategy on every problem and compare what they needed."""
    curves = efficiency_curves(bench)
    write_points(curves, bench.output / "efficiency.csv")
    pictures = draw_curves(curves, bench.levels, bench.output, "efficiency")
    body = "\n\n".join(
        [
            _TEXT.strip(),
            "![agreement over simulator steps](efficiency.png)",
            needed_table(curves, bench.levels),
            _SHARES.strip(),
            shares_table(curves),
        ]
    )
    return Section("E1: learning efficiency", body, ("efficiency.csv", *pictures))


def efficiency_curves(bench: Bench) -> list[Curve]:
    """Make all runs, the searching strategies first: they say how far Random Query goes."""
    searched = bench.curves(bench.orders())
    by_chance = bench.curves(list(_random(bench, searched)))
    places = {
        (case.problem, strategy): (i, j)
        for i, case in enumerate(bench.cases)
        for j, strategy in enumerate(case.strategies)
    }
    return sorted([*searched, *by_chance], key=lambda c: (places[c.problem, c.strategy], c.seed))


def _random(bench: Bench, searched: Sequence[Curve]) -> Iterator[Order]:
    for seed in bench.seeds:
        for case in bench.cases:
            if RANDOM in case.strategies and seed in bench.seeds_of(case, RANDOM):
                order = bench.order(case, RANDOM, seed)
                if RANDOM not in case.budgets:
                    beside = [c for c in searched if (c.problem, c.seed) == (case.problem, seed)]
                    order = replace(order, budget=_cut(case, beside, bench.levels[-1]))
                yield replace(order, enough=bench.levels[-1])


def _cut(case: Case, searched: Sequence[Curve], level: float) -> Budget:
    measure = [curve for curve in searched if curve.strategy != ADAPTIVE] or list(searched)
    return Budget(simulator_steps=CUT * steps_to_beat(measure, level)) if measure else Budget()


def steps_to_beat(searched: Sequence[Curve], level: float) -> int:
    """Return the fewest steps to a level; those of the dearest run if none got there."""
    reached = [point for curve in searched if (point := curve.first_at(level))]
    if reached:
        return min(point.simulator_steps for point in reached)
    return max(curve.last.simulator_steps for curve in searched)
