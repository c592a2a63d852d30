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
from dataclasses import dataclass, replace

import numpy as np

from capscope.data.executions import Numbers
from capscope.difference.coins import log_evidence
from capscope.difference.matching import Mask, Matched
from capscope.difference.odds import Bets
from capscope.symbolic import Literal

_EVERYWHERE, _LITERALS, _STATES = 1 / 2, 1 / 4, 1 / 4


@dataclass(frozen=True)
class Spot:
    """A place where one side is surely ahead, and how sure that is."""

    members: Mask
    """Which of the states of the question it has."""
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
        """Take the literals that hold in some of the states only, one of those that agree."""
        size = len(states)
        bits, atoms = matched.bits[states], matched.words.vocabulary.atoms
        halves: dict[bytes, tuple[Literal, Mask]] = {}
        for positive in (True, False):
            held = bits if positive else ~bits
            # A literal of a single state would be looked at twice.
            for i in np.flatnonzero((held.sum(axis=0) > 1) & ~held.all(axis=0)).tolist():
                halves.setdefault(held[:, i].tobytes(), (Literal(atoms[i], positive), held[:, i]))
        self._literals = [literal for literal, _ in halves.values()]
        self._groups = np.array(
            [np.ones(size, dtype=bool), *(half for _, half in halves.values())], dtype=bool
        )
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
        on_odds = bets.on_odds(self._groups)
        wins, losses = self._groups @ bets.wins, self._groups @ bets.losses
        for i, members in enumerate(self._groups):
            literal = self._literals[i - 1] if i else None
            yield from _reaching(
                bar,
                Spot(members, literal, int(wins[i]), int(losses[i]), on_odds[i], self._prices[i]),
            )

    def _state_spots(self, bets: Bets, bar: float) -> Iterator[Spot]:
        size = len(bets.wins)
        if size < 2:
            return
        for i in np.flatnonzero(bets.wins > bets.losses).tolist():
            won, lost = int(bets.wins[i]), int(bets.losses[i])
            alone = np.arange(size) == i
            yield from _reaching(
                bar, Spot(alone, None, won, lost, float(bets.odds[i]), self._state_price)
            )


def _reaching(bar: float, spot: Spot) -> Iterator[Spot]:
    """Add the evidence of the tosses to that of the odds; yield the spot if both together suffice.

    The average of two bets is a bet.
    """
    won, lost, on_odds = spot.wins, spot.losses, spot.log_evidence
    # No coin explains the tosses better than this; most places are passed over by it.
    most = math.log(2) * max(won - lost, 0) ** 2 / max(won + lost, 1)
    if max(most, on_odds) < bar + spot.log_price:
        return
    evidence = float(np.logaddexp(log_evidence(won, lost), on_odds)) - math.log(2)
    if evidence >= bar + spot.log_price:
        yield replace(spot, log_evidence=evidence)
