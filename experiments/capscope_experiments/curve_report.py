"""Tables and figures of learning curves."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from capscope_experiments.curve import WEIGHTINGS, Curve
from capscope_experiments.figure import opacity, pyplot, save, style_of
from capscope_experiments.table import markdown_table, spread, spread_of_reached

_BASELINE = "random"
Cost = Literal["executions", "simulator_steps"]
_COSTS: tuple[tuple[Cost, str], ...] = (("executions", "executions"), ("simulator_steps", "steps"))


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


def needed_table(curves: Sequence[Curve], levels: Sequence[float]) -> str:
    """Compare what each strategy needed to reach each level of agreement."""
    heads = ["problem", "strategy"]
    heads += [f"{name} to {level:g}" for level in levels for _, name in _COSTS]
    heads += [f"× the least, to {levels[-1]:g}", "at the end", "ended by", "seconds", "seeds"]
    return markdown_table(heads, _needed_rows(curves, levels))


def _needed_rows(curves: Sequence[Curve], levels: Sequence[float]) -> Iterator[list[str]]:
    for problem, strategy, runs in groups(curves):
        baseline = group(curves, problem, _BASELINE)
        cells = []
        for level in levels:
            for cost, _ in _COSTS:
                ratio = None
                if strategy != _BASELINE:
                    ratio = ratio_to_baseline(runs, baseline, level, cost)
                cells.append(_needed(runs, level, cost) + _in_brackets(ratio))
        yield [
            problem,
            strategy,
            *cells,
            _times_least(runs, levels[-1]),
            spread([run.last.agreement for run in runs], "{:.4f}"),
            ", ".join(dict.fromkeys(run.stopped_because for run in runs)),
            spread([run.last.seconds for run in runs]),
            str(len(runs)),
        ]


def same_steps_problems(curves: Sequence[Curve]) -> list[str]:
    """List the problems on which all runs had the same budget of simulator steps."""
    budgets: dict[str, set[int | None]] = {}
    for curve in curves:
        budgets.setdefault(curve.problem, set()).add(curve.step_budget)
    return [name for name, steps in budgets.items() if len(steps) == 1 and steps != {None}]


def same_steps_table(curves: Sequence[Curve], problems: Sequence[str]) -> str:
    """Compare what was known in the end on problems where all runs had the same budget of steps."""
    rows = []
    for problem, strategy, runs in groups([c for c in curves if c.problem in problems]):
        ends = [run.last.agreement for run in runs]
        chance = [run.last.agreement for run in group(curves, problem, _BASELINE)]
        times = "–"
        if chance and strategy != _BASELINE:
            times = f"{statistics.fmean(ends) / max(statistics.fmean(chance), 1e-9):.1f}×"
        steps = f"{max(run.last.simulator_steps for run in runs):,}"
        rows.append([problem, strategy, steps, spread(ends, "{:.3f}"), times, str(len(runs))])
    heads = ["problem", "strategy", "steps", "agreement", "of Random Query's", "seeds"]
    return markdown_table(heads, rows)


def weightings_table(curves: Sequence[Curve], levels: Sequence[float]) -> str:
    """Compare the simulator steps to each level under each weighting."""
    heads = ["problem", "strategy"]
    heads += [f"{title}: steps to {level:g}" for level in levels for title in WEIGHTINGS.values()]
    rows = []
    for problem, strategy, runs in groups(curves):
        cells = [problem, strategy]
        for level in levels:
            for weighting in WEIGHTINGS:
                own = _weighted(runs, weighting)
                base = _weighted(group(curves, problem, _BASELINE), weighting)
                ratio = None
                if strategy != _BASELINE and own:
                    ratio = ratio_to_baseline(own, base, level)
                needed = _needed(own, level, "simulator_steps") if own else "–"
                cells.append(needed + _in_brackets(ratio))
        rows.append(cells)
    return markdown_table(heads, rows)


def _weighted(runs: Sequence[Curve], weighting: str) -> list[Curve]:
    weighted = (run.weighted(weighting) for run in runs)
    return [curve for curve in weighted if curve.points]


def _needed(runs: Sequence[Curve], level: float, cost: Cost) -> str:
    points = [run.first_at(level) for run in runs]
    if not any(points):
        return f"> {min(getattr(run.last, cost) for run in runs):,}"
    return spread_of_reached([getattr(point, cost, None) for point in points])


def ratio_text(ratio: tuple[float, bool]) -> str:
    """Format a ratio; it is a lower bound if the baseline was cut."""
    times, cut = ratio
    return f"{'> ' if cut else ''}{times:,.1f}×"


def _in_brackets(ratio: tuple[float, bool] | None) -> str:
    return "" if ratio is None else f" ({ratio_text(ratio)})"


def _times_least(runs: Sequence[Curve], level: float) -> str:
    """Compare the executions to a level with the least that any learner needs."""
    least = max(run.least for run in runs)
    reached = [point.executions for run in runs if (point := run.first_at(level)) is not None]
    if not least or len(reached) < len(runs):
        return "–"
    return f"{statistics.fmean(reached) / least:.2f}"


def shares_table(curves: Sequence[Curve]) -> str:
    """Show what the executions were spent on."""
    heads = ["problem", "strategy", "new pairs", "repeats of them", "walks", "without news"]
    rows = []
    for problem, strategy, runs in groups(curves):
        totals = [sum(astuple(run.shares)) or 1 for run in runs]
        cells = [problem, strategy]
        for name in ("new", "repeat", "walk", "nowhere"):
            shares = [getattr(r.shares, name) / t for r, t in zip(runs, totals, strict=True)]
            cells.append(f"{statistics.fmean(shares):.1%}")
        rows.append(cells)
    return markdown_table(heads, rows)


def draw_curves(
    curves: Sequence[Curve], levels: Sequence[float], folder: Path, name: str
) -> tuple[str, ...]:
    """Draw agreement over simulator steps, with one-standard-deviation bands and ratio arrows."""
    plt = pyplot()
    problems = list(dict.fromkeys(curve.problem for curve in curves))
    columns = min(3, len(problems))
    rows = math.ceil(len(problems) / columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(5.2 * columns, 3.9 * rows), squeeze=False, layout="constrained"
    )
    for axis in axes.flat[len(problems) :]:
        axis.set_axis_off()
    for axis, problem in zip(axes.flat, problems, strict=False):
        own = [c for c in curves if c.problem == problem]
        _draw_problem(axis, own, levels)
        axis.set_title(f"{problem} ({own[0].measure})")
    for row in axes:
        row[0].set_ylabel("model agreement (1 − VD)")
    _add_legend(figure)
    return save(figure, folder, name)


def draw_weightings(
    curves: Sequence[Curve], levels: Sequence[float], folder: Path, name: str
) -> tuple[str, ...]:
    """Draw the curves of each problem under the three weightings, side by side."""
    plt = pyplot()
    problems = list(dict.fromkeys(curve.problem for curve in curves))
    shape = len(problems), len(WEIGHTINGS)
    figure, axes = plt.subplots(
        *shape, figsize=(5.2 * shape[1], 3.9 * shape[0]), squeeze=False, layout="constrained"
    )
    for row, problem in zip(axes, problems, strict=True):
        for axis, (weighting, title) in zip(row, WEIGHTINGS.items(), strict=True):
            own = _weighted([c for c in curves if c.problem == problem], weighting)
            if own:
                _draw_problem(axis, own, levels)
            axis.set_title(f"{problem} ({title})")
        row[0].set_ylabel("model agreement (1 − VD)")
    _add_legend(figure)
    return save(figure, folder, name)


def _add_legend(figure: Any) -> None:
    """Explain the lines of all axes once, below them: inside, they would cover the arrows."""
    named = {line.get_label(): line for axis in figure.axes for line in axis.get_lines()}
    figure.legend(
        named.values(), named, loc="outside lower center", ncols=len(named), frameon=False
    )


def _draw_problem(axis: Any, curves: Sequence[Curve], levels: Sequence[float]) -> None:
    arrows = 0
    for _, strategy, runs in groups(curves):
        steps, middle, deviation = _band(runs)
        color, line, _ = style_of(strategy)
        alpha = opacity(strategy)
        width = 1.6 if alpha == 1 else 3.2  # a variant shows next to what it varies
        axis.plot(steps, middle, color=color, linestyle=line, lw=width, alpha=alpha, label=strategy)
        low, high = np.clip(middle - deviation, 0, 1), np.clip(middle + deviation, 0, 1)
        axis.fill_between(steps, low, high, color=color, alpha=0.2, lw=0)
        if strategy != _BASELINE:
            baseline = [curve for curve in curves if curve.strategy == _BASELINE]
            arrows += _draw_arrow(axis, runs, baseline, levels, 0.13 * arrows)
    axis.set_xscale("log")
    axis.set_ylim(0, 1.05)
    axis.set_xlabel("simulator steps")


def _draw_arrow(
    axis: Any, runs: Sequence[Curve], baseline: Sequence[Curve], levels: Sequence[float], low: float
) -> bool:
    """Draw the ratio at the highest level that all runs reached; return whether there is one."""
    for level in sorted(levels, reverse=True):
        ratio = ratio_to_baseline(runs, baseline, level)
        if ratio is None:
            continue
        points = [run.first_at(level) for run in runs]
        start = statistics.fmean(p.simulator_steps for p in points if p is not None)
        height, color = level - low, style_of(runs[0].strategy).color
        axis.annotate(
            "",
            xy=(start, height),
            xytext=(start * ratio[0], height),
            arrowprops={"arrowstyle": "<->", "color": color},
        )
        middle = start * math.sqrt(ratio[0])
        text = f"{ratio_text(ratio)} at {level:g}"
        halo = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.5}
        axis.text(middle, height - 0.055, text, color=color, ha="center", fontsize=8, bbox=halo)
        return True
    return False


def _band(runs: Sequence[Curve]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Interpolate the runs on one grid of steps; a run that ended stays at its last agreement."""
    first = min(run.points[0].simulator_steps for run in runs)
    last = max(run.last.simulator_steps for run in runs)
    grid = np.geomspace(max(first, 1), max(last, 2), 200)
    rows = [
        np.interp(
            np.log(grid),
            np.log([max(p.simulator_steps, 1) for p in run.points]),
            [p.agreement for p in run.points],
        )
        for run in runs
    ]
    return grid, np.mean(rows, axis=0), np.std(rows, axis=0)
