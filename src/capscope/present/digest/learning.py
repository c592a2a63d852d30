"""How the run learned: how near it was, after so many executions, to what it knows now.

Building the model anew at each point and comparing it with the last one would cost sixty models.
What is compared is simpler: of each pair the distribution over the states after, as seen so far
and as seen in the end. Both are counts of transitions, so a point is one addition of counts and
one sum, over columns. The curve ends at 1 by definition: it says when the run had seen what it was
to see, not how right that is.
"""

from __future__ import annotations

import numpy as np

from capscope.present.digest.shape import LearningPoint
from capscope.record.execution_table import Column, ExecutionTable

_EVEN = 24
_EARLY = 38
"""Points at even distances, and points ever nearer to each other towards the beginning."""


def learning_curve(table: ExecutionTable, steps_before: int = 0) -> tuple[LearningPoint, ...]:
    """Return where the run stood at about sixty points; `steps_before` went into discovery."""
    stops = _stops(len(table))
    seen = table.distinct
    steps = steps_before + np.cumsum(table.simulator_steps)
    firsts = (seen.first_of_pair, seen.first, _states(table))
    reached = [np.searchsorted(first, stops) for first in firsts]
    agreements = _agreements(table, stops)
    return tuple(
        LearningPoint(stop, int(steps[stop - 1]), round(agreement, 6), *counts)
        for stop, agreement, *counts in zip(
            stops.tolist(), agreements, *(column.tolist() for column in reached), strict=True
        )
    )


def _stops(executions: int) -> Column:
    """Choose after how many executions to look, the last one included."""
    if not executions:
        return np.empty(0, dtype=np.int64)
    even = np.linspace(0, executions, _EVEN + 1)[1:]
    early = np.geomspace(1, executions, _EARLY)
    return np.unique(np.concatenate([even, early]).round().astype(np.int64).clip(1, executions))


def _states(table: ExecutionTable) -> Column:
    """Return the executions that first began or ended in each state, in order."""
    seen = table.distinct
    first = np.full(len(table.states), len(table), dtype=np.int64)
    for ends in (seen.before, seen.after):
        np.minimum.at(first, ends, seen.first)
    return np.sort(first[first < len(table)])


def _agreements(table: ExecutionTable, stops: Column) -> list[float]:
    seen = table.distinct
    pairs = int(seen.pair.max(initial=-1)) + 1
    final = seen.count / _totals(seen.count, seen.pair, pairs)[seen.pair]
    counts = np.zeros(len(seen), dtype=np.int64)
    agreements, done = [], 0
    for stop in stops.tolist():
        some = table.transition[done:stop]
        counts += np.bincount(some[some >= 0], minlength=len(seen))
        done = stop
        totals = _totals(counts, seen.pair, pairs)
        tried = totals > 0
        shares = counts / np.where(tried, totals, 1)[seen.pair]
        distance = np.where(tried, _totals(abs(shares - final), seen.pair, pairs) / 2, 1.0)
        agreements.append(1.0 - float(distance.mean()) if pairs else 0.0)
    return agreements


def _totals(values: np.ndarray, pair: Column, pairs: int) -> np.ndarray:
    return np.bincount(pair, weights=values, minlength=pairs)
