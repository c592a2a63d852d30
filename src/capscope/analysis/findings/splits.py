"""In which states something happens more often: the shortest condition, found by `split_search`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from capscope.analysis.findings.rate import LEAST_DIFFERENCE, LEAST_RATE, Rate
from capscope.statistics.arrays import Integers, Mask
from capscope.statistics.split_search import MOST_FEATURES, best_conjunction
from capscope.symbolic import Literal, State, Vocabulary
from capscope.symbolic.dnf import Term, bit_matrix


@dataclass(frozen=True)
class EventCounts:
    """How often an event happened in each state, in how many draws."""

    states: tuple[State, ...]
    hits: Integers
    draws: Integers

    @classmethod
    def of(cls, rows: Iterable[tuple[State, int, int]]) -> EventCounts:
        """Collect (state, hits, draws), without states that have no draws."""
        kept = [row for row in rows if row[2]]
        columns = np.array([row[1:] for row in kept], dtype=np.int64).reshape(-1, 2)
        return cls(tuple(row[0] for row in kept), columns[:, 0], columns[:, 1])

    @property
    def rate(self) -> Rate:
        """The rate over all states together."""
        return Rate(int(self.hits.sum()), int(self.draws.sum()), len(self.states))

    def where(self, mask: Mask) -> EventCounts:
        """Keep some of the states."""
        states = tuple(s for s, kept in zip(self.states, mask, strict=True) if kept)
        return EventCounts(states, self.hits[mask], self.draws[mask])


@dataclass(frozen=True)
class Clause:
    """A conjunction of literals that holds, or that does not."""

    term: Term
    holds: bool = True

    @classmethod
    def of(cls, term: Term, *, holds: bool) -> Clause:
        """Make a clause; write that a single literal does not hold as its negation."""
        if not holds and len(term) == 1:
            return cls((Literal(term[0].atom, not term[0].positive),))
        return cls(term, holds)

    def covers(self, state: State, vocabulary: Vocabulary) -> bool:
        """Return whether a state satisfies the clause."""
        required, forbidden = vocabulary.literal_masks(self.term)
        return (state & required == required and not state & forbidden) is self.holds

    def __str__(self) -> str:
        inside = " and ".join(map(str, self.term))
        return f"when {inside}" if self.holds else f"unless {inside}"


@dataclass(frozen=True)
class Split:
    """Two groups of states whose rates differ; the first has the lower one."""

    when_low: Clause
    when_high: Clause
    low: EventCounts
    high: EventCounts
    evidence: float
    """The log score, reduced by the price of the search for the condition."""


def best_split(
    counts: EventCounts, vocabulary: Vocabulary, difference: float = LEAST_DIFFERENCE
) -> Split | None:
    """Return the condition that separates low from high rates best, if they differ enough."""
    if len(counts.states) < 2 or counts.rate.hits in (0, counts.rate.draws):
        return None
    columns, satisfied = _distinct_literals(counts.states, vocabulary)
    if not columns:
        return None
    best = best_conjunction(counts.hits, counts.draws, satisfied, difference)
    if best is None:
        return None
    width = len(vocabulary.atoms)
    chosen = sorted(columns[i] for i in best.features)
    term = tuple(Literal(vocabulary.atoms[j % width], j < width) for j in chosen)
    inside: Mask = np.all(satisfied[:, best.features], axis=1)
    within, without = counts.where(inside), counts.where(~inside)
    lower = within.rate.probability < without.rate.probability
    return Split(
        Clause.of(term, holds=lower),
        Clause.of(term, holds=not lower),
        within if lower else without,
        without if lower else within,
        best.evidence,
    )


def narrow_down(
    counts: EventCounts, vocabulary: Vocabulary, threshold: float
) -> tuple[list[Clause], EventCounts]:
    """Narrow the states down to those where the event is frequent; return the condition too."""
    clauses: list[Clause] = []
    for _ in range(MOST_FEATURES):
        # An event of one in ten may be worth reporting, and then so is where it never happens.
        split = best_split(counts, vocabulary, LEAST_RATE)
        if split is None or split.evidence < threshold:
            break
        clauses.append(split.when_high)
        counts = split.high
    return clauses, counts


def _distinct_literals(states: Sequence[State], vocabulary: Vocabulary) -> tuple[list[int], Mask]:
    """Return the literals that are true in only some of the states, one of each that agree."""
    bits = bit_matrix(states, len(vocabulary.atoms))
    # Literal j < width says that atom j is true, literal width + j that it is false.
    satisfied = np.hstack([bits, ~bits])
    known: dict[bytes, int] = {}
    for j in np.flatnonzero(satisfied.any(axis=0) & ~satisfied.all(axis=0)):
        known.setdefault(satisfied[:, j].tobytes(), int(j))
    columns = list(known.values())
    return columns, satisfied[:, columns]
