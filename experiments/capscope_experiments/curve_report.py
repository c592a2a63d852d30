"""Tables of learning curves."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Literal, NamedTuple

from capscope.strategy.registry import RANDOM
from capscope_experiments.curve import CONSTANT, Curve, Point
from capscope_experiments.plan import BASELINES
from capscope_experiments.table import markdown_table, spread, spread_of_reached

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


def executed(curves: Sequence[Curve]) -> list[Curve]:
    """Return the curves of runs, without the constant predictor."""
    return [curve for curve in curves if curve.strategy != CONSTANT]


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


def best_baseline_table(curves: Sequence[Curve], levels: Sequence[float]) -> str:
    """Compare each strategy with the best baseline where that is not plain Random Query.

    The other table has the ratios to Random Query; without another baseline, return no table.
    """
    heads = ["problem", "strategy"]
    for level in levels:
        heads += [f"best baseline at {level:g}", "× its executions", "× its steps"]
    rows = []
    for problem, strategy, runs in groups(curves):
        if strategy in (*BASELINES, CONSTANT):
            continue
        best = [best_baseline(curves, problem, level) for level in levels]
        if all(baseline is None or baseline.label == RANDOM for baseline in best):
            continue
        against = [_against_best(runs, *pair) for pair in zip(best, levels, strict=True)]
        rows.append([problem, strategy, *chain.from_iterable(against)])
    return markdown_table(heads, rows) if rows else ""


def _against_best(runs: Sequence[Curve], best: BestBaseline | None, level: float) -> list[str]:
    if best is None:
        return ["–"] * 3
    if best.label == CONSTANT:
        return ["–: the constant predictor has it", "–", "–"]
    ratios = [ratio_to_baseline(runs, best.runs, level, cost) for cost, _ in _COSTS]
    return [best.label, *("–" if ratio is None else ratio_text(ratio) for ratio in ratios)]


def variation_table(curves: Sequence[Curve], executions: Sequence[int]) -> str:
    """Show the total variation after numbers of executions and at the end, where it was measured.

    A run that ended before keeps its last value.
    """
    heads = ["problem", "strategy"]
    places = [*(f"{number:,}" for number in executions), "the end"]
    heads += [f"{kind}, {place}" for kind in ("changing", "stochastic") for place in places]
    rows = []
    for problem, strategy, runs in groups(curves):
        stages = [[run.after(number) for run in runs] for number in executions]
        stages.append([run.last for run in runs])
        cells = [
            _variation(points, name)
            for name in ("changing_tv", "stochastic_tv")
            for points in stages
        ]
        if any(cell != "–" for cell in cells):
            rows.append([problem, strategy, *cells])
    return markdown_table(heads, rows) if rows else ""


def _variation(points: Sequence[Point | None], name: str) -> str:
    values = [getattr(point, name, None) for point in points]
    known = [value for value in values if value is not None]
    return spread(known, "{:.3f}") if known and len(known) == len(values) else "–"


def needed_table(curves: Sequence[Curve], levels: Sequence[float]) -> str:
    """Compare the executions that each strategy needed to reach each level of agreement."""
    heads = ["problem", "strategy", *(f"executions to {level:g}" for level in levels)]
    heads += [f"× the least, to {levels[-1]:g}", "at the end", "ended by", "seeds"]
    return markdown_table(heads, _needed_rows(curves, levels))


def _needed_rows(curves: Sequence[Curve], levels: Sequence[float]) -> Iterator[list[str]]:
    for problem, strategy, runs in groups(curves):
        baseline = group(curves, problem, RANDOM)
        cells = []
        for level in levels:
            ratio = None
            if strategy not in (RANDOM, CONSTANT):
                ratio = ratio_to_baseline(runs, baseline, level, "executions")
            cells.append(
                _needed(runs, level) + ("" if ratio is None else f" ({ratio_text(ratio)})")
            )
        yield [
            problem,
            strategy,
            *cells,
            _times_least(runs, levels[-1]),
            spread([run.last.agreement for run in runs], "{:.4f}"),
            ended_by(runs),
            str(len(runs)),
        ]


def weighted(runs: Sequence[Curve], weighting: str) -> list[Curve]:
    """Return the curves under another weighting, where it was measured."""
    found = (run.weighted(weighting) for run in runs)
    return [curve for curve in found if curve.points]


def ended_by(runs: Sequence[Curve]) -> str:
    """Say why runs ended; the files have which budget it was."""
    reasons = (run.stopped_because for run in runs)
    return ", ".join(dict.fromkeys("budget" if r.startswith("budget") else r for r in reasons))


def _needed(runs: Sequence[Curve], level: float) -> str:
    points = [run.first_at(level) for run in runs]
    if not any(points) and runs[0].strategy == CONSTANT:
        return "never"
    if not any(points):
        return f"> {min(run.last.executions for run in runs):,}"
    return spread_of_reached([None if point is None else point.executions for point in points])


def ratio_text(ratio: tuple[float, bool]) -> str:
    """Format a ratio; it is a lower bound if the baseline was cut."""
    times, cut = ratio
    return f"{'> ' if cut else ''}{times:,.1f}×"


def _times_least(runs: Sequence[Curve], level: float) -> str:
    """Compare the executions to a level with the least that any learner needs."""
    least = max(run.least for run in runs)
    reached = [point.executions for run in runs if (point := run.first_at(level)) is not None]
    if not least or len(reached) < len(runs) or not all(reached):
        return "–"
    return f"{statistics.fmean(reached) / least:.2f}"
