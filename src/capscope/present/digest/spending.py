"""Where the executions of a run went.

The paper's strategies ask one query many times: an execution tries a pair for the first time,
repeats that in another draw, is on the way to it, or belongs to a query that tries nothing new. The
adaptive strategy chooses each draw for itself, and goes back to a pair for one of two reasons: to
see whether it always answers alike, or to measure the chances where it does not.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from capscope.present.digest.shape import Spending
from capscope.record.execution_table import Column, ExecutionTable, Flags
from capscope.strategy.registry import ADAPTIVE

_CUT = (
    "cut short",
    "executions under way when a budget was spent; they count as nothing seen",
)
_NEW = ("first tries", "a capability is asked for in a state for the first time")
_REPEATS = (
    "repeats of first tries",
    "the same again in the same query, to see how often it comes out which way",
)
_WALKS = ("on the way", "known ground, in queries that go on to something never tried")
_NOWHERE = (
    "nothing new to try",
    "queries in which nothing is tried for the first time; they may still sharpen probabilities",
)
_CHECKS = (
    "checks",
    "the same again in a state where it has always come out the same way, in case it does not",
)
_CHANCES = (
    "measuring chance",
    "the same again in a state where it comes out in several ways, to learn how often in which",
)


def spending(table: ExecutionTable, strategy: str) -> tuple[Spending, ...]:
    """Sort all executions by what they were for; those that there are none of are left out."""
    sorts = _adaptive if strategy == ADAPTIVE else _by_query
    left = np.ones(len(table), dtype=bool)
    parts = []
    # The first that fits: each execution counts once.
    for (name, meaning), fits in sorts(table):
        counted = int((left & fits).sum())
        left &= ~fits
        if counted:
            parts.append(Spending(name, meaning, counted))
    return tuple(sorted(parts, key=lambda part: part.name == _CUT[0]))


def _adaptive(table: ExecutionTable) -> Iterator[tuple[tuple[str, str], Flags]]:
    seen = table.distinct
    several = np.bincount(seen.pair)[seen.pair] > 1
    yield _CUT, table.cut
    yield _NEW, _first_tries(table)
    varied = np.append(several, False)[table.transition]
    yield _CHECKS, ~varied
    yield _CHANCES, varied


def _by_query(table: ExecutionTable) -> Iterator[tuple[tuple[str, str], Flags]]:
    new = _first_tries(table)
    queries = int(table.query.max(initial=-1)) + 1
    informative = np.bincount(table.query[new], minlength=queries) > 0
    first_query = table.query[table.distinct.first_of_pair]
    yield _CUT, table.cut
    yield _NEW, new
    yield _REPEATS, table.query == np.append(first_query, -1)[_pair(table)]
    yield _WALKS, informative[table.query]
    yield _NOWHERE, np.ones(len(table), dtype=bool)


def _pair(table: ExecutionTable) -> Column:
    """Return the number of each execution's pair; -1 if it was cut."""
    return np.append(table.distinct.pair, -1)[table.transition]


def _first_tries(table: ExecutionTable) -> Flags:
    new = np.zeros(len(table), dtype=bool)
    new[table.distinct.first_of_pair] = True
    return new
