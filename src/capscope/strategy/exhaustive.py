"""Exhaustive: try every pair, and repeat the least tried ones until the run is settled.

Untried pairs come first, then the pairs of rules that are not precise enough, then all others that
need more executions (`settling`), each time the one with the fewest. Rules come first because that
took fewer executions than the fewest draws alone. Any state seen before can be the start, and a
draw goes on while the state it reached has an open pair. The draws of a batch begin with different
pairs, and the pairs that several may come across are divided among them.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, NamedTuple

from capscope.journal.draws import QueryRecord
from capscope.journal.run_meta import StopKind, StopReason
from capscope.journal.settings import Settings
from capscope.logic import State
from capscope.model import StateGraph, StateNode
from capscope.seeds import child_seed
from capscope.strategy.base import (
    BegunQuery,
    QueryChoice,
    QueryResult,
    StrategyContext,
    Walk,
    batch_query,
)
from capscope.strategy.settling import Requirements, Verdict

_BATCH = -5  # child of a query's seed, for the starts of a batch
_REFRESH = 1.02  # requirements are computed again when the executions have grown by this factor
_Pair = tuple[State, int]
_Rank = tuple[bool, int]
"""Whether the rule of a pair is precise enough, and how often the pair was drawn."""


class Target(NamedTuple):
    """A pair to ask for."""

    state: State
    capability: int
    draws: int
    """How often it was executed before."""


class OpenPairs:
    """The pairs that a settled run still needs, in the order in which they are asked for.

    It changes only when answers come in, because a resumed run replays the answers and must find
    the same targets.
    """

    def __init__(self, graph: StateGraph, settings: Settings, seed: int = 0) -> None:
        self._graph = graph
        self._settings = settings
        self._seed = seed
        self._frontier: dict[StateNode, None] = {}  # states in which something was never tried
        self._capabilities = 0
        self._by_rank: dict[_Rank, dict[_Pair, None]] = {}  # the tried pairs that need more
        self._rank: dict[_Pair, _Rank] = {}
        self._answers = 0
        self._refresh_at = 0.0
        self._required = Requirements.of(graph, settings)
        self.settled = False
        """Whether the evidence supports the requested statement."""
        self.observe(())

    def observe(self, pairs: Iterable[_Pair]) -> None:
        """Take in what the graph learned about some pairs."""
        graph = self._graph
        self.settled = False
        for state, capability in pairs:
            self._answers += 1
            node = graph.node(state)
            pair = node.pairs[capability]
            assert pair is not None, "only pairs that were tried are observed"
            self._list(state, capability)
            for near in (node, *pair.successors):
                self._mark(near)
        if len(graph.capabilities) > self._capabilities:
            self._capabilities = len(graph.capabilities)
            for node in graph.nodes.values():
                self._mark(node)
        if not self._frontier:
            self._drop_settled()
            if not self._by_rank or self._answers >= self._refresh_at:
                self._refresh()

    def _mark(self, node: StateNode) -> None:
        if node.tried < len(node.pairs):
            self._frontier.setdefault(node)
        else:
            self._frontier.pop(node, None)

    def _list(self, state: State, capability: int) -> None:
        """Put a tried pair where it belongs after its last draw."""
        self._unlist((state, capability))
        pair = self._graph.pair(state, capability)
        if pair is not None and not self._required.met_by(capability, pair):
            rank = not self._required.imprecise(pair.group), pair.total
            self._rank[state, capability] = rank
            self._by_rank.setdefault(rank, {})[state, capability] = None

    def _unlist(self, pair: _Pair) -> None:
        rank = self._rank.pop(pair, None)
        if rank is not None:
            del self._by_rank[rank][pair]
            if not self._by_rank[rank]:
                del self._by_rank[rank]

    def _drop_settled(self) -> None:
        """Remove the first pairs while they need no more: draws of others may have sufficed."""
        while self._by_rank:
            first = next(iter(self._by_rank[min(self._by_rank)]))
            if self.needs_more(*first):
                return
            self._unlist(first)

    def _refresh(self) -> None:
        """Compute the requirements again, and list all pairs that do not meet them."""
        self._refresh_at = self._answers * _REFRESH + 1
        self._required = Requirements.of(self._graph, self._settings)
        self._by_rank, self._rank = {}, {}
        for state, node in self._graph.nodes.items():
            for capability in range(len(node.pairs)):
                self._list(state, capability)
        self.settled = not self._by_rank and Verdict.of(self._graph, self._settings).reached

    def needs_more(self, state: State, capability: int) -> bool:
        """Return whether a pair was tried and needs further draws."""
        pair = self._graph.pair(state, capability)
        return pair is not None and not self._required.met_by(capability, pair)

    def targets(self, most: int) -> list[Target]:
        """Return up to `most` distinct pairs, in the order to ask."""
        return list(islice(chain(self._untried(), self._fewest_draws()), most))

    def _untried(self) -> Iterator[Target]:
        for node in reversed(self._frontier):
            for capability in self.untried(node.state):
                yield Target(node.state, capability, 0)

    def _fewest_draws(self) -> Iterator[Target]:
        for rank in sorted(self._by_rank):
            for state, capability in self._by_rank[rank]:
                if self.needs_more(state, capability):
                    yield Target(state, capability, rank[1])

    def untried(self, state: State) -> list[int]:
        """List the capabilities never tried in a state, rotated by a number from the seed."""
        node = self._graph.nodes.get(state)
        pairs = [None] * len(self._graph.capabilities) if node is None else node.pairs
        new = [capability for capability, pair in enumerate(pairs) if pair is None]
        turn = child_seed(self._seed, state) % len(new) if new else 0
        return [*new[turn:], *new[:turn]]

    def thin(self, state: State) -> Iterator[int]:
        """Yield the capabilities tried in a state that need more draws, the least drawn first."""
        node = self._graph.nodes.get(state)
        tried = enumerate(() if node is None else node.pairs)
        ranked = sorted((pair.total, capability) for capability, pair in tried if pair is not None)
        return (capability for _, capability in ranked if self.needs_more(state, capability))


@dataclass(frozen=True)
class TargetPolicy:
    """Begin with a pair, then go on with open pairs of the states reached."""

    open_pairs: OpenPairs
    target: Target
    longest: int
    turn: int
    """The number of this draw within the batch."""
    batch: int
    """The number of draws in the batch."""
    taken: frozenset[_Pair]
    """The pairs that the draws of the batch begin with."""

    def walk(self) -> Walk:
        """Begin with the target."""
        asked: set[_Pair] = set()

        def follow(state: State) -> int | None:
            if len(asked) >= self.longest:
                return None
            capability = self._next(state, asked) if asked else self.target.capability
            if capability is not None:
                asked.add((state, capability))
            return capability

        return follow

    def _next(self, state: State, asked: set[_Pair]) -> int | None:
        """Return the capability to ask for in a state that was reached; None to end the draw."""
        thin = self.open_pairs.thin(state) if self.target.draws else ()
        found = chain(self.open_pairs.untried(state), thin)
        allowed = (c for c in found if (state, c) not in asked and self._may_ask(state, c))
        return next(allowed, None)

    def _may_ask(self, state: State, capability: int) -> bool:
        if self.batch == 1:
            return True
        mine = child_seed(state, capability) % self.batch == self.turn
        return mine and (state, capability) not in self.taken

    def describe(self) -> Mapping[str, Any]:
        """Return the pair that the draw begins with and how often it was executed before."""
        return {"kind": "target", **self.target._asdict(), "state": hex(self.target.state)}


class ExhaustiveStrategy:
    """A batch of draws, each beginning with a different open pair."""

    def __init__(self, context: StrategyContext) -> None:
        self.longest_draw = context.settings.depth
        self.audit = None
        self.audited = None
        self._context = context
        seed = child_seed(context.seed, _BATCH)
        self._open_pairs = OpenPairs(context.graph, context.settings, seed)

    def next(self, number: int, begun: BegunQuery | None = None) -> QueryChoice:
        """Choose different pairs to begin with, and a position for each."""
        context, open_pairs = self._context, self._open_pairs
        targets = open_pairs.targets(context.settings.batch_size)
        taken = frozenset((target.state, target.capability) for target in targets)
        longest, batch = context.settings.depth, len(targets)
        wanted = [
            (target.state, TargetPolicy(open_pairs, target, longest, turn, batch, taken))
            for turn, target in enumerate(targets)
        ]
        rng = random.Random(child_seed(context.seed, number, _BATCH))
        promise = 1.0 / (1.0 + targets[0].draws)
        return batch_query(context, number, wanted, promise, begun, rng)

    def observe(self, result: QueryResult) -> None:
        """Update the open pairs."""
        self._open_pairs.observe(result.pairs)

    def finished(self) -> StopReason | None:
        """Stop when the evidence supports the requested statement."""
        return StopReason(StopKind.SETTLED) if self._open_pairs.settled else None

    def describe(self, choice: QueryChoice) -> dict[str, Any]:
        """Describe what each draw begins with."""
        targets = [dict(task.policy.describe()) for task in choice.tasks]
        return {"kind": "targets", "targets": targets}

    def status(self, record: QueryRecord) -> Mapping[str, str]:
        """Return how often the pair of the last draw had been executed before."""
        return {"fewest executions of an open pair": f"{1.0 / record.predicted - 1.0:.0f}"}
