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
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from capscope.journal.settings import Settings
from capscope.logic import State
from capscope.model import ExtremeModels, StateGraph
from capscope.model.state_graph import PairStats, StateNode
from capscope.strategy.base import QueryPlan
from capscope.strategy.paper.repeated import random_plan
from capscope.strategy.paper.uct import Choices, Edge, Node, Path, best_edge, first_choice, search

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
        game = SampledGame(len(graph.capabilities), settings.depth, xi)
        root = game.node(graph.node(start), 0)
        search(root, game, settings.iterations, settings.exploration, rng)
        if root.value <= 0.0:
            return random_plan(len(graph.capabilities), settings.depth, rng)
        policy = SampledPolicy(root, game, graph, settings.exploration)
        return QueryPlan(policy, root.value, root.value > settings.threshold, in_order=True)


class SampledGame:
    """The state graph as a game for the tree search."""

    def __init__(self, capabilities: int, depth: int, xi: float) -> None:
        self._all = list(range(capabilities))
        self._depth = depth
        self._xi = xi

    def settled(self, root: Node) -> bool:
        """Return False: the draws of a query need many branches, also if one is certain."""
        return False

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
        return min(max(value, 0.0), 1.0)

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
            state_node = pair.only or draw_successor(pair, rng)
            steps.append((capability, state_node))
        if value:
            node.value, node.tail = value, steps
        return value

    def backup(self, path: Path, value: float) -> None:
        """Average sampled values in each edge; the value of a node is that of its best edge."""
        xi = self._xi
        for node, edge, _ in reversed(path):
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


class SampledPolicy:
    """The searched tree as a policy, in which the visits of draws count.

    As printed, all draws of a query follow one graph of best capabilities. The bounds of the root
    lie so close together then that the choice is nearly uniform, and identical draws find about one
    new pair. So the visits of draws count in the tree, as in MCQS-E: they lower the
    bound, and draws spread over the branches, each with its own counts.
    """

    def __init__(
        self, root: Node, game: SampledGame, graph: StateGraph, exploration: float
    ) -> None:
        self.root = root
        self.game = game
        self.graph = graph
        self.exploration = exploration
        self.choices = Choices()

    def walk(self) -> SampledWalk:
        """Begin at the root."""
        return SampledWalk(self, self.root)

    def edges(self, node: Node) -> list[Edge]:
        """List the edges of a node; the path of a rollout becomes one."""
        if node.tail:
            self.game.unfold(node)
        return node.edges

    def describe(self) -> Mapping[str, Any]:
        """Return the choices made in the draws so far, or the best one at first."""
        return (self.choices or first_choice(self, self.root.content.state)).describe()


@dataclass(slots=True)
class SampledWalk:
    """One execution of a searched tree; it ends in a state that the search did not meet there."""

    policy: SampledPolicy
    node: Node | None
    edge: Edge | None = None

    def next(self, state: State) -> int | None:
        """Follow the branch with the highest bound in the observed state."""
        policy = self.policy
        if self.edge is not None:
            self.node = self.edge.children.get(policy.graph.nodes.get(state))
        if self.node is None or self.node.content.state != state:
            return None
        node, edges = self.node, policy.edges(self.node)
        if not edges:
            return None
        self.edge = best_edge(edges, node.visits, policy.exploration)
        policy.choices.add((node.depth, state, self.edge.capability))
        self.edge.visits += 1
        node.visits += 1
        return self.edge.capability
