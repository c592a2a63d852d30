"""Where the executions of a run went.

An execution can do one of four things: try a pair that was never tried (`new`), try it again in
another draw of the same query (`repeat`), walk through pairs known before, on the way to something
new (`walk`), or belong to a query that found nothing new at all (`nowhere`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from capscope.record.journal import Draw, Journal
from capscope.symbolic import State
from capscope.world import Ending

Pair = tuple[State, int]


@dataclass(frozen=True, slots=True)
class Shares:
    """Executions by what they did."""

    new: int = 0
    repeat: int = 0
    walk: int = 0
    nowhere: int = 0

    def __add__(self, other: Shares) -> Shares:
        return Shares(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


def shares_of(draws: Sequence[Draw], tried: set[Pair]) -> Shares:
    """Sort the executions of one query; `tried` are the pairs known before, and is brought up."""
    executions = [execution for draw in draws for execution in draw.executions]
    pairs = [(attempt.trajectory[0], c) for c, attempt in executions]
    # An attempt that a budget cut short is no observation: its pair stays untried.
    cut = [attempt.ending is Ending.CUT for _, attempt in executions]
    fresh = {pair for pair, gone in zip(pairs, cut, strict=True) if not gone} - tried
    tried |= fresh
    if not fresh:
        return Shares(nowhere=len(pairs))
    on_fresh = sum(pair in fresh for pair in pairs)
    return Shares(new=len(fresh), repeat=on_fresh - len(fresh), walk=len(pairs) - on_fresh)


def where_executions_went(journal: Journal, queries: int | None = None) -> Shares:
    """Sort all executions of a run, or those of its first queries."""
    tried: set[Pair] = set()
    total = Shares()
    number = 0
    while number != queries and journal.query(number) is not None:
        total += shares_of(journal.draws(number), tried)
        number += 1
    return total
