"""Tables of learning curves: a row for each problem, a column for each strategy."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Literal, NamedTuple

from capscope.strategy.registry import DEFAULT_STRATEGY, RANDOM
from capscope_experiments.curve import CONSTANT, Curve
from capscope_experiments.plan import BASELINES
from capscope_experiments.table import markdown_table, spread_of_reached

Cost = Literal["executions", "simulator_steps"]
_PAPERS = tuple(f"mcqs-{kind}{mark}" for kind in "se" for mark in ("", ", --paper"))
_SHOWN = (DEFAULT_STRATEGY, *_PAPERS, *BASELINES, CONSTANT)
"""The labels that are shown if there are more than fit on a page."""


def group(curves: Sequence[Curve], problem: str, strategy: str) -> list[Curve]:
    """Return the runs of one strategy on one problem."""
    return [c for c in curves if c.problem == problem and c.strategy == strategy]


def groups(curves: Sequence[Curve]) -> Iterator[tuple[str, str, list[Curve]]]:
    """Yield the runs of each strategy on each problem, in the order of the curves."""
    for problem in dict.fromkeys(curve.problem for curve in curves):
        own = [curve for curve in curves if curve.problem == problem]
        for strategy in dict.fromkeys(curve.strategy for curve in own):
            yield problem, strategy, group(own, problem, strategy)


def ratio_to_baseline(
    own: Sequence[Curve],
    baseline: Sequence[Curve],
    level: float,
    cost: Cost = "simulator_steps",
) -> tuple[float, bool] | None:
    """Return how many times the cost the baseline needed, and whether it was cut before that.

    Means over the seeds that both have; None if one of the strategy's own runs missed the level, or
    if the baseline was cut before it had spent as much: there is nothing to compare then.
    """
    runs = {curve.seed: curve for curve in own}
    base = {curve.seed: curve for curve in baseline}
    seeds = [seed for seed in runs if seed in base]
    reached = {seed: runs[seed].first_at(level) for seed in seeds}
    if not seeds or any(point is None for point in reached.values()):
        return None
    there = {seed: base[seed].first_at(level) for seed in seeds}
    spent = [getattr(there[seed] or base[seed].last, cost) for seed in seeds]
    needed = [getattr(point, cost) for point in reached.values() if point is not None]
    ratio, cut = sum(spent) / max(sum(needed), 1), any(p is None for p in there.values())
    return None if cut and ratio <= 1 else (ratio, cut)


class BestBaseline(NamedTuple):
    """The baseline that reached a level with the fewest executions."""

    label: str
    runs: Sequence[Curve]


def best_baseline(curves: Sequence[Curve], problem: str, level: float) -> BestBaseline | None:
    """Return the best baseline at a level; None if none was run on the problem.

    A run that was cut counts with its whole cost, so that the ratio is a lower bound. The
    constant predictor is the best wherever it has the level.
    """
    constant = group(curves, problem, CONSTANT)
    if constant and constant[0].first_at(level):
        return BestBaseline(CONSTANT, constant)
    found = {label: runs for label in BASELINES if (runs := group(curves, problem, label))}
    if not found:
        return None
    label = min(found, key=lambda name: statistics.fmean(_spent(run, level) for run in found[name]))
    return BestBaseline(label, found[label])


def _spent(run: Curve, level: float) -> int:
    return (run.first_at(level) or run.last).executions


def problem_table(
    curves: Sequence[Curve],
    cell: Callable[[Sequence[Curve], Sequence[Curve]], str],
    omitted: Sequence[str] = (),
) -> str:
    """Return a table with a cell for the runs of each strategy on each problem.

    A cell is made from its runs and from all curves of their problem. Empty rows are left out.
    """
    labels = _labels(curves, omitted)
    rows = []
    for problem in dict.fromkeys(curve.problem for curve in curves):
        own = [curve for curve in curves if curve.problem == problem]
        found = [group(own, problem, label) for label in labels]
        cells = [cell(runs, own) if runs else "" for runs in found]
        if any(cells):
            rows.append([problem, *cells])
    return markdown_table(["problem", *labels], rows) if rows else ""


def tabulated(curves: Sequence[Curve]) -> list[Curve]:
    """Return the curves that tables on a page have room for."""
    few = len({curve.strategy for curve in curves}) <= len(_SHOWN)
    return [curve for curve in curves if few or curve.strategy in _SHOWN]


def _labels(curves: Sequence[Curve], omitted: Sequence[str] = ()) -> list[str]:
    labels = list(dict.fromkeys(curve.strategy for curve in curves))
    known = [name for name in _SHOWN if name in labels]
    others = [name for name in labels if name not in known]
    return [name for name in (*known, *others) if name not in omitted]


def needed_tables(curves: Sequence[Curve], levels: Sequence[float]) -> Iterator[str]:
    """Yield a table of the executions to each level.

    A problem is shown at the two highest levels that some run reached on it.
    """
    ran = [curve for curve in curves if curve.strategy != CONSTANT]
    reached = {
        problem: [level for level in sorted(levels) if any(c.first_at(level) for c in own)][-2:]
        for problem in dict.fromkeys(curve.problem for curve in ran)
        if (own := [curve for curve in ran if curve.problem == problem])
    }
    for level in levels:
        own = [curve for curve in ran if level in reached[curve.problem]]
        if own:
            table = problem_table(own, partial(_needed, level=level))
            yield f"Executions to {level:g}:\n\n{table}"


def _needed(runs: Sequence[Curve], _: Sequence[Curve], level: float) -> str:
    points = [run.first_at(level) for run in runs]
    if not any(points):
        return f"> {min(run.last.executions for run in runs):,}"
    return spread_of_reached([None if point is None else point.executions for point in points])


def ratios_table(curves: Sequence[Curve], levels: Sequence[float]) -> str:
    """Compare each strategy with Random Query and with the best baseline.

    At the highest level that all its runs reached; the constant predictor is not compared with.
    """

    def cell(runs: Sequence[Curve], own: Sequence[Curve]) -> str:
        for level in sorted(levels, reverse=True):
            if all(run.first_at(level) for run in runs):
                return _ratios(runs, own, level)
        return ""

    return problem_table(curves, cell, (*BASELINES, CONSTANT))


def _ratios(runs: Sequence[Curve], own: Sequence[Curve], level: float) -> str:
    problem = runs[0].problem
    best = best_baseline(own, problem, level)
    if best is not None and best.label == CONSTANT:
        return ""
    rivals: list[tuple[Sequence[Curve], Cost]] = [(group(own, problem, RANDOM), "simulator_steps")]
    if best is not None:
        rivals += [(best.runs, "executions"), (best.runs, "simulator_steps")]
    texts = [ratio_text(ratio_to_baseline(runs, base, level, cost)) for base, cost in rivals]
    return f"{level:g}: {', '.join(texts)}" if any(text != "–" for text in texts) else ""


def end_table(curves: Sequence[Curve]) -> str:
    """Show the agreement at the end, with the total variation and the number of seeds."""
    return problem_table(curves, _whole_end)


def _whole_end(runs: Sequence[Curve], _: Sequence[Curve]) -> str:
    names = ("agreement", "changing_tv", "stochastic_tv")
    values = [[getattr(run.last, name) for run in runs] for name in names]
    means = ["–" if None in found else f"{statistics.fmean(found):.3f}" for found in values]
    measured = means[: 1 if means[1] == "–" else 2 if means[2] == "–" else 3]
    return ", ".join(measured) + ("" if runs[0].strategy == CONSTANT else f" {_seeds(runs)}")


def at_end(runs: Sequence[Curve]) -> str:
    """Show the mean agreement at the end, and the number of seeds."""
    return f"{statistics.fmean(run.last.agreement for run in runs):.4f} {_seeds(runs)}"


def _seeds(runs: Sequence[Curve]) -> str:
    """Count the seeds; mark runs that a budget ended."""
    cut = any(run.stopped_because.startswith("budget") for run in runs)
    return f"({len(runs)}{'*' * cut})"


def weighted(runs: Sequence[Curve], weighting: str) -> list[Curve]:
    """Return the curves under another weighting, where it was measured."""
    found = (run.weighted(weighting) for run in runs)
    return [curve for curve in found if curve.points]


def ratio_text(ratio: tuple[float, bool] | None) -> str:
    """Format a ratio; it is a lower bound if the baseline was cut."""
    if ratio is None:
        return "–"
    times, cut = ratio
    return f"{'> ' if cut else ''}{times:,.1f}×"
