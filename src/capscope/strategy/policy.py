"""A policy: what is asked next, given everything observed so far in this draw.

A policy is shared by the draws of a query; what a draw has seen lives in its `Walk`, so draws stay
independent of one another and of their order.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from capscope.model import ExtremeModels
from capscope.symbolic import State


class Walk(Protocol):
    """One execution of a policy."""

    def next(self, state: State) -> int | None:
        """Observe a state (first the start) and choose a capability; None ends the draw."""


class Policy(Protocol):
    """A non-stationary policy over capabilities."""

    def walk(self) -> Walk:
        """Begin one execution."""

    def describe(self) -> Mapping[str, Any]:
        """Return what a person needs to follow the policy, as JSON-ready values."""


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """What a search chose, and what it expects of it."""

    policy: Policy
    predicted: float = 0.0
    """The predicted disagreement of the two models, bonus included."""
    informative: bool = False
    """Whether the policy is predicted to distinguish the models."""


class PolicySearch(Protocol):
    """Models and a start state → a policy."""

    def choose(
        self, models: ExtremeModels, start: State, xi: float, rng: random.Random
    ) -> QueryPlan:
        """Choose what to ask from `start`; all randomness comes from `rng`."""


@dataclass(frozen=True, slots=True)
class SequencePolicy:
    """A fixed sequence of capabilities, whatever is observed."""

    sequence: tuple[int, ...]

    def walk(self) -> SequenceWalk:
        """Begin at the first capability."""
        return SequenceWalk(self.sequence)

    def describe(self) -> Mapping[str, Any]:
        """Return the sequence."""
        return {"kind": "sequence", "capabilities": list(self.sequence)}


class SequenceWalk:
    """One execution of a fixed sequence."""

    __slots__ = ("_rest",)

    def __init__(self, sequence: tuple[int, ...]) -> None:
        self._rest = iter(sequence)

    def next(self, state: State) -> int | None:
        """Return the next capability of the sequence."""
        return next(self._rest, None)
