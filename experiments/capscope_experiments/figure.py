"""Figures by Matplotlib, as PNG and SVG. Line styles and shades differ, so they print in gray."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from capscope.errors import CapscopeError
from capscope.strategy.registry import RANDOM
from capscope_experiments.baselines.uniform_pair import UNIFORM
from capscope_experiments.curve import CONSTANT, Curve
from capscope_experiments.curve_report import groups, ratio_text, ratio_to_baseline, weighted
from capscope_experiments.plan import BASELINES, ONE_DRAW, WITHOUT_BONUS
from capscope_experiments.variant import strategy_of


class Style(NamedTuple):
    """How a strategy is drawn."""

    color: str
    line: Any
    hatch: str


STYLES = {
    "adaptive": Style("#5e3c99", "solid", "--"),
    "exhaustive": Style("#00402f", "solid", ""),
    "mcqs-s": Style("#1f6fb4", (0, (5, 1.5)), "//"),
    "mcqs-e": Style("#e08214", "dashdot", ".."),
    "mcqs-s, --paper": Style("#0b3d66", (0, (5, 1.5)), "//"),
    "mcqs-e, --paper": Style("#8c4a00", "dashdot", ".."),
    RANDOM: Style("#9a9a9a", (0, (1, 1)), "xx"),
    ONE_DRAW: Style("#4d4d4d", (0, (3, 1, 1, 1, 1, 1)), "++"),
    UNIFORM: Style("#1b7837", (0, (7, 2)), "oo"),
    CONSTANT: Style("#000000", "dotted", ""),
}
_OTHER = Style("#c51b7d", "solid", "--")
_ALWAYS_SHOWN = ("adaptive", RANDOM, ONE_DRAW, UNIFORM, CONSTANT)
_PAPERS = ("mcqs-s", "mcqs-e")
_PAPERS_PROBLEMS = (
    *("blocksworld", "tireworld", "first-responders", "minigrid-q"),
    *("overcooked-hrl", "crafter-steve"),
)


def style_of(label: str) -> Style:
    """Return the style of a label; variants without their own have that of their strategy."""
    return STYLES.get(label) or STYLES.get(strategy_of(label), _OTHER)


def opacity(label: str) -> float:
    """Return how opaque a label is drawn; variants without a style are half transparent."""
    return 1.0 if label in STYLES or label == strategy_of(label) else 0.45


def pyplot() -> ModuleType:
    """Return Matplotlib for drawing into files."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        raise CapscopeError(
            "figures need matplotlib: pip install --editable '.[experiments]'"
        ) from None
    mpl.use("Agg")
    # The same figure gives the same file: no random names, no date.
    mpl.rcParams["svg.hashsalt"] = "capscope"
    from matplotlib import pyplot as plt

    return plt


def save(figure: Any, folder: Path, name: str) -> tuple[str, ...]:
    """Write a figure as PNG and SVG and close it; return the names of the files."""
    plt = pyplot()
    figure.savefig(folder / f"{name}.png", dpi=130)
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)
    return f"{name}.png", f"{name}.svg"


def draw_curves(
    curves: Sequence[Curve], levels: Sequence[float], folder: Path, name: str
) -> tuple[str, ...]:
    """Draw agreement over simulator steps, with one-standard-deviation bands and ratio arrows."""
    problems = list(dict.fromkeys(curve.problem for curve in curves))
    figure, axes = _panels(len(problems))
    for axis, problem in zip(axes, problems, strict=False):
        own = [c for c in curves if c.problem == problem]
        _draw_problem(axis, own, levels)
        axis.set_title(f"{problem} ({own[0].measure})")
    return _finish(figure, folder, name)


