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
from dataclasses import dataclass

import numpy as np

from capscope.data.executions import Numbers
from capscope.difference.coins import log_evidence
from capscope.difference.matching import Mask, Matched
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


@dataclass(frozen=True)
class Places:
    """The groups of states in which a question is looked at."""

    literals: tuple[Literal, ...]
    halves: Mask
    """One row a literal: the states in which it holds."""

    @classmethod
    def of(cls, states: Numbers, matched: Matched) -> Places:
        """List the literals that hold in some of the states only, one of those that agree."""
        bits, atoms = matched.bits[states], matched.words.vocabulary.atoms
        met: dict[bytes, tuple[Literal, Mask]] = {}
        for positive in (True, False):
            held = bits if positive else ~bits
            # A literal of a single state would be looked at twice.
            for i in np.flatnonzero((held.sum(axis=0) > 1) & ~held.all(axis=0)).tolist():
                met.setdefault(held[:, i].tobytes(), (Literal(atoms[i], positive), held[:, i]))
        halves = np.array([half for _, half in met.values()], dtype=bool)
        return cls(tuple(x for x, _ in met.values()), halves.reshape(-1, len(states)))

    def log_prices(self) -> tuple[float, float, float]:
        """Return the price of looking everywhere, at one of the literals, and at one state."""
        states = self.halves.shape[1]
        if states < 2:
            return 0.0, 0.0, 0.0
        shares = _EVERYWHERE, _LITERALS / max(len(self.literals), 1), _STATES / states
        everywhere, literal, state = (-math.log(share) for share in shares)
        return everywhere, literal, state

    def best(self, wins: Numbers, losses: Numbers, bar: float) -> Spot | None:
        """Return the spot that shows best that the winner is ahead; None if none reaches the bar.

        Of spots that show the same, the smallest says most: it leaves out states without a toss.
        """
        size = self.halves.shape[1]
        everywhere, literal, state = self.log_prices()
        found: list[tuple[float, Literal | None, Mask]] = [
            (everywhere, None, np.ones(size, dtype=bool))
        ]
        if size > 1:
            found += [(literal, x, h) for x, h in zip(self.literals, self.halves, strict=True)]
            found += [(state, None, np.arange(size) == i) for i in np.flatnonzero(wins > losses)]
        spots = []
        for price, holds, members in found:
            won, lost = int(wins[members].sum()), int(losses[members].sum())
            # No coin explains the tosses better than this; most places are passed over by it.
            most = math.log(2) * (won - lost) ** 2 / max(won + lost, 1)
            if won <= lost or most < bar + price:
                continue
            evidence = log_evidence(won, lost)
            if evidence >= bar + price:
                spots.append(Spot(members, holds, won, lost, evidence, price))
        return max(spots, key=lambda s: (s.log_evidence, -int(s.members.sum())), default=None)
