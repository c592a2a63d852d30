"""MCQS-S: sample states on which the two models agree, and find where they disagree.

A state that only one of the models considers possible falsifies the other when it is observed. So
the search walks through states that both consider possible, one sampled state at a time, until it
meets a falsifying one: reward 1, and the branch ends.

On a pair that was tried, both models predict the distribution of its outcome group, so no successor
falsifies. On an untried pair the pessimist considers nothing possible and the optimist something,
so every successor falsifies. Hence a step of the search is a lookup in the state graph.

ξ adds a small bonus for revisits: after n executions a pair may still hide an effect with
probability 1/(1+n), and ξ of that counts as a falsifying outcome.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from capscope.model import ExtremeModels
from capscope.model.state_graph import PairStats, StateNode
from capscope.record.settings import Settings
from capscope.strategy.base import QueryPlan
from capscope.strategy.random_query import random_plan
from capscope.strategy.uct import Edge, Node, Path, best_edge, search
from capscope.symbolic import State

_FALSIFYING = Node(None, depth=0, left=[], final=True, value=1.0)


@dataclass(frozen=True)
class McqsSampled:
    """Choose the policy most likely to reach a falsifying state."""

    settings: Settings

    def choose(
        self, models: ExtremeModels, start: State, xi: float, rng: random.Random
    ) -> QueryPlan:
        """Search from `start`; fall back on a random query if no disagreement is found."""
        settings, graph = self.settings, models.graph
        # The bonus is too small to outweigh a disagreement, and it admits idle capabilities. So it
        # gets a search of its own, if one for disagreement alone found nothing.
        for bonus in dict.fromkeys((0.0, xi)):
            game = SampledGame(len(graph.capabilities), settings, bonus)
            root = game.node(graph.node(start), 0)
            search(root, game, settings.iterations, settings.exploration, rng)
            if root.value > 0.0:
                policy = extract_policy(root, settings.policy_exploration, game.unfold)
                return QueryPlan(policy, root.value, root.value > settings.threshold)
        return random_plan(len(graph.capabilities), settings.depth, rng)


class SampledGame:
    """The state graph as a game for the tree search."""

    def __init__(self, capabilities: int, settings: Settings, xi: float) -> None:
        self._all = list(range(capabilities))
        self._depth = settings.depth
        self._discount = settings.discount
        self._xi = xi

    def settled(self, root: Node) -> bool:
        """Return whether nothing better than the value of the root can be found."""
        # With a discount, nothing beats an untried pair in the start state.
        return self._discount < 1 and root.value >= 1.0

    def node(self, state_node: StateNode, depth: int) -> Node:
        """Make the decision node of a state."""
        left = self._all[:] if self._xi else state_node.open[:]
        return Node(state_node, depth, left, final=depth >= self._depth)

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
        (capability, state_node), *rest = node.tail
        edge = Edge(capability, visits=1, value=node.value)
        if state_node is not None:
            child = edge.children[state_node] = self.node(state_node, node.depth + 1)
            child.tail, child.value = rest, self._rest_of(node, capability) if rest else 0.0
        node.edges.append(edge)
        node.left.remove(capability)
        node.tail = ()
        node.visits = 1

    def _rest_of(self, node: Node, capability: int) -> float:
        """Return the value of a rollout after its first step: undo `backup`."""
        value = node.value
        if self._xi:
            missing = self._xi / (1 + node.content.pairs[capability].total)
            value = (value - missing) / (1.0 - missing)
        return min(max(value / self._discount, 0.0), 1.0)

    def follow(self, node: Node, edge: Edge, rng: random.Random) -> tuple[Node, bool]:
        """Draw a successor; an untried pair leads to the falsifying node."""
        pair = node.content.pairs[edge.capability]
        if pair is None:
            return _FALSIFYING, False
        state_node = pair.only or draw_successor(pair, rng)
        child = edge.children.get(state_node)
        if child is not None:
            return child, False
        child = edge.children[state_node] = self.node(state_node, node.depth + 1)
        return child, True

    def evaluate(self, node: Node, rng: random.Random) -> float:
        """Return the value of random capabilities up to the end of the query."""
        draw, xi = rng.random, self._xi
        state_node = node.content
        value, weight = 0.0, 1.0  # the value so far, and that of a disagreement now
        steps: list[tuple[int, StateNode | None]] = []
        for _ in range(self._depth - node.depth):
            choices = self._all if xi else state_node.open
            if not choices:
                break
            capability = choices[int(draw() * len(choices))]
            pair = state_node.pairs[capability]
            if pair is None:
                value += weight
                steps.append((capability, None))
                break
            if xi:
                missing = xi / (1 + pair.total)
                value += weight * missing
                weight *= 1.0 - missing
            weight *= self._discount
            state_node = pair.only or draw_successor(pair, rng)
            steps.append((capability, state_node))
        if value:
            node.value, node.tail = value, steps
        return value

    def backup(self, path: Path, value: float) -> None:
        """Average sampled values in each edge; the value of a node is that of its best edge."""
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
    """Draw a successor of a stochastic pair from the distribution of its group."""
    group = pair.group
    point = rng.random() * group.total
    for state_node, count in zip(pair.successors, group.counts, strict=True):
        point -= count
        if point < 0:
            return state_node
    return pair.successors[-1]


@dataclass(eq=False)
class PolicyGraph:
    """A policy as a graph: a node is a capability, an edge is the state observed after it.

    Branches of the tree that meet in one state at one depth are merged.
    """

    capabilities: list[int] = field(default_factory=list)
    edges: list[dict[State, int]] = field(default_factory=list)
    entry: dict[State, int] = field(default_factory=dict)

    def add(self, capability: int) -> int:
        """Add a node and return its number."""
        self.capabilities.append(capability)
        self.edges.append({})
        return len(self.capabilities) - 1

    def walk(self) -> GraphWalk:
        """Begin before the first capability."""
        return GraphWalk(self, self.entry)

    def describe(self) -> Mapping[str, Any]:
        """Return nodes and edges; states in hexadecimal."""
        return {
            "kind": "graph",
            "entry": {hex(state): node for state, node in self.entry.items()},
            "capabilities": self.capabilities,
            "edges": [{hex(s): node for s, node in edges.items()} for edges in self.edges],
        }


@dataclass(slots=True)
class GraphWalk:
    """One execution of a policy graph; it ends if there is no edge for the observed state."""

    graph: PolicyGraph
    edges: dict[State, int]

    def next(self, state: State) -> int | None:
        """Follow the edge of the observed state."""
        node = self.edges.get(state)
        if node is None:
            return None
        self.edges = self.graph.edges[node]
        return self.graph.capabilities[node]


def extract_policy(root: Node, exploration: float, unfold: Callable[[Node], None]) -> PolicyGraph:
    """Take the best edge of each decision node, exploration bonus included."""
    graph = PolicyGraph()
    merged: dict[tuple[State, int], int] = {}
    # Edges to fill, and the decision node whose capability goes there.
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