def draw_paper_figure(
    curves: Sequence[Curve], levels: Sequence[float], folder: Path, name: str
) -> tuple[str, ...]:
    """Draw the paper's figure: its problems, its measure, its strategies and the baselines."""
    problems = [p for p in _PAPERS_PROBLEMS if any(curve.problem == p for curve in curves)]
    problems = problems or list(dict.fromkeys(curve.problem for curve in curves))
    figure, axes = _panels(len(problems))
    for axis, problem in zip(axes, problems, strict=False):
        own = weighted([c for c in curves if c.problem == problem], "filtered")
        _draw_problem(axis, legible(own, as_printed=True), levels, _PAPERS)
        axis.set_title(problem)
    return _finish(figure, folder, name)


def legible(curves: Sequence[Curve], *, as_printed: bool = False) -> list[Curve]:
    """Keep the lines that a figure can show: the paper's strategies, ours and the baselines.

    The paper's are shown as printed if that is asked for and measured, else by default.
    """
    shown = []
    for curve in curves:
        printed = f"{strategy_of(curve.strategy)}, --paper"
        there = any((c.problem, c.strategy) == (curve.problem, printed) for c in curves)
        wanted = printed if as_printed and there else strategy_of(curve.strategy)
        papers = strategy_of(curve.strategy) in _PAPERS and curve.strategy == wanted
        if papers or curve.strategy in _ALWAYS_SHOWN:
            shown.append(curve)
    return shown


def _panels(number: int) -> tuple[Any, list[Any]]:
    """Return a figure with a number of axes, three in a row."""
    columns = min(3, number)
    rows = math.ceil(number / columns)
    figure, axes = pyplot().subplots(
        rows, columns, figsize=(5.2 * columns, 3.9 * rows), squeeze=False, layout="constrained"
    )
    for axis in axes.flat[number:]:
        axis.set_axis_off()
    for row in axes:
        row[0].set_ylabel("model agreement (1 − VD)")
    return figure, list(axes.flat[:number])


def _finish(figure: Any, folder: Path, name: str) -> tuple[str, ...]:
    """Explain the lines of all axes once, below them: inside, they would cover the arrows."""
    named = {line.get_label(): line for axis in figure.axes for line in axis.get_lines()}
    named = {label: named[label] for label in sorted(named, key=_legend_place)}
    columns = min(len(named), 4 * min(3, len(figure.axes)))
    figure.legend(named.values(), named, loc="outside lower center", ncols=columns, frameon=False)
    return save(figure, folder, name)


def _legend_place(label: str) -> tuple[int, str]:
    places = list(STYLES)
    strategy = strategy_of(label)
    return places.index(strategy) if strategy in places else len(places), label


def _draw_problem(
    axis: Any, curves: Sequence[Curve], levels: Sequence[float], annotated: Sequence[str] = ()
) -> None:
    """Draw the curves of a problem, with ratios for some strategies, by default all."""
    arrows = 0
    for _, label, runs in groups(curves):
        color, line, _ = style_of(label)
        if label == CONSTANT:
            axis.axhline(runs[0].last.agreement, color=color, linestyle=line, lw=1.2, label=label)
            continue
        steps, middle, deviation = _band(runs)
        alpha = opacity(label)
        width = 1.6 if alpha == 1 else 3.2  # a variant shows next to what it varies
        axis.plot(steps, middle, color=color, linestyle=line, lw=width, alpha=alpha, label=label)
        low, high = np.clip(middle - deviation, 0, 1), np.clip(middle + deviation, 0, 1)
        axis.fill_between(steps, low, high, color=color, alpha=0.15, lw=0)
        compared = label not in BASELINES and not label.endswith(WITHOUT_BONUS)
        if compared and strategy_of(label) in (annotated or [strategy_of(label)]):
            baseline = [curve for curve in curves if curve.strategy == RANDOM]
            arrows += _draw_arrow(axis, runs, baseline, levels, 0.13 * arrows)
    axis.set_xscale("log")
    axis.set_ylim(0, 1.05)
    axis.set_xlabel("simulator steps")
    axis.grid(axis="y", lw=0.4, alpha=0.4)


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
