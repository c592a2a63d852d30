"""In which states something happens more often: the shortest condition, found by `split_search`.

Rows are pairs of a state and a capability. What distinguishes them are features: atoms, or atoms
with variables if the rows belong to several intents (`lifted_intents`). With thousands of rows or
hundreds of features, the search looks at a sample of the rows and at the best features; the
condition that it finds is then judged by all rows, and pays for all features.

A betting score must exclude that one probability explains the draws on both sides, however they
were chosen. States may also differ without a reason, and then each condition separates better from
worse ones. So the condition must explain more than that. A few states cannot show it; with few, it
is enough that the mean over those on one side is higher beyond doubt.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from capscope.insight.earlier_findings.finding import LEAST_DIFFERENCE, LEAST_RATE, Clause
from capscope.logic import Atom, Literal, State
from capscope.stats.arrays import Integers, Mask
from capscope.stats.betting import evidence_above
from capscope.stats.partial_pooling import explained_beyond_accident
from capscope.stats.rate import Rate
from capscope.stats.split_search import (
    MOST_FEATURES,
    SplitTerm,
    best_conjunctions,
    best_features,
    evidence_of_conjunction,
    price,
    shortest_convincing,
)

_MOST_ROWS = 3000
_MOST_SEARCHED = 96
_FEW_ROWS = 16


@dataclass(frozen=True)
class EventCounts:
    """How often an event happened for each pair of a capability and a state, in how many draws."""

    pairs: tuple[tuple[int, State], ...]
    hits: Integers
    draws: Integers
    names: tuple[Atom, ...]
    """The features, as atoms."""
    bits: Mask
    """Whether each feature holds: a row for each pair."""
    members: Integers
    """Which instance of a family each row is about; a pair may have a row for several."""
    selected_from: int = 1
    """Among how many conditions the one was chosen that selects these rows."""

    @property
    def rate(self) -> Rate:
        """The rate over all pairs together."""
        return Rate.of_pairs(self._of_pairs, len({s for _, s in self.pairs}), self.selected_from)

    @cached_property
    def _of_pairs(self) -> list[tuple[float, int]]:
        """The hits and draws of each pair; rows of the same pair count the same draws."""
        rows: dict[tuple[int, State], list[tuple[int, int]]] = {}
        columns = (self.pairs, self.hits.tolist(), self.draws.tolist())
        for pair, hits, draws in zip(*columns, strict=True):
            rows.setdefault(pair, []).append((hits, draws))
        return [(sum(h for h, _ in own) / len(own), own[0][1]) for own in rows.values()]

    def surely_above(self, bound: float, threshold: float) -> bool:
        """Return whether the evidence that the rate exceeds a bound reaches a threshold."""
        hits, draws = map(sum, zip(*self._of_pairs, strict=True))
        return evidence_above(hits, int(draws), bound) >= threshold

    @property
    def pooled(self) -> tuple[int, int]:
        """All hits and all draws."""
        return int(self.hits.sum()), int(self.draws.sum())

    def where(self, mask: Mask) -> EventCounts:
        """Keep some of the rows."""
        pairs = tuple(pair for pair, kept in zip(self.pairs, mask, strict=True) if kept)
        return replace(
            self,
            pairs=pairs,
            hits=self.hits[mask],
            draws=self.draws[mask],
            bits=self.bits[mask],
            members=self.members[mask],
        )

    def extended(self, other: EventCounts, members: int) -> EventCounts:
        """Add the rows of another family; they have no features in common.

        `members` is the number of instances that this one has.
        """
        rows = len(self.pairs) + len(other.pairs)
        return EventCounts(
            self.pairs + other.pairs,
            np.concatenate([self.hits, other.hits]),
            np.concatenate([self.draws, other.draws]),
            (),
            np.zeros((rows, 0), dtype=bool),
            np.concatenate([self.members, other.members + members]),
            max(self.selected_from, other.selected_from),
        )

    def without(self, other: EventCounts) -> EventCounts:
        """Leave out the rows of some of these counts."""
        taken = set(zip(other.members.tolist(), other.pairs, strict=True))
        rows = zip(self.members.tolist(), self.pairs, strict=True)
        return self.where(np.array([row not in taken for row in rows], dtype=bool))


class Split(NamedTuple):
    """Rows with a higher rate than the others."""

    when: Clause
    rows: EventCounts
    evidence: float
    """The log score, reduced by the price of the search for the condition."""


def best_split(
    counts: EventCounts, threshold: float, difference: float = LEAST_DIFFERENCE
) -> Split | None:
    """Return the condition that separates low from high rates best, if they differ enough.

    Of several that reach the threshold, the shortest; the evidence may be below it.
    """
    hits, draws = counts.pooled
    if len(counts.pairs) < 2 or hits in (0, draws):
        return None
    columns, satisfied = _distinct_literals(counts.bits)
    if not columns:
        return None
    found = shortest_convincing(_search(counts, satisfied, difference), threshold)
    if found is None:
        return None
    chosen = found.features
    conditions = math.comb(len(columns), len(chosen))
    counts = replace(counts, selected_from=counts.selected_from * conditions)
    inside: Mask = np.all(satisfied[:, chosen], axis=1)
    within, without = counts.where(inside), counts.where(~inside)
    sides = [side.pooled for side in (within, without)]
    paid = price(len(chosen), len(columns))
    evidence = evidence_of_conjunction(*sides[0], *sides[1], len(chosen), len(columns))
    outcomes = np.stack([counts.hits, counts.draws - counts.hits], axis=1)
    beyond_accident = explained_beyond_accident(outcomes, [inside])[0] - paid
    few = len(counts.pairs) <= _FEW_ROWS
    if evidence >= threshold and not (few and _apart(within.rate, without.rate)):
        evidence = min(evidence, beyond_accident)
    shares = [h / max(n, 1) for h, n in sides]
    if abs(shares[0] - shares[1]) < difference:
        return None
    width = len(counts.names)
    literals = sorted(columns[i] for i in chosen)
    term = tuple(Literal(counts.names[j % width], j < width) for j in literals)
    higher = shares[0] > shares[1]
    return Split(Clause.of(term, holds=higher), within if higher else without, evidence)


def _apart(one: Rate, other: Rate) -> bool:
    return one.gap_to(other) > 0 or other.gap_to(one) > 0


def _search(counts: EventCounts, satisfied: Mask, difference: float) -> list[SplitTerm]:
    """Return the best conjunction of each length."""
    hits, draws, features = counts.hits, counts.draws, satisfied
    if len(hits) > _MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(len(hits), _MOST_ROWS, replace=False))
        hits, draws, features = hits[rows], draws[rows], satisfied[rows]
    paid = features.shape[1]
    if paid <= _MOST_SEARCHED:
        return best_conjunctions(hits, draws, features, difference)
    first = best_features(hits, draws, features, _MOST_SEARCHED)
    found = best_conjunctions(hits, draws, features[:, first], difference, paid)
    return [SplitTerm([int(first[i]) for i in t.features], t.evidence) for t in found]


def narrow_down(
    counts: EventCounts, threshold: float, later: float
) -> tuple[list[Clause], EventCounts]:
    """Narrow the rows down to those where the event is frequent; return the condition too.

    Further parts of the condition must reach the threshold `later`.
    """
    clauses: list[Clause] = []
    for needed in (threshold, *(later for _ in range(1, MOST_FEATURES))):
        # An event of one in ten may be worth reporting, and then so is where it never happens.
        split = best_split(counts, needed, LEAST_RATE)
        if split is None or split.evidence < needed:
            break
        clauses.append(split.when)
        counts = split.rows
    return clauses, counts


def _distinct_literals(bits: Mask) -> tuple[Sequence[int], Mask]:
    """Return the literals that are true in only some of the rows, one of each that agree."""
    # Literal j < width says that atom j is true, literal width + j that it is false.
    width = bits.shape[1]
    columns = np.ascontiguousarray(bits.T)
    varied = np.flatnonzero(columns.any(axis=1) & ~columns.all(axis=1))
    known: dict[bytes, int] = {}
    for j in varied.tolist():
        known.setdefault(columns[j].tobytes(), j)
    for j in varied.tolist():
        known.setdefault((~columns[j]).tobytes(), width + j)
    chosen = list(known.values())
    positive = np.array([j < width for j in chosen], dtype=bool)
    picked = bits[:, [j % width for j in chosen]]
    return chosen, np.where(positive, picked, ~picked) if chosen else picked
