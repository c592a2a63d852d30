"""MCQS-S: sample where the two models still agree, look for where they part.

A state that only one of the models holds possible settles the matter when it is observed: it
falsifies the other model. So a search for telling queries only has to walk through states that both
models hold possible, one sampled state at a time, until it meets a falsifying one: reward 1, and
the branch ends.

Where can that be? On a pair that was tried, both models predict the distribution of its block, so
drawing from their equal mixture is drawing from the block, and no successor falsifies. On a pair
never tried the pessimist holds nothing possible and the optimist something, so every successor
falsifies. Hence a step of the search is a lookup in the graph of places and pairs.

ξ adds a little for coming back: after n executions a pair may still hide an effect with probability
1/(1+n), and ξ of that counts as a falsifying outcome.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from math import inf
from typing import Any

from capscope.model import ExtremeModels
from capscope.model.state_graph import PairStats, StateNode
from capscope.record.settings import Settings
from capscope.strategy.policy import QueryPlan
from capscope.strategy.random_query import random_plan
from capscope.strategy.uct import Edge, Node, Path, SearchBudget, best_edge, search
from capscope.symbolic import State

_FALSIFYING = Node(None, depth=0, left=[], final=True)
_FALSIFYING.value = 1.0


class McqsSampled:
    """Choose the policy most likely to reach a falsifying state."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def choose(
        self, models: ExtremeModels, start: State, xi: float, rng: random.Random
    ) -> QueryPlan:
        """Search from `start`; fall back on a random query when nothing is promised."""
        settings, graph = self._settings, models.graph
        # The bonus is too small to outweigh a disagreement, and lets idle capabilities in: it is
        # worth a search of its own, after one for disagreement alone has found nothing.
        for bonus in dict.fromkeys((0.0, xi)):
            game = SampledGame(len(graph.capabilities), settings, bonus)
            budget = SearchBudget(settings.iterations, settings.exploration, game.settled)
            root = search(game.node(graph.node(start), 0), game, game.backup, budget, rng)
            if root.value > 0.0:
                policy = extract_policy(root, settings.policy_exploration, game.unfold)
                return QueryPlan(policy, root.value, root.value > settings.threshold)
        return random_plan(len(graph.capabilities), settings.depth, rng)


class SampledGame:
    """Places and pairs as a game for the tree search."""

    def __init__(self, capabilities: int, settings: Settings, xi: float) -> None:
        self.capabilities = capabilities
        self._all = list(range(capabilities))
        self._depth = settings.depth
        self._discount = settings.discount
        # Where later is worth less, nothing beats a pair that can be tried at once.
        self._enough = 1.0 if settings.discount < 1 else inf
        self._xi = xi

    def settled(self, root: Node) -> bool:
        """Say whether the root promises as much as there can be."""
        return root.value >= self._enough

    def node(self, place: StateNode, depth: int) -> Node:
        """Make the decision node of a place."""
        left = self._all[:] if self._xi else place.open[:]
        return Node(place, depth, left, final=depth >= self._depth)

    def grow(self, node: Node, rng: random.Random) -> None:
        """Add the edge of one capability: the one its rollout took, then any of those left."""
        if node.tail:
            self.unfold(node)
            return
        left = node.left
        i = int(rng.random() * len(left))
        node.edges.append(Edge(left[i]))
        left[i] = left[-1]
        left.pop()

    def unfold(self, node: Node) -> None:
        """Turn the first step of a successful rollout into an edge that was followed once."""
        (capability, place), *rest = node.tail
        edge = Edge(capability)
        edge.visits, edge.value = 1, node.value
        if place is not None:
            child = edge.children[place] = self.node(place, node.depth + 1)
            child.tail, child.value = rest, self._rest_of(node, capability) if rest else 0.0
        node.edges.append(edge)
        node.left.remove(capability)
        node.tail = ()
        node.visits = 1

    def _rest_of(self, node: Node, capability: int) -> float:
        """Return what is left of the promise of a rollout after its first step: undo `backup`."""
        value = node.value
        if self._xi:
            missing = self._xi / (1 + node.content.pairs[capability].total)
            value = (value - missing) / (1.0 - missing)
        return min(max(value / self._discount, 0.0), 1.0)

    def follow(self, node: Node, edge: Edge, rng: random.Random) -> tuple[Node, bool]:
        """Draw a successor; an untried pair leads straight to the falsifying node."""
        pair = node.content.pairs[edge.capability]
        if pair is None:
            return _FALSIFYING, False
        place = pair.only or draw_successor(pair, rng)
        child = edge.children.get(place)
        if child is not None:
            return child, False
        child = edge.children[place] = self.node(place, node.depth + 1)
        return child, True

    def evaluate(self, node: Node, rng: random.Random) -> float:
        """Play random capabilities to the end of the query and return what that is worth."""
        draw, xi = rng.random, self._xi
        place = node.content
        value, weight = 0.0, 1.0  # promised so far; what a disagreement would be worth now
        steps: list[tuple[int, StateNode | None]] = []
        for _ in range(self._depth - node.depth):
            choices = self._all if xi else place.open
            if not choices:
                break
            capability = choices[int(draw() * len(choices))]
            pair = place.pairs[capability]
            if pair is None:
                value += weight
                steps.append((capability, None))
                break
            if xi:
                missing = xi / (1 + pair.total)
                value += weight * missing
                weight *= 1.0 - missing
            weight *= self._discount
            place = pair.only or draw_successor(pair, rng)
            steps.append((capability, place))
        if value:
            node.value, node.tail = value, steps
        return value

    def backup(self, path: Path, value: float) -> None:
        """Average the value of the sampled successor into each edge; a node is worth its best."""
        xi = self._xi
        for node, edge, child in reversed(path):
            if child is not _FALSIFYING:
                value *= self._discount
            if xi:
                pair = node.content.pairs[edge.capability]
                if pair is not None:
                    missing = xi / (1 + pair.total)
                    value = missing + (1.0 - missing) * value
            edge.visits += 1
            node.visits += 1
            was_best = edge.value == node.value
            edge.value += (value - edge.value) / edge.visits
            if node.visits == 1 or edge.value >= node.value:
                node.value = edge.value
            elif was_best:
                node.value = max(other.value for other in node.edges)
            value = node.value


