"""What the executions of a run were spent on.

Strategies of the paper repeat one policy in a query, so what an execution is for depends on its
query. The adaptive strategy chooses each draw separately: it returns to a pair to check whether the
outcome is always the same, or to measure probabilities if it is not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from capscope.present.digest.shape import SpendingPart
from capscope.record.execution_table import ExecutionTable
from capscope.statistics.arrays import Mask
from capscope.strategy.registry import STRATEGIES

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
    known = STRATEGIES.get(strategy)
    repeats = known is None or known.repeats_policy
    counts = spending(table, repeats_policy=repeats)
    return tuple(
        SpendingPart(name, meaning, counts[name])
        for name, meaning in _MEANINGS.items()
        if counts.get(name)
    )


def spending(table: ExecutionTable, *, repeats_policy: bool) -> dict[str, int]:
    """Count the executions by their purpose, each once."""
    left = np.ones(len(table), dtype=bool)
    counts = {}
    for name, applies in _by_query(table) if repeats_policy else _adaptive(table):
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
    # One more, for executions that were cut: their transition is -1.
    pair = np.append(table.distinct.pair, -1)[table.transition]
    yield REPEATS, table.query == np.append(first_query, -1)[pair]
    yield ON_THE_WAY, with_first_try[table.query]
    yield _NOTHING_NEW, np.ones(len(table), dtype=bool)


def _first_tries(table: ExecutionTable) -> Mask:
    new = np.zeros(len(table), dtype=bool)
    new[table.distinct.first_of_pair] = True
    return new
