"""Learning curves as rows of two CSV files: one of points, and one of what a whole run has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, fields
from typing import Any

from capscope.errors import CapscopeError
from capscope_experiments.bench import Bench
from capscope_experiments.curve import Curve, Point, Shares
from capscope_experiments.result_rows import Row, number, write_rows

_RUN = ("problem", "strategy", "seed")
_SPENT = ("queries", "executions", "simulator_steps")
_SHARES = tuple(field.name for field in fields(Shares))
POINT_HEADS = (*_RUN, *(field.name for field in fields(Point)))
RUN_HEADS = (*_RUN, "stopped_because", *_SHARES, "least", "measure")


def combined_curves(bench: Bench, name: str, measured: Sequence[Curve]) -> list[Curve]:
    """Write measured curves next to those that are kept; return all as they were written."""
    points = write_rows(bench, f"{name}.csv", POINT_HEADS, _point_rows(measured))
    runs = write_rows(bench, f"{name}-runs.csv", RUN_HEADS, map(_run_row, measured))
    return curves_of(points, runs)


def curves_of(points: Sequence[Row], runs: Sequence[Row]) -> list[Curve]:
    """Make the curves of runs from the rows of both files."""
    points_of: dict[tuple[str, ...], list[Point]] = {_key(run): [] for run in runs}
    for row in points:
        if _key(row) not in points_of:
            raise CapscopeError(
                f"{row['strategy']} on {row['problem']}, seed {row['seed']}, has points but no row "
                "in the file of runs; measure it again"
            )
        points_of[_key(row)].append(_point(row))
    return [_curve(run, points_of[_key(run)]) for run in runs]


def _key(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in _RUN)


def _point_rows(curves: Sequence[Curve]) -> Iterator[list[Any]]:
    for curve in curves:
        for point in curve.points:
            yield [curve.problem, curve.strategy, curve.seed, *map(_rounded, astuple(point))]


def _run_row(curve: Curve) -> list[Any]:
    counts = astuple(curve.shares)
    return [
        *(curve.problem, curve.strategy, curve.seed, curve.stopped_because),
        *(_rounded(count / (sum(counts) or 1)) for count in counts),
        *(curve.least, curve.measure),
    ]


def _rounded(value: Any) -> Any:
    """Round to six places: curves have many thousand points."""
    return round(value, 6) if isinstance(value, float) else value


def _point(row: Row) -> Point:
    values: dict[str, Any] = {field.name: number(row[field.name]) for field in fields(Point)}
    return Point(**{**values, **{name: int(row[name]) for name in _SPENT}})


def _curve(run: Row, points: Sequence[Point]) -> Curve:
    return Curve(
        *(run["problem"], run["strategy"], int(run["seed"]), tuple(points), run["stopped_because"]),
        shares=Shares(*(number(run[name]) or 0.0 for name in _SHARES)),
        least=int(run["least"]),
        measure=run["measure"],
    )
