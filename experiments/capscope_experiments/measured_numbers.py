"""The numbers of the result files, for tables and sentences about all experiments.

A label such as `mcqs-s, --paper` is a strategy with its variants; their order does not matter. A
file, a row or a column that is missing is not an error: the number is None then.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import Any

from capscope_experiments.curve import Curve, Point
from capscope_experiments.curve_report import Cost, ratio_to_baseline
from capscope_experiments.plan import BASELINES
from capscope_experiments.result_rows import Row, number, read_rows

NOT_MEASURED = "not measured"
_NEEDED = {"executions", "simulator_steps", "agreement"}
"""What a point of a learning curve must have."""
_UNUSED_OF_A_CURVE: dict[str, Any] = {"stopped_because": "", "shares": {}}


@dataclass(frozen=True)
class Ratio:
    """How many times as much one strategy needed as another."""

    value: float
    lower_bound: bool = False
    """The other one was cut before it got there."""

    def __str__(self) -> str:
        return f"{'> ' if self.lower_bound else ''}{self.value:.{1 if self.value >= 1 else 2}f}×"


@dataclass(frozen=True)
class Share:
    """A mean with its standard deviation."""

    mean: float
    deviation: float

    def __str__(self) -> str:
        return f"{self.mean:.1%} ± {self.deviation:.1%}"


class Measured:
    """The CSV files in the folder of results."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.rows = cache(self._rows)
        """The rows of a file by its name without `.csv`; none if there is no such file."""
        self._curves = cache(self._all_curves)

    def _rows(self, name: str) -> Sequence[Row]:
        return read_rows(self._folder / f"{name}.csv")

    def about(self, name: str, problem: str, label: str) -> list[Row]:
        """Return the rows of a file about a strategy on a problem."""
        return [
            row
            for row in self.rows(name)
            if row.get("problem") == problem and row.get("strategy") == label
        ]

    def curves(
        self, problem: str, label: str, weighting: str = "", name: str = "efficiency"
    ) -> list[Curve]:
        """Return the runs of a strategy; without those that lack the weighting."""
        own = [c for c in self._curves(name) if c.problem == problem and c.strategy == label]
        weighted = [curve.weighted(weighting) for curve in own] if weighting else own
        return [curve for curve in weighted if curve.points]

    def _all_curves(self, name: str) -> list[Curve]:
        points: dict[tuple[str, str, int], list[dict[str, float]]] = {}
        for row in self.rows(name):
            found = _numbers(row)
            if set(found) >= _NEEDED:
                key = row.get("problem", ""), row.get("strategy", ""), int(row.get("seed") or 0)
                points.setdefault(key, []).append({"queries": 0, "seconds": 0.0, **found})
        heads = ("problem", "strategy", "seed")
        return [
            Curve.from_dict(
                {**dict(zip(heads, key, strict=True)), "points": found, **_UNUSED_OF_A_CURVE}
            )
            for key, found in points.items()
        ]

    @cached_property
    def problems(self) -> list[str]:
        """The problems of the efficiency experiment."""
        return list(dict.fromkeys(row.get("problem", "") for row in self.rows("efficiency")))

    def needed(
        self,
        problem: str,
        label: str,
        level: float,
        weighting: str = "",
        cost: Cost = "executions",
        name: str = "efficiency",
    ) -> float | None:
        """Return the mean cost until a level; None if a run missed it."""
        runs = self.curves(problem, label, weighting, name)
        points = [run.first_at(level) for run in runs]
        spent = [getattr(point, cost) for point in points if point is not None]
        return statistics.fmean(spent) if spent and len(spent) == len(runs) else None

    def ratio(
        self,
        problem: str,
        label: str,
        level: float,
        weighting: str = "",
        cost: Cost = "simulator_steps",
        baseline: str = "random",
    ) -> Ratio | None:
        """Return how many times as much a baseline needed to reach a level."""
        own = self.curves(problem, label, weighting)
        base = self.curves(problem, baseline, weighting)
        found = ratio_to_baseline(own, base, level, cost)
        return None if found is None else Ratio(*found)

    def at_end(
        self, problem: str, label: str, weighting: str = "", name: str = "efficiency"
    ) -> float | None:
        """Return the mean agreement at the end of the runs."""
        runs = self.curves(problem, label, weighting, name)
        return mean(run.last.agreement for run in runs)

    def ratio_at_end(
        self, problem: str, label: str, baseline: str, weighting: str = ""
    ) -> Ratio | None:
        """Return how many times the agreement of a baseline a strategy has after equal steps."""
        own, base = (self.curves(problem, name, weighting) for name in (label, baseline))
        if not own or not base or len({run.last.simulator_steps for run in (*own, *base)}) > 1:
            return None
        ends = [statistics.fmean(run.last.agreement for run in runs) for runs in (own, base)]
        return Ratio(ends[0] / ends[1]) if ends[1] else None

    def ended_by(self, problem: str, label: str, name: str = "efficiency") -> list[str]:
        """List why the runs ended."""
        rows = self.about(f"{name}-runs", problem, label)
        return list(dict.fromkeys(row.get("stopped_because") or "" for row in rows))

    def best_baseline(
        self, problem: str, level: float, weighting: str = ""
    ) -> tuple[str, float] | None:
        """Return the baseline that reached a level with the fewest executions, and their number."""
        found = [(self.needed(problem, label, level, weighting), label) for label in BASELINES]
        reached = [(spent, label) for spent, label in found if spent is not None]
        return None if not reached else (min(reached)[1], min(reached)[0])

    def against_best(
        self, problem: str, label: str, level: float, weighting: str = ""
    ) -> Ratio | None:
        """Return how many times as many executions the best baseline needed to reach a level.

        0 if only the baseline reached it; None if neither did, or one of them was not measured.
        """
        runs = self.curves(problem, label, weighting)
        base = [r for name in BASELINES for r in self.curves(problem, name, weighting)]
        own = self.needed(problem, label, level, weighting)
        found = self.best_baseline(problem, level, weighting)
        if not runs or not base or (own is None and found is None):
            return None
        best = max(run.last.executions for run in base) if found is None else found[1]
        return Ratio(0.0) if own is None else Ratio(best / max(own, 1), found is None)

    def least_ratio(
        self, problem: str, label: str, baseline: str, levels: Sequence[float]
    ) -> Ratio | None:
        """Return the least of the ratios of executions that a baseline needed, over some levels.

        By agreement and with the paper's filter: a strategy may win by one and lose by the other.

        A level that one of them did not reach says nothing, unless the other one got there with
        fewer executions than were spent without reaching it: then the ratio is 0, or one that the
        baseline would exceed.
        """
        found = []
        for level, weighting in product(levels, ("", "filtered")):
            own, base = (self.curves(problem, name, weighting) for name in (label, baseline))
            if not own or not base:
                continue
            spent, others = (
                self.needed(problem, name, level, weighting) for name in (label, baseline)
            )
            if spent is not None:
                cut = others is None
                most = statistics.fmean(run.last.executions for run in base)
                ratio = Ratio((most if others is None else others) / max(spent, 1), cut)
                if ratio.value > 1 or not cut:
                    found.append(ratio)
            elif others is not None and others < min(run.last.executions for run in own):
                found.append(Ratio(0.0))
        return min(found, key=lambda ratio: ratio.value, default=None)

    def consistent(self, problem: str, label: str, routes: str = "") -> Share | None:
        """Return the share of executed sequences that were consistent with the models.

        Of routes that were grown in one of the ways; by default, with limited doubt, or as an
        earlier version did.
        """
        kinds = (routes,) if routes else ("limited doubt", "")
        tested = [
            (int(row["sequences"]), float(row["consistent"]), float(row["deviation"]))
            for row in self.about("reachability", problem, label)
            if row.get("sequences", "0") != "0" and row.get("consistent") and row.get("deviation")
            if (row.get("routes") or "") in kinds
        ]
        total = sum(count for count, _, _ in tested)
        if not total:
            return None
        middle = sum(count * share for count, share, _ in tested) / total
        square = sum(n * (off**2 + (share - middle) ** 2) for n, share, off in tested) / total
        return Share(middle, square**0.5)


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the numbers; None if there are none."""
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def shown(value: object | None) -> str:
    """Show a number, or that there is none."""
    return NOT_MEASURED if value is None else str(value)


def _numbers(row: Row) -> dict[str, float]:
    """Return the numbers of a point of a learning curve, without empty cells."""
    found = ((field.name, number(row.get(field.name) or "")) for field in fields(Point))
    return {name: value for name, value in found if value is not None}
