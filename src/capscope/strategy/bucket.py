"""Pairs that promise the same wait in one bucket, and are judged by the same likes."""

from __future__ import annotations

from typing import NamedTuple

from capscope.strategy.belief import Kind
from capscope.symbolic import Effect, State

Peers = tuple[int, Effect | Kind]
"""Pairs that are judged together: a capability, and the effect they showed or their kind."""


class Bucket(NamedTuple):
    """Pairs from which one more draw promises the same."""

    capability: int
    kind: Kind
    effects: tuple[Effect, ...]
    draws: int
    """Draws beyond the first of each outcome."""

    @property
    def total(self) -> int:
        """All draws of each of the pairs."""
        return self.draws + len(self.effects)

    @property
    def peers(self) -> Peers:
        """The pairs it is judged with."""
        if self.kind is Kind.VARIED:
            return self.capability, Kind.VARIED
        return self.capability, self.effects[0]


class Target(NamedTuple):
    """A pair worth asking, and what that promises."""

    state: State
    capability: int
    gain: float
    draws: int
    """How often it was asked before."""


def kind_of(effect: Effect) -> Kind:
    """Say what kind of pair shows an effect and no other."""
    return Kind.ACTING if effect.adds or effect.deletes else Kind.IDLE
