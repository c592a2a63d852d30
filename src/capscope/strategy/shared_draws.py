"""Draws that go on: an extension of the paper's queries.

In the paper all draws of a query are alike and, with MCQS-S, end at the first untried pair. So 25
executions try one pair. Here the draws of a query share the untried pairs that they meet: each pair
belongs to a few of them (`draws_per_pair`). A draw follows the policy of the query until it meets
untried pairs of its own. From there on it tries one after another, in whatever state that leads to,
and ends when the current state has none for it.

Whose a pair is depends on the query, the state and the number of the draw only. Draws need not know
of each other, so their order and the number of workers change nothing.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from capscope.model import StateGraph
from capscope.record.settings import Settings
from capscope.seeds import child_seed
from capscope.strategy.base import Policy, Walk
from capscope.symbolic import State


class PairShares:
    """Which untried pairs belong to which draws of a query."""

    def __init__(self, graph: StateGraph, settings: Settings, seed: int) -> None:
        self._graph = graph
        self._draws = settings.draws
        self.draws_per_pair = settings.draws_per_pair
        self._seed = seed
        self._orders: dict[State, list[int]] = {}

    def of(self, draw: int, state: State) -> list[int]:
        """List the capabilities that a draw may try in a state, in its own order."""
        # The pair at place i belongs to the draws i, i + 1, … around the circle of draws.
        turns = (
            ((draw - place) % self._draws, capability)
            for place, capability in enumerate(self._order(state))
        )
        return [capability for turn, capability in sorted(turns) if turn < self.draws_per_pair]

    def untried(self, state: State, capability: int) -> bool:
        """Return whether a pair was not tried before this query."""
        return self._graph.pair(state, capability) is None

    def _order(self, state: State) -> list[int]:
        """Return the untried capabilities of a state, shuffled."""
        order = self._orders.get(state)
        if order is None:
            capabilities = range(len(self._graph.capabilities))
            order = [c for c in capabilities if self.untried(state, c)]
            random.Random(child_seed(self._seed, state)).shuffle(order)
            self._orders[state] = order
        return order


@dataclass(frozen=True)
class SharedPolicy:
    """The policy of a query for one of its draws."""

    policy: Policy
    shares: PairShares
    draw: int
    longest: int
    """The maximum number of executions."""

    def walk(self) -> SharedWalk:
        """Begin one execution."""
        return SharedWalk(self, self.policy.walk())

    def describe(self) -> Mapping[str, Any]:
        """Return the way that all draws of the query have in common."""
        return {**self.policy.describe(), "draws_per_pair": self.shares.draws_per_pair}


@dataclass(slots=True)
class SharedWalk:
    """One execution: first along the policy, then from one untried pair to the next."""

    policy: SharedPolicy
    common: Walk | None
    """The way of all draws; None after the first pair of its own."""
    executions: int = 0
    tried: set[tuple[State, int]] = field(default_factory=set)

    def next(self, state: State) -> int | None:
        """Choose an untried pair of its own, else follow the policy."""
        if self.executions >= self.policy.longest:
            return None
        self.executions += 1
        shares = self.policy.shares
        for capability in shares.of(self.policy.draw, state):
            if (state, capability) not in self.tried:
                self.tried.add((state, capability))
                self.common = None
                return capability
        followed = None if self.common is None else self.common.next(state)
        # What is untried belongs to other draws.
        return None if followed is None or shares.untried(state, followed) else followed
