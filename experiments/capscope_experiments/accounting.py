"""Where the executions of a run went.

An execution does one of four things: it tries a pair for the first time (`new`), tries it again in
another draw of the same query (`repeat`), passes through pairs known before on the way to something
new (`walk`), or belongs to a query that found nothing new at all (`nowhere`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from capscope.record.journal import Draw
from capscope.symbolic import State
from capscope.world import Ending

Pair = tuple[State, int]


@dataclass(frozen=True, slots=True)
class Shares:
    """The number of executions of each kind."""

    new: int = 0
    repeat: int = 0
    walk: int = 0
    nowhere: int = 0

    def __add__(self, other: Shares) -> Shares:
        return Shares(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


def where_executions_went(queries: Iterable[Sequence[Draw]]) -> Shares:
    """Count the executions of the queries of a run, given the draws of each."""
    tried: set[Pair] = set()
    return sum((shares_of(draws, tried) for draws in queries), Shares())


def shares_of(draws: Sequence[Draw], tried: set[Pair]) -> Shares:
    """Count the executions of one query; add its pairs to `tried`, those known before."""
    executions = [execution for draw in draws for execution in draw.executions]
    pairs = [(attempt.trajectory[0], c) for c, attempt in executions]
    # An attempt cut short by a budget is not an observation: its pair stays untried.
    cut = [attempt.ending is Ending.CUT for _, attempt in executions]
    fresh = {pair for pair, gone in zip(pairs, cut, strict=True) if not gone} - tried
    tried |= fresh
    if not fresh:
        return Shares(nowhere=len(pairs))
    on_fresh = sum(pair in fresh for pair in pairs)
    return Shares(new=len(fresh), repeat=on_fresh - len(fresh), walk=len(pairs) - on_fresh)
