"""In which states something comes about more often: the shortest condition that tells.

Each state was drawn from a few times, and the same event counted in each. Splitting the states by
a literal gives two groups; the literal worth naming is the one whose groups differ most surely.
One literal may not be enough ("only when the hand is full *and* the light is off"), so
conjunctions of two are tried all, and the best of them is extended to three. Counting a group for
each conjunction by looking at every state would be slow; with the states as a matrix of bits, all
pairs of literals are one matrix product.

Longer conjunctions are many more, and one of them fits by luck. So each length has to pay the
logarithm of how many there are: what is left is both the measure by which conjunctions of different
lengths compete (a second literal must earn its place) and what has to reach the bar.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capscope.statistics.betting import (
    LEAST_DIFFERENCE,
    LEAST_RATE,
    Counts,
    Rate,
    Scores,
    evidence_of_difference,
)
from capscope.symbolic import Literal, State, Vocabulary
from capscope.symbolic.dnf import Term, bit_matrix

Mask = NDArray[np.bool_]
_MOST_LITERALS = 3


@dataclass(frozen=True)
class Trials:
    """Of each state: how often an event came about, in how many draws."""

    states: tuple[State, ...]
    hits: Counts
    draws: Counts

    @classmethod
    def of(cls, rows: Iterable[tuple[State, int, int]]) -> Trials:
        """Collect (state, hits, draws), leaving out states without draws."""
        kept = [row for row in rows if row[2]]
        columns = np.array([row[1:] for row in kept], dtype=np.int64).reshape(-1, 2)
        return cls(tuple(row[0] for row in kept), columns[:, 0], columns[:, 1])

    @property
    def rate(self) -> Rate:
        """The rate over all states together."""
        return Rate(int(self.hits.sum()), int(self.draws.sum()), len(self.states))

    def where(self, mask: Mask) -> Trials:
        """Keep some of the states."""
        states = tuple(s for s, kept in zip(self.states, mask, strict=True) if kept)
        return Trials(states, self.hits[mask], self.draws[mask])

    def __iter__(self) -> Iterator[tuple[State, int, int]]:
        for state, hits, draws in zip(self.states, self.hits, self.draws, strict=True):
            yield state, int(hits), int(draws)


@dataclass(frozen=True)
class Clause:
    """A conjunction of literals that holds, or that does not."""

    term: Term
    holds: bool = True

    def covers(self, state: State, vocabulary: Vocabulary) -> bool:
        """Say whether a state satisfies the clause."""
        required, forbidden = vocabulary.literal_masks(self.term)
        return (state & required == required and not state & forbidden) is self.holds

    def __str__(self) -> str:
        inside = " and ".join(map(str, self.term))
        return f"when {inside}" if self.holds else f"unless {inside}"


def clause(term: Term, *, holds: bool) -> Clause:
    """Make a clause; that one literal does not hold is said by its opposite."""
    if not holds and len(term) == 1:
        return Clause((Literal(term[0].atom, not term[0].positive),))
    return Clause(term, holds)


@dataclass(frozen=True)
class Split:
    """Two groups of states whose rates differ; the first has the lower one."""

    when_low: Clause
    when_high: Clause
    low: Trials
    high: Trials
    evidence: float
    """The log ratio, less what the search for the condition costs."""


def best_split(
    trials: Trials, vocabulary: Vocabulary, difference: float = LEAST_DIFFERENCE
) -> Split | None:
    """Return the condition that separates low from high rates best; None if there is none.

    Rates that differ by less than `difference` are not worth separating.
    """
    rate = trials.rate if trials.states else None
    if rate is None or rate.hits in (0, rate.draws) or len(trials.states) < 2:
        return None
    columns, satisfied = _distinct_literals(trials.states, vocabulary)
    if not columns:
        return None
    best = _best_term(trials, satisfied, difference)
    if best is None:
        return None
    chosen, evidence = best
    width = len(vocabulary.atoms)
    term = tuple(
        Literal(vocabulary.atoms[j % width], j < width) for j in sorted(columns[i] for i in chosen)
    )
    inside: Mask = np.all(satisfied[:, chosen], axis=1)
    within, without = trials.where(inside), trials.where(~inside)
    lower = within.rate.probability < without.rate.probability
    return Split(
        clause(term, holds=lower),
        clause(term, holds=not lower),
        within if lower else without,
        without if lower else within,
        evidence,
    )


def refined(trials: Trials, vocabulary: Vocabulary, least: float) -> tuple[list[Clause], Trials]:
    """Narrow the states down to those where the event is frequent; return the condition too."""
    clauses: list[Clause] = []
    for _ in range(_MOST_LITERALS):
        # An event of one in ten may be worth telling, and then where it never happens is too.
        split = best_split(trials, vocabulary, LEAST_RATE)
        if split is None or split.evidence < least:
            break
        clauses.append(split.when_high)
        trials = split.high
    return clauses, trials


def _distinct_literals(states: Sequence[State], vocabulary: Vocabulary) -> tuple[list[int], Mask]:
    """Return the literals that are true in some of the states only, one of each that agree.

    Literal j < width says that atom j is true, literal width + j that it is false.
    """
    bits = bit_matrix(states, len(vocabulary.atoms))
    satisfied = np.hstack([bits, ~bits])
    met: dict[bytes, int] = {}
    for j in np.flatnonzero(satisfied.any(axis=0) & ~satisfied.all(axis=0)):
        met.setdefault(satisfied[:, j].tobytes(), int(j))
    columns = list(met.values())
    return columns, satisfied[:, columns]


def _best_term(
    trials: Trials, satisfied: Mask, difference: float
) -> tuple[list[int], float] | None:
    def scores(hits: NDArray[np.generic], draws: NDArray[np.generic]) -> Scores:
        return _scores(trials, hits.astype(np.int64), draws.astype(np.int64), difference)

    number = satisfied.shape[1]
    hits, draws = joint_counts(satisfied, trials.hits, trials.draws)
    # A literal and its opposite make the same split, and so do (i, j) and (j, i).
    singles = scores(hits.diagonal(), draws.diagonal()) - math.log(number)
    pairs = scores(hits, draws) - math.log(max(number * (number - 1) / 2, 1))
    np.fill_diagonal(pairs, -np.inf)
    i, j = np.unravel_index(int(pairs.argmax()), pairs.shape)
    both = [int(i), int(j)]
    together = satisfied[:, both].all(axis=1)
    threes = scores(trials.hits * together @ satisfied, trials.draws * together @ satisfied)
    threes -= math.log(max(math.comb(number, _MOST_LITERALS), 1))
    threes[both] = -np.inf
    first, third = int(singles.argmax()), int(threes.argmax())
    best = max(
        (float(singles[first]), 2, [first]),
        (float(pairs[i, j]), 1, both),
        (float(threes[third]), 0, [*both, third]),
    )
    return None if best[0] == -np.inf else (best[2], best[0])


def joint_counts(satisfied: Mask, *columns: Counts) -> list[Scores]:
    """Of each column of counts, sum up those of the states that satisfy both of two literals.

    A literal mostly comes with its opposite, whose sums follow by subtraction. So each product is
    a quarter of the size; larger ones also keep a second core busy with waiting.
    """
    # Of two opposites, one is true in the first state.
    opposite = ~satisfied[0]
    patterns, which = np.unique(satisfied ^ opposite, axis=1, return_inverse=True)
    weights = patterns.astype(np.float64)
    found = []
    for counts in columns:
        product = weights.T @ (weights * counts[:, None])
        joint, single = product[np.ix_(which, which)], product.diagonal()[which]
        joint = np.where(opposite[:, None], single - joint, joint)
        single = np.where(opposite, counts.sum() - single, single)
        found.append(np.where(opposite, single[:, None] - joint, joint))
    return found


def _scores(trials: Trials, hits: Counts, draws: Counts, difference: float) -> Scores:
    """Return the evidence of a difference inside against outside; too small a one is none."""
    other_hits, other_draws = trials.hits.sum() - hits, trials.draws.sum() - draws
    inside, outside = hits / np.maximum(draws, 1), other_hits / np.maximum(other_draws, 1)
    worth = (draws > 0) & (other_draws > 0) & (abs(inside - outside) >= difference)
    evidence = evidence_of_difference(hits, draws, other_hits, other_draws)
    return np.where(worth, evidence, -np.inf)
