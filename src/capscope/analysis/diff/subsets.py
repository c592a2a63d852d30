"""Where two runs differ: everywhere, under a condition, or in one state.

A capability may be lost in one corner of the world and be as good as ever elsewhere; over all
states together that corner would drown. So the tosses of a question are looked at in several groups
of states: all of them, those in which a literal holds, and every single one. The groups are made
from the states alone, never from what was seen in them. Looking in many places has a price: half of
the error rate is for all states together, a quarter is shared by the literals and a quarter by the
single states. Each difference that is told then stands by itself, with the place that is named.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from capscope.analysis.diff.matching import Mask, Matched
from capscope.record.query_table import Column as Numbers
from capscope.statistics.betting import Scores
from capscope.statistics.likelihood_ratio import Bets, Total
from capscope.statistics.sign_test import log_evidence
from capscope.symbolic import Literal

_EVERYWHERE, _LITERALS, _STATES = 1 / 2, 1 / 4, 1 / 4


@dataclass(frozen=True)
class Spot:
    """A place where one side is surely ahead, and how sure that is."""

    members: Mask
    """Which of the strata of the question it has."""
    literal: Literal | None
    """What holds in these states and in none of the others; None where no literal says it."""
    wins: int
    losses: int
    log_evidence: float
    log_price: float
    """What is paid for looking in so many places."""


class Places:
    """The groups of states in which a question is looked at."""

    def __init__(self, states: Numbers, matched: Matched) -> None:
        """Take the literals that hold in some of the states only, one of those that agree.

        `states` are those of the strata, so that one with several positions is there more often.
        """
        which, self._begins, self._state = np.unique(states, return_index=True, return_inverse=True)
        size = len(which)
        bits, atoms = matched.bits[which], matched.words.vocabulary.atoms
        halves: dict[bytes, tuple[Literal, Mask]] = {}
        for positive in (True, False):
            held = bits if positive else ~bits
            # A literal of a single state would be looked at twice.
            for i in np.flatnonzero((held.sum(axis=0) > 1) & ~held.all(axis=0)).tolist():
                halves.setdefault(held[:, i].tobytes(), (Literal(atoms[i], positive), held[:, i]))
        self._literals = [literal for literal, _ in halves.values()]
        groups = [np.ones(size, dtype=bool), *(half for _, half in halves.values())]
        self._groups = np.array(groups, dtype=bool)[:, self._state]
        shares = [_EVERYWHERE, *[_LITERALS / max(len(halves), 1)] * len(halves)]
        self._prices = -np.log(shares) if size > 1 else np.zeros(1)
        self._state_price = math.log(size / _STATES) if size > 1 else 0.0

    def best(self, bets: Bets, bar: float) -> Spot | None:
        """Return the spot that shows best who is ahead; None if none reaches the bar.

        Of spots that show the same, the smallest says most: it leaves out states without a toss.
        """
        spots = [*self._group_spots(bets, bar), *self._state_spots(bets, bar)]
        return max(spots, key=lambda s: (s.log_evidence, -int(s.members.sum())), default=None)

    def _group_spots(self, bets: Bets, bar: float) -> Iterator[Spot]:
        groups = self._groups.astype(np.float64)
        for i, shown in _reaching(bets, lambda values: groups @ values, bar + self._prices):
            literal = self._literals[i - 1] if i else None
            yield Spot(self._groups[i], literal, *shown, float(self._prices[i]))

    def _state_spots(self, bets: Bets, bar: float) -> Iterator[Spot]:
        if len(self._begins) < 2:
            return
        bars = np.full(len(self._begins), bar + self._state_price)
        # The strata of a state stand together.
        for i, shown in _reaching(bets, lambda v: np.add.reduceat(v, self._begins), bars):
            yield Spot(self._state == i, None, *shown, self._state_price)


def _reaching(
    bets: Bets, total: Total, bars: Scores
) -> Iterator[tuple[int, tuple[int, int, float]]]:
    """Yield the groups whose tosses and odds suffice, with wins, losses and the evidence.

    The mean of bets is a bet: there is one on the tosses for each way to match draws, and their
    mean is taken with the bet on the odds. Told are the wins of the way that shows most.
    """
    wins, losses, on_odds = total(bets.wins.T), total(bets.losses.T), bets.on_odds(total)
    # No coin explains the tosses better than this; most places are passed over by it.
    lead, tosses = np.maximum(wins - losses, 0), np.maximum(wins + losses, 1)
    most = (math.log(2) * lead**2 / tosses).max(axis=1, initial=0.0)
    ahead = (wins > losses).any(axis=1)
    for i in np.flatnonzero(ahead & (np.maximum(most, on_odds) >= bars)).tolist():
        tossed = [(int(won), int(lost)) for won, lost in zip(wins[i], losses[i], strict=True)]
        scores = [log_evidence(*counts) for counts in tossed]
        on_tosses = float(np.logaddexp.reduce(scores)) - math.log(len(scores))
        evidence = float(np.logaddexp(on_tosses, on_odds[i])) - math.log(2)
        if evidence >= bars[i]:
            yield i, (*tossed[int(np.argmax(scores))], evidence)
