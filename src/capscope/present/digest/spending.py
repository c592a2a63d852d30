"""What the executions of a run were spent on.

The strategies of the paper ask one query many times: an execution tries a pair for the first time,
repeats that in another draw, is on the way to it, or belongs to a query that tries nothing new. The
adaptive strategy chooses each draw separately and returns to a pair for one of two reasons: to
check whether the outcome is always the same, or to measure probabilities if it is not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from capscope.present.digest.shape import SpendingPart
from capscope.record.execution_table import ExecutionTable
from capscope.statistics.arrays import Integers, Mask
from capscope.strategy.registry import strategies

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


def spending_parts(table: ExecutionTable, strategy: str) -> tuple[SpendingPart, ...]:
    """Return what the executions were spent on, without purposes that have none."""
    counts = spending(table, strategy)
    return tuple(
        SpendingPart(name, meaning, counts[name])
        for name, meaning in _MEANINGS.items()
        if counts.get(name)
    )


def spending(table: ExecutionTable, strategy: str) -> dict[str, int]:
    """Count the executions by their purpose."""
    known = strategies().get(strategy)
    if known is None or known.repeats_policy:
        return spending_by_query(table)
    return _count(table, _adaptive(table))


def spending_by_query(table: ExecutionTable) -> dict[str, int]:
    """Count the executions by their purpose in queries that repeat one policy."""
    return _count(table, _by_query(table))


def _count(table: ExecutionTable, purposes: Iterator[tuple[str, Mask]]) -> dict[str, int]:
    left = np.ones(len(table), dtype=bool)
    counts = {}
    # The first that applies: each execution counts once.
    for name, applies in purposes:
        counts[name] = int((left & applies).sum())
        left &= ~applies
    return counts


def _adaptive(table: ExecutionTable) -> Iterator[tuple[str, Mask]]:
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
    yield REPEATS, table.query == np.append(first_query, -1)[_pair(table)]
    yield ON_THE_WAY, with_first_try[table.query]
    yield _NOTHING_NEW, np.ones(len(table), dtype=bool)


def _pair(table: ExecutionTable) -> Integers:
    """Return the number of each execution's pair; -1 if it was cut."""
    return np.append(table.distinct.pair, -1)[table.transition]


def _first_tries(table: ExecutionTable) -> Mask:
    new = np.zeros(len(table), dtype=bool)
    new[table.distinct.first_of_pair] = True
    return new
