"""E4: is disagreement alone enough? The paper's strategies with and without revisitation bonus ξ.

The runs with ξ and those of Random Query are the ones of the efficiency experiment.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from capscope.errors import CapscopeError
from capscope.strategy.registry import RANDOM
from capscope_experiments.bench import Bench, Section
from capscope_experiments.curve import Curve
from capscope_experiments.curve_report import (
    at_end,
    group,
    groups,
    ratio_text,
    ratio_to_baseline,
    weighted,
)
from capscope_experiments.curve_rows import combined_curves
from capscope_experiments.figure import (
    draw_curves,
    opacity,
    pyplot,
    save,
    style_of,
)
from capscope_experiments.plan import WITHOUT_BONUS
from capscope_experiments.suites.efficiency import efficiency_curves
from capscope_experiments.table import markdown_table, spread, spread_of_reached
from capscope_experiments.variant import Variant

LEVEL = 0.98
"""The agreement of the paper's ablation."""
_TEXT = f"""
With ξ = 0 (`--xi 0`), only disagreement between the two models is rewarded. Agreement is with the
paper's filter. The table has the steps until it is {LEVEL:g}, with how many times as many Random
Query needed, and the steps until the run ended, with how many more or fewer those are with ξ than
without (*: a budget ended a run). The figures show the strategies as printed, if they were run so.
"""


def ablation(bench: Bench) -> Section:
    """Run the paper's strategies without ξ and compare them with those with it."""
    ablated = [s for case in bench.cases for s in case.strategies if s.endswith(WITHOUT_BONUS)]
    if bench.cases and not ablated:
        raise CapscopeError("the ablation switches ξ off; choose mcqs-s or mcqs-e, which use it")
    if not bench.settings.xi:
        raise CapscopeError("the ablation switches ξ off; with --set xi=0 it is off already")
    bench = replace(bench, levels=tuple(sorted({LEVEL, bench.levels[-1]})))
    measured = combined_curves(bench, "ablation", efficiency_curves(bench))
    curves = weighted(measured, "filtered")
    printed = [curve for curve in curves if Variant.parse(curve.strategy).as_printed]
    shown = [*printed, *(c for c in curves if c.strategy == RANDOM)] if printed else curves
    figures = draw_curves(shown, (LEVEL,), bench.output, "ablation")
    figures += _draw_ratios(shown, bench.output)
    body = "\n\n".join(
        [
            _TEXT.strip(),
            "![agreement over simulator steps, with and without ξ](ablation.png)",
            "![times fewer steps than Random Query](ablation-steps.png)",
            _table(curves),
        ]
    )
    return Section(
        "E4: without the revisitation bonus", body, ("ablation.csv", "ablation-runs.csv", *figures)
    )


def _table(curves: Sequence[Curve]) -> str:
    heads = ["problem", "strategy", f"steps to {LEVEL:g}", "fewer than Random"]
    heads += ["steps to the end", "with ξ to without", "at the end (seeds)"]
    rows = []
    for problem, strategy, runs in groups(curves):
        points = [run.first_at(LEVEL) for run in runs]
        ratio = ratio_to_baseline(runs, group(curves, problem, RANDOM), LEVEL)
        rows.append(
            [
                problem,
                strategy,
                spread_of_reached([point.simulator_steps if point else None for point in points]),
                "–" if strategy == RANDOM else ratio_text(ratio),
                spread([run.last.simulator_steps for run in runs]),
                change_with_bonus(curves, problem, strategy),
                at_end(runs),
            ]
        )
    return markdown_table(heads, rows)


def change_with_bonus(curves: Sequence[Curve], problem: str, strategy: str) -> str:
    """Return how many more or fewer steps runs with ξ took until the end than without."""
    have, without = (group(curves, problem, name) for name in (strategy, strategy + WITHOUT_BONUS))
    if not without or not _ended_by_themselves([*have, *without]):
        return ""
    steps = [statistics.fmean(r.last.simulator_steps for r in runs) for runs in (have, without)]
    return f"{steps[0] / max(steps[1], 1) - 1:+.0%}"


def _draw_ratios(curves: Sequence[Curve], folder: Path) -> tuple[str, ...]:
    """Draw how many times fewer steps than Random Query each needed, to a level and to the end."""
    plt = pyplot()
    problems = list(dict.fromkeys(curve.problem for curve in curves))
    strategies = [s for s in dict.fromkeys(c.strategy for c in curves) if s != RANDOM]
    figure, axes = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
    for axis, title in zip(axes, (f"to agreement {LEVEL:g}", "to the end"), strict=True):
        for i, strategy in enumerate(strategies):
            heights = [_times_fewer(curves, p, strategy, axis is axes[1]) for p in problems]
            places = [j + 0.8 * (i + 0.5) / len(strategies) - 0.4 for j in range(len(problems))]
            style = style_of(strategy)
            bars = axis.bar(
                places, heights, 0.75 / len(strategies), label=strategy, color=style.color,
                alpha=opacity(strategy), hatch=style.hatch, edgecolor="black",
            )  # fmt: skip
            axis.bar_label(bars, [f"{h:.1f}" if h else "–" for h in heights], fontsize=7)
        axis.set_xticks(range(len(problems)), problems)
        axis.set_title(f"times fewer steps than Random Query, {title}")
        axis.axhline(1, color="black", lw=0.6)
    axes[0].legend(frameon=False, fontsize=8)
    return save(figure, folder, "ablation-steps")


def _times_fewer(curves: Sequence[Curve], problem: str, strategy: str, to_end: bool) -> float:
    own, baseline = group(curves, problem, strategy), group(curves, problem, RANDOM)
    if not to_end:
        ratio = ratio_to_baseline(own, baseline, LEVEL)
        return ratio[0] if ratio else 0.0
    if not own or not baseline or not _ended_by_themselves(own):
        return 0.0
    spent = [statistics.fmean(run.last.simulator_steps for run in runs) for runs in (baseline, own)]
    return spent[0] / max(spent[1], 1)


def _ended_by_themselves(runs: Sequence[Curve]) -> bool:
    """Return whether no run was ended by a budget, which says nothing about its own end."""
    return not any(run.stopped_because.startswith("budget") for run in runs)
