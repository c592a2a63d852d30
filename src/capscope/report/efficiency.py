"""The efficiency experiment for people: a CSV of all points, a Markdown table, a picture."""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from capscope.errors import CapscopeError
from capscope.evaluation.experiments import LEVELS, Curve, Point

_COLORS = {"adaptive": "#1b9e77", "mcqs-s": "#1f6fb4", "mcqs-e": "#d95f02", "random": "#777777"}
_BASELINE = "random"


def write_csv(curves: Sequence[Curve], path: Path) -> None:
    """Write every recorded point of every run."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["problem", "strategy", "seed", *(field.name for field in fields(Point))])
        for curve in curves:
            for point in curve.points:
                writer.writerow([curve.problem, curve.strategy, curve.seed, *astuple(point)])


def group(curves: Sequence[Curve], problem: str, strategy: str) -> list[Curve]:
    """Return the runs of one strategy on one problem."""
    return [c for c in curves if c.problem == problem and c.strategy == strategy]


Cost = Literal["executions", "simulator_steps"]


def ratio_to_baseline(
    curves: Sequence[Curve],
    problem: str,
    strategy: str,
    level: float,
    cost: Cost = "simulator_steps",
) -> tuple[float, bool] | None:
    """Return how many times the cost the baseline needed, and whether it was cut before that.

    Means over the seeds that both sides have; None if the strategy itself missed the level.
    """
    own = {c.seed: c for c in group(curves, problem, strategy)}
    base = {c.seed: c for c in group(curves, problem, _BASELINE)}
    seeds = [seed for seed in own if seed in base]
    reached = {seed: own[seed].first_at(level) for seed in seeds}
    if not seeds or any(point is None for point in reached.values()):
        return None
    there = {seed: base[seed].first_at(level) for seed in seeds}
    steps = [getattr(there[seed] or base[seed].last, cost) for seed in seeds]
    needed = [getattr(point, cost) for point in reached.values() if point is not None]
    return sum(steps) / max(sum(needed), 1), any(point is None for point in there.values())


def markdown(curves: Sequence[Curve]) -> str:
    """Write the tables: what each strategy needed, and where its executions went."""
    lines = [*_needed_table(curves), "", *_shares_table(curves)]
    return "\n".join(lines) + "\n"


_COSTS: tuple[tuple[Cost, str, str], ...] = (
    ("executions", "executions", "ratio of executions"),
    ("simulator_steps", "steps", "ratio"),
)


def _needed_table(curves: Sequence[Curve]) -> Iterator[str]:
    heads = [f"{n} to {level:g}" for level in LEVELS for _, *names in _COSTS for n in names]
    heads = [
        "problem",
        "strategy",
        *heads,
        "executions to 0.99, × the least",
        "at the stop",
        "seconds",
        "seeds",
    ]
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for problem, strategy, runs in _groups(curves):
        cells = []
        for level in LEVELS:
            points = [run.first_at(level) for run in runs]
            for cost, *_ in _COSTS:
                values = [None if p is None else getattr(p, cost) for p in points]
                cells.append(_mean(values, runs, cost))
                ratio = ratio_to_baseline(curves, problem, strategy, level, cost)
                cells.append(_ratio_text(ratio, strategy))
        cells.append(_times_least(curves, problem, runs))
        stop = _spread([run.last.agreement for run in runs], "{:.4f}")
        seconds = _spread([run.last.seconds for run in runs], "{:.0f}")
        yield f"| {problem} | {strategy} | {' | '.join(cells)} | {stop} | {seconds} | {len(runs)} |"


def _times_least(curves: Sequence[Curve], problem: str, runs: Sequence[Curve]) -> str:
    """Set the executions to the highest level against the least that any learner needs."""
    least = max(curve.least for curve in curves if curve.problem == problem)
    points = [run.first_at(LEVELS[-1]) for run in runs]
    reached = [point.executions for point in points if point is not None]
    if not least or len(reached) < len(points):
        return "–"
    return f"{statistics.fmean(reached) / least:.2f}"


def _shares_table(curves: Sequence[Curve]) -> Iterator[str]:
    yield "| problem | strategy | new pairs | repeats of them | walks | queries without news |"
    yield "|---|---|---|---|---|---|"
    for problem, strategy, runs in _groups(curves):
        totals = [sum(astuple(run.shares)) or 1 for run in runs]
        cells = []
        for name in ("new", "repeat", "walk", "nowhere"):
            shares = [getattr(r.shares, name) / t for r, t in zip(runs, totals, strict=True)]
            cells.append(f"{statistics.fmean(shares):.1%}")
        yield f"| {problem} | {strategy} | {' | '.join(cells)} |"


def _groups(curves: Sequence[Curve]) -> Iterator[tuple[str, str, list[Curve]]]:
    for problem in dict.fromkeys(curve.problem for curve in curves):
        for strategy in dict.fromkeys(curve.strategy for curve in curves):
            runs = group(curves, problem, strategy)
            if runs:
                yield problem, strategy, runs


def _mean(values: Sequence[int | None], runs: Sequence[Curve], name: str) -> str:
    reached = [value for value in values if value is not None]
    if len(reached) == len(values):
        return _spread(reached, "{:,.0f}")
    if not reached and all(run.strategy == _BASELINE for run in runs):
        return f"> {min(getattr(run.last, name) for run in runs):,}"
    return f"{len(reached)} of {len(values)} runs"


def _spread(values: Sequence[float], form: str) -> str:
    middle = form.format(statistics.fmean(values))
    return middle if len(values) < 2 else f"{middle} ± {form.format(statistics.stdev(values))}"


def _ratio_text(ratio: tuple[float, bool] | None, strategy: str) -> str:
    if strategy == _BASELINE:
        return "1"
    return "–" if ratio is None else f"{'> ' if ratio[1] else ''}{ratio[0]:.1f}×"


def draw(curves: Sequence[Curve], path: Path) -> None:
    """Draw agreement over simulator steps, with one-standard-deviation bands and ratio arrows."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        raise CapscopeError("the picture needs matplotlib: pip install 'capscope[bench]'") from None
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    problems = list(dict.fromkeys(curve.problem for curve in curves))
    figure, axes = plt.subplots(
        1, len(problems), figsize=(5.2 * len(problems), 3.9), squeeze=False, layout="constrained"
    )
    for axis, problem in zip(axes[0], problems, strict=True):
        _draw_problem(axis, [c for c in curves if c.problem == problem], problem)
    axes[0][0].set_ylabel("exact model agreement (1 − VD)")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _draw_problem(axis: Any, curves: Sequence[Curve], problem: str) -> None:
    for strategy in dict.fromkeys(curve.strategy for curve in curves):
        runs = group(curves, problem, strategy)
        steps, middle, spread = _band(runs)
        color = _COLORS.get(strategy, "#2ca02c")
        axis.plot(steps, middle, color=color, label=strategy)
        axis.fill_between(steps, middle - spread, middle + spread, color=color, alpha=0.2, lw=0)
    shown = [s for s in dict.fromkeys(c.strategy for c in curves) if s != _BASELINE]
    for row, strategy in enumerate(shown):
        _draw_arrow(axis, curves, problem, strategy, row)
    axis.set_xscale("log")
    axis.set_ylim(0, 1.05)
    axis.set_title(problem)
    axis.set_xlabel("simulator steps")
    axis.legend(loc="lower right", frameon=False)


def _draw_arrow(axis: Any, curves: Sequence[Curve], problem: str, strategy: str, row: int) -> None:
    for level in reversed(LEVELS):
        ratio = ratio_to_baseline(curves, problem, strategy, level)
        if ratio is None:
            continue
        points = [run.first_at(level) for run in group(curves, problem, strategy)]
        start = statistics.fmean(p.simulator_steps for p in points if p is not None)
        height = level - 0.13 * row
        color = _COLORS.get(strategy, "#2ca02c")
        axis.annotate(
            "",
            xy=(start, height),
            xytext=(start * ratio[0], height),
            arrowprops={"arrowstyle": "<->", "color": color},
        )
        text = f"{'> ' if ratio[1] else ''}{ratio[0]:.1f}× at {level:g}"
        middle = start * math.sqrt(ratio[0])
        axis.text(middle, height - 0.055, text, color=color, ha="center", fontsize=8)
        return


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
