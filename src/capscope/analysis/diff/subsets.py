"""Where two runs differ: everywhere, under a condition, or in one state.

A capability may be lost in one corner of the world only, which goes unnoticed over all states
together. So each question is tested in several subsets: all states, those in which a literal holds,
and every single one. Half of a question's error rate is for all states together, a quarter is
divided among the literals and a quarter among the single states. The subsets are made from the
states alone, never from what was seen in them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from capscope.analysis.diff.matching import MatchedRuns
from capscope.statistics.arrays import Integers, Mask
from capscope.statistics.stratified_test import StratifiedEvidence
from capscope.symbolic import Literal

_EVERYWHERE, _LITERALS, _STATES = 1 / 2, 1 / 4, 1 / 4


@dataclass(frozen=True)
class SubsetEvidence:
    """A subset of states in which one side is ahead, and how sure that is."""

    members: Mask
    """Which of the strata of the question it has."""
    literal: Literal | None
    """What holds in these states and in none of the others; None if no literal does."""
    wins: int
    losses: int
    log_evidence: float
    log_price: float
    """The price of looking in many subsets."""


class StateSubsets:
    """The subsets of states in which a question is tested."""

    def __init__(self, states: Integers, matched: MatchedRuns) -> None:
        """Take the literals that hold in some of the states, one of those that agree."""
        which, self._begins, self._state = np.unique(states, return_index=True, return_inverse=True)
        size = len(which)
        bits, atoms = matched.bits[which], matched.vocabulary.atoms
        halves: dict[bytes, tuple[Literal, Mask]] = {}
        for positive in (True, False):
            held = bits if positive else ~bits
            # A literal of a single state would be tested twice.
            for i in np.flatnonzero((held.sum(axis=0) > 1) & ~held.all(axis=0)).tolist():
                halves.setdefault(held[:, i].tobytes(), (Literal(atoms[i], positive), held[:, i]))
        self._literals = [literal for literal, _ in halves.values()]
        groups = [np.ones(size, dtype=bool), *(half for _, half in halves.values())]
        self._groups = np.array(groups, dtype=bool)[:, self._state]
        shares = [_EVERYWHERE, *[_LITERALS / max(len(halves), 1)] * len(halves)]
        self._prices = -np.log(shares) if size > 1 else np.zeros(1)
        self._state_price = math.log(size / _STATES) if size > 1 else 0.0

    def best(self, evidence: StratifiedEvidence, threshold: float) -> SubsetEvidence | None:
        """Return the subset that shows best who is ahead; None if none reaches the threshold."""
        # Of subsets that show the same, the smallest omits states without a comparison.
        found = [*self._by_literal(evidence, threshold), *self._by_state(evidence, threshold)]
        return max(found, key=lambda s: (s.log_evidence, -int(s.members.sum())), default=None)

    def _by_literal(
        self, evidence: StratifiedEvidence, threshold: float
    ) -> Iterator[SubsetEvidence]:
        groups, prices = self._groups.astype(np.float64), self._prices
        found = evidence.reaching(lambda values: groups @ values, threshold + prices)
        for i, wins, losses, score in found:
            literal = self._literals[i - 1] if i else None
            yield SubsetEvidence(self._groups[i], literal, wins, losses, score, float(prices[i]))

    def _by_state(self, evidence: StratifiedEvidence, threshold: float) -> Iterator[SubsetEvidence]:
        if len(self._begins) < 2:
            return
        thresholds = np.full(len(self._begins), threshold + self._state_price)
        # The strata of a state are contiguous.
        found = evidence.reaching(lambda v: np.add.reduceat(v, self._begins), thresholds)
        for i, wins, losses, score in found:
            yield SubsetEvidence(self._state == i, None, wins, losses, score, self._state_price)
