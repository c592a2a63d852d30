"""A prediction of the learned model, and what it rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from capscope.logic import Effect, State


class Provenance(StrEnum):
    """What a prediction rests on."""

    TRIED = "tried"
    INFERRED = "inferred"
    UNKNOWN = "unknown"


class Support(NamedTuple):
    """The evidence behind a prediction."""

    rule: tuple[Effect, ...]
    """The effects of the outcome type."""
    draws: int
    """The executions that showed this type, of any pair."""
    own_draws: int
    """Those of the pair itself."""


class LearnedPrediction(Mapping[State, float]):
    """Successor → probability, with what it rests on; empty if nothing is predicted."""

    __slots__ = ("_doubt", "_shares", "provenance", "support")

    def __init__(
        self,
        shares: Mapping[State, float],
        provenance: Provenance,
        doubt: Callable[[], float],
        support: Support,
    ) -> None:
        """`doubt` is called when somebody asks: it takes longer than the prediction."""
        self._shares = shares
        self._doubt = doubt
        self.provenance = provenance
        self.support = support

    @property
    def doubt(self) -> float:
        """The probability that the next execution ends in none of the predicted states."""
        return self._doubt()

    def __getitem__(self, state: State) -> float:
        return self._shares[state]

    def __iter__(self) -> Iterator[State]:
        return iter(self._shares)

    def __len__(self) -> int:
        return len(self._shares)

    def __repr__(self) -> str:
        return f"<{self.provenance}, doubt {self.doubt:.2g}: {dict(self._shares)}>"
