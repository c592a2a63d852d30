"""Shortest paths from every state to every intent, in expected executions.

An *edge* is a behavior that is possible in a row of the state matrix, with the rows it may lead
to. Naively, value iteration computes the cost of each edge for each intent in each sweep. But
distances only shrink, so an edge is of interest only if one of its ends got nearer in the sweep
before. Costs are needed for a block of edges at a time, or for the edges of some rows. Everything
is the same as the naive way, to the last digit.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from capscope.model.transitions import spans
from capscope.stats.arrays import Floats, Integers

UNKNOWN = -1
FARTHEST = 60.0  # executions; what takes longer counts as out of reach
_SWEEPS = 60
_CONVERGED = 1e-3
_TIE = 0.1  # ways that differ by less than this many executions are equally short
_FEW = 0.1  # of all edges and intents; if more are concerned, a sweep computes all
_NO_ROWS: Integers = np.zeros(0, dtype=np.int64)
_BLOCK = 500_000  # costs that are computed at a time

Nearer = tuple[Integers, Integers, Floats]
"""Rows and intents whose distance has shrunk, and by how much."""


class Edges:
    """Behaviors that are possible in rows, sorted by row and type, with the rows they lead to."""

    def __init__(
        self,
        row: Integers,
        type: Integers,
        end: Integers,
        odds: Floats,
        margin: Integers = _NO_ROWS,
    ) -> None:
        """Sort edges; `end` and `odds` have a column for each end, with odds of 0 if it is none."""
        self.open = margin
        """The rows that may lead to unknown states."""
        order = np.lexsort((type, row))
        self.row = row[order]
        self.type = type[order]
        self.end = end[order]
        """The row of each end; -1 if it is unknown."""
        self.odds = odds[order]
        self.begins: Integers = np.flatnonzero(np.diff(self.row, prepend=-1))
        self.lengths = np.diff(np.append(self.begins, len(row)))

    def __len__(self) -> int:
        return len(self.row)

    def costs(self, known: Floats, own: slice = slice(None)) -> Floats:
        """Return, for each edge and intent, the expected executions if it comes first.

        `known` is as from `by_row`. With a row for each end, numbers of all intents are side by
        side in memory: that is several times as fast as a column for each.
        """
        ends, odds = self.end[own], self.odds[own]
        cost: Floats = np.ones((len(ends), known.shape[1]))
        for end, share in zip(ends.T, odds.T, strict=True):
            # Most edges have one or two ends, a few have many.
            leads = np.flatnonzero(share)
            cost[leads] += known[end[leads]] * share[leads, None]
        return cost

    def costs_of(self, known: Floats, edge: Integers, intent: Integers) -> Floats:
        """Return the same for some edges, each for one intent."""
        cost = np.ones(len(edge))
        for end, share in zip(self.end.T, self.odds.T, strict=True):
            leads = np.flatnonzero(share[edge])
            at = edge[leads]
            cost[leads] += known[end[at], intent[leads]] * share[at]
        return cost

    def from_rows(self, rows: Integers) -> tuple[Integers, Integers]:
        """Return the edges that begin in some rows, and for each the place of its row in `rows`."""
        begins = np.searchsorted(self.row, rows, side="left")
        return spans(begins, np.searchsorted(self.row, rows, side="right"))

    @cached_property
    def _incoming(self) -> tuple[Integers, Integers]:
        """The edges that lead to each row: all rows in order, and the edge of each."""
        edge, place = np.nonzero((self.odds > 0) & (self.end >= 0))
        ends = self.end[edge, place]
        order = np.argsort(ends, kind="stable")
        return ends[order], edge[order]

    def to_rows(self, rows: Integers) -> tuple[Integers, Integers]:
        """Return the edges that may lead to some rows, and for each the place of its row."""
        ends, edge = self._incoming
        begins = np.searchsorted(ends, rows, side="left")
        found, place = spans(begins, np.searchsorted(ends, rows, side="right"))
        return edge[found], place

    def blocks(self, intents: int) -> Iterator[tuple[slice, slice]]:
        """Divide the rows that have edges: their places, and the edges that begin in them."""
        most = max(_BLOCK // max(intents, 1), 1)
        first = 0
        while first < len(self.begins):
            begin = int(self.begins[first])
            last = int(np.searchsorted(self.begins, begin + most, side="right"))
            last = max(last - 1, first + 1) if last < len(self.begins) else len(self.begins)
            end = int(self.begins[last]) if last < len(self.begins) else len(self.row)
            yield slice(first, last), slice(begin, end)
            first = last


def by_row(distance: Floats) -> Floats:
    """Return the distances of each row side by side, with a last row for unknown states."""
    known: Floats = np.full((distance.shape[1] + 1, len(distance)), FARTHEST)
    known[:-1] = distance.T
    return known


def expected_executions(edges: Edges, begin: Floats) -> Floats:
    """Return the expected executions to each intent from each row (value iteration).

    `begin` has upper bounds for each intent and row: 0 where an intent holds.
    """
    known = by_row(begin)
    row, intent = np.nonzero(begin.T < FARTHEST)
    for _ in range(_SWEEPS):
        edge, place = edges.to_rows(row)
        if len(edge) > _FEW * len(edges) * len(begin):
            row, intent, gain = _sweep(edges, known)
        else:
            row, intent, gain = _sweep_some(edges, known, edge, intent[place])
        if not len(gain) or gain.max() < _CONVERGED:
            break
    return np.ascontiguousarray(known[:-1].T)


def _sweep(edges: Edges, known: Floats) -> Nearer:
    """Shorten the distances of all rows."""
    rows = edges.row[edges.begins]
    before = known[rows]
    after = np.minimum(np.minimum.reduceat(edges.costs(known), edges.begins, axis=0), before)
    known[rows] = after
    place, intent = np.nonzero(after < before)
    return rows[place], intent, (before - after)[place, intent]


def _sweep_some(edges: Edges, known: Floats, edge: Integers, intent: Integers) -> Nearer:
    """Do the same if only some edges may be shorter than before, each for one intent."""
    cost = edges.costs_of(known, edge, intent)
    entry = edges.row[edge] * known.shape[1] + intent
    order = np.argsort(entry, kind="stable")
    entry, first = np.unique(entry[order], return_index=True)
    distances = known.reshape(-1)
    before = distances[entry]
    after = np.minimum(np.minimum.reduceat(cost[order], first), before) if len(first) else before
    distances[entry] = after
    changed = after < before
    row, nearer_to = np.divmod(entry[changed], known.shape[1])
    return row, nearer_to, (before - after)[changed]


def ties_of(
    edges: Edges, distance: Floats, rows: Integers, intents: Integers
) -> tuple[Integers, Integers]:
    """Return the edges that begin a shortest path from some rows, each to one intent.

    And for each edge the place of its row in `rows`.
    """
    edge, place = edges.from_rows(rows)
    if not len(edge):
        return edge, place
    cost = edges.costs_of(by_row(distance), edge, intents[place])
    begins = np.flatnonzero(np.diff(place, prepend=-1))
    least = np.repeat(np.minimum.reduceat(cost, begins), np.diff(np.append(begins, len(place))))
    best = (cost < least + _TIE) & (least < FARTHEST - 1.0)
    return edge[best], place[best]


def first_steps(
    edges: Edges, distance: Floats, rank: Floats, nothing: int
) -> tuple[Integers, Floats]:
    """Return the type of the first step to each intent from each row that has edges.

    Of several shortest paths the one of the highest rank, of those the first type; `nothing` if no
    way is known. And the share of the chosen type in the ranks of all types that begin one.
    """
    known = by_row(distance)
    steps = np.full((len(distance), len(edges.begins)), nothing)
    shares = np.ones(steps.shape)
    for places, own in edges.blocks(len(distance)):
        cost = edges.costs(known, own)
        begins, lengths = edges.begins[places] - own.start, edges.lengths[places]
        least = np.minimum.reduceat(cost, begins, axis=0)
        best = cost < np.repeat(least + _TIE, lengths, axis=0)
        score = np.where(best, rank[edges.type[own], None], 0.0)
        top = np.maximum.reduceat(score, begins, axis=0)
        chosen = best & (score == np.repeat(top, lengths, axis=0))
        # Of equal ranks the first edge counts: it is assigned last.
        place, intent = np.nonzero(chosen[::-1])
        edge = len(chosen) - 1 - place
        of_row = np.repeat(np.arange(places.start, places.stop), lengths)
        steps[intent, of_row[edge]] = edges.type[own][edge]
        unreachable = least.T >= FARTHEST - 1.0
        steps[:, places][unreachable] = nothing
        share = (top / np.maximum(np.add.reduceat(score, begins, axis=0), 1e-300)).T
        shares[:, places] = np.where(unreachable, 1.0, share)
    return steps, shares
