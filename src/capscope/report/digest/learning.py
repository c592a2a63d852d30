"""How the run learned: the learning curve, the coverage of pairs, and the use of executions.

A point of the curve compares, for each pair, the distribution over states afterwards as seen so far
with the one at the end. Both are counts of transitions, so no model has to be rebuilt. The curve
ends at 1 by definition: it shows when the run had seen what it was going to see, not how accurate
that is.

Strategies of the paper repeat one policy in a query, so what an execution is for depends on its
query. Other strategies choose each draw separately: they return to a pair to check whether the
outcome is always the same, or to measure probabilities if it is not.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from capscope.journal.execution_table import ExecutionTable
from capscope.model import StateGraph
from capscope.stats.arrays import Integers, Mask
from capscope.stats.audit import AuditResult
from capscope.strategy.registry import STRATEGIES

_EVEN = 24
"""Points at even distances."""
_EARLY = 38
"""Points at logarithmic distances, dense at the beginning."""
_DRAWS_UP_TO = (0, 1, 5, 10, 25, 100)
_RANGES = ("0", "1", "2 to 5", "6 to 10", "11 to 25", "26 to 100", "more than 100")
"""The upper end of each range of draws, and its name; the last range is open."""
_CUT = "cut short"
FIRST_TRIES = "first tries"
REPEATS = "repeats of first tries"
ON_THE_WAY = "on the way"
_NOTHING_NEW = "nothing new to try"
_CHECKS = "checks"
_MEASURING = "measuring probabilities"
_MEANINGS = {
    FIRST_TRIES: "a capability is requested in a state for the first time",
    REPEATS: "the same again in the same query, to see how often each outcome occurs",
    ON_THE_WAY: "known pairs, in queries that go on to something never tried",
    _NOTHING_NEW: "queries in which nothing is tried for the first time; they may still improve "
    "probabilities",
    _CHECKS: "the same again in a state where the outcome was always the same, in case it is not",
    _MEASURING: "the same again in a state with several outcomes, to learn their probabilities",
    _CUT: "executions that were running when a budget was spent; they are not counted as observed",
}


def learning_curve(table: ExecutionTable) -> list[tuple[float, ...]]:
    """Return about sixty points: executions, agreement, pairs, transitions and states by then.

    The agreement is one minus the mean total variation distance between what had been seen of a
    pair then and at the end, over the pairs tried at the end; an untried pair has distance 1.
    """
    stops = _stops(len(table))
    firsts = (table.distinct.first_of_pair, table.distinct.first, _first_visits(table))
    reached = (np.searchsorted(first, stops).tolist() for first in firsts)
    agreements = [round(agreement, 6) for agreement in _agreements(table, stops)]
    return list(zip(stops.tolist(), agreements, *reached, strict=True))


def _stops(executions: int) -> Integers:
    """Choose the numbers of executions at which to measure, including the last."""
    if not executions:
        return np.empty(0, dtype=np.int64)
    even = np.linspace(0, executions, _EVEN + 1)[1:]
    early = np.geomspace(1, executions, _EARLY)
    return np.unique(np.concatenate([even, early]).round().astype(np.int64).clip(1, executions))


def _first_visits(table: ExecutionTable) -> Integers:
    """Return the executions that first started or ended in each state, in order."""
    seen = table.distinct
    first = np.full(len(table.states), len(table), dtype=np.int64)
    for ends in (seen.before, seen.after):
        np.minimum.at(first, ends, seen.first)
    return np.sort(first[first < len(table)])


def _agreements(table: ExecutionTable, stops: Integers) -> list[float]:
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


def _totals(values: np.ndarray, pair: Integers, pairs: int) -> np.ndarray:
    return np.bincount(pair, weights=values, minlength=pairs)


def audit_digest(table: ExecutionTable, audit: AuditResult | None) -> dict[str, Any] | None:
    """Return which executions were those of the audit: `first` is the number before it."""
    if audit is None:
        return None
    return {
        "first": int((table.query < audit.since_query).sum()),
        "last": len(table),
        "passed": audit.passed,
        "scored": audit.samples,
        "surprises": audit.surprises,
    }


def coverage_of(graph: StateGraph, inferred: int) -> dict[str, Any]:
    """Count the pairs of a state seen and a capability by their number of draws.

    Of the untried pairs, the model predicts those that are inferred; the others are unknown.
    """
    seen = len(graph.nodes) * len(graph.capabilities)
    totals = (
        pair.total for node in graph.nodes.values() if node.tried for pair in node.pairs if pair
    )
    ranges = Counter(bisect_left(_DRAWS_UP_TO, total) for total in totals)
    ranges[0] = seen - graph.pairs_tried
    return {
        "pairs_tried": graph.pairs_tried,
        "pairs_seen": seen,
        "pairs_inferred": inferred,
        "draws_per_pair": [(name, ranges[i]) for i, name in enumerate(_RANGES)],
    }


def spending_parts(table: ExecutionTable, strategy: str) -> list[dict[str, Any]]:
    """Return what the executions were spent on, without purposes that have none."""
    known = STRATEGIES.get(strategy)
    counts = spending(table, repeats_policy=known is None or known.repeats_policy)
    return [
        {"name": name, "meaning": meaning, "executions": counts[name]}
        for name, meaning in _MEANINGS.items()
        if counts.get(name)
    ]


def spending(table: ExecutionTable, *, repeats_policy: bool) -> dict[str, int]:
    """Count the executions by their purpose, each once."""
    left = np.ones(len(table), dtype=bool)
    counts = {}
    for name, applies in _by_query(table) if repeats_policy else _by_draw(table):
        counts[name] = int((left & applies).sum())
        left &= ~applies
    return counts


def _by_draw(table: ExecutionTable) -> Iterator[tuple[str, Mask]]:
    seen = table.distinct
    several = np.bincount(seen.pair)[seen.pair] > 1
    yield _CUT, table.cut
    yield FIRST_TRIES, _first_tries(table)
    varied = np.append(several, False)[table.transition]
    yield _CHECKS, ~varied
    yield _MEASURING, varied


def _by_query(table: ExecutionTable) -> Iterator[tuple[str, Mask]]:
    new = _first_tries(table)
    queries = int(table.query.max(initial=-1)) + 1
    with_first_try = np.bincount(table.query[new], minlength=queries) > 0
    first_query = table.query[table.distinct.first_of_pair]
    yield _CUT, table.cut
    yield FIRST_TRIES, new
    # One more, for executions that were cut: their transition is -1.
    pair = np.append(table.distinct.pair, -1)[table.transition]
    yield REPEATS, table.query == np.append(first_query, -1)[pair]
    yield ON_THE_WAY, with_first_try[table.query]
    yield _NOTHING_NEW, np.ones(len(table), dtype=bool)


def _first_tries(table: ExecutionTable) -> Mask:
    new = np.zeros(len(table), dtype=bool)
    new[table.distinct.first_of_pair] = True
    return new