def draw_successor(pair: PairStats, rng: random.Random) -> StateNode:
    """Draw a successor of a stochastic pair from the distribution of its block."""
    group = pair.group
    point = rng.random() * group.total
    for place, count in zip(pair.successors, group.counts, strict=True):
        point -= count
        if point < 0:
            return place
    return pair.successors[-1]


class PolicyGraph:
    """A policy as a graph: a node is a capability, an edge is the state observed after it.

    Two branches of the tree that meet in one state at one depth share what follows.
    """

    def __init__(self) -> None:
        self.capabilities: list[int] = []
        self.edges: list[dict[State, int]] = []
        self.entry: dict[State, int] = {}

    def add(self, capability: int) -> int:
        """Add a node and return its number."""
        self.capabilities.append(capability)
        self.edges.append({})
        return len(self.capabilities) - 1

    def walk(self) -> GraphWalk:
        """Begin before the first capability."""
        return GraphWalk(self)

    def describe(self) -> Mapping[str, Any]:
        """Return nodes and edges; states in hexadecimal."""
        return {
            "kind": "graph",
            "entry": {hex(state): node for state, node in self.entry.items()},
            "capabilities": self.capabilities,
            "edges": [{hex(s): node for s, node in edges.items()} for edges in self.edges],
        }


class GraphWalk:
    """One execution of a policy graph; it ends where the graph has no edge for what is seen."""

    __slots__ = ("_edges", "_graph")

    def __init__(self, graph: PolicyGraph) -> None:
        self._graph = graph
        self._edges = graph.entry

    def next(self, state: State) -> int | None:
        """Follow the edge of the observed state."""
        node = self._edges.get(state)
        if node is None:
            return None
        self._edges = self._graph.edges[node]
        return self._graph.capabilities[node]


def extract_policy(root: Node, exploration: float, unfold: Callable[[Node], None]) -> PolicyGraph:
    """Take the best edge of each decision node, exploration bonus included."""
    graph = PolicyGraph()
    merged: dict[tuple[State, int], int] = {}
    # An explicit stack: edges to fill, and the decision node whose capability goes there.
    stack: list[tuple[dict[State, int], Node]] = [(graph.entry, root)]
    while stack:
        edges, node = stack.pop()
        if node.tail:
            unfold(node)
        if not node.edges:
            continue
        state = node.content.state
        known = merged.get((state, node.depth))
        if known is None:
            edge = best_edge(node.edges, node.visits, exploration)
            known = merged[state, node.depth] = graph.add(edge.capability)
            stack += [(graph.edges[known], child) for child in reversed(edge.children.values())]
        edges[state] = known
    return graph
