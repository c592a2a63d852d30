"""MCQS-S: sample states on which the two models agree, and find where they disagree.

A state that only one of the models considers possible falsifies the other when it is observed:
reward 1, and the branch ends. On a pair that was tried, both models predict the distribution of its
outcome group; on an untried pair only the optimist considers anything possible, so every successor
falsifies. Hence a step of the search is a lookup in the state graph. ξ adds a small bonus for
revisits: after n executions a pair may still hide an effect with probability 1/(1+n), and ξ of that
counts as a falsifying outcome.

As printed, all draws of a query follow one graph of best capabilities, and identical draws find
about one new pair. So the visits of draws count in the tree, as in MCQS-E.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

from capscope.journal.settings import Settings
from capscope.logic import State
from capscope.model import ExtremeModels, StateGraph
from capscope.model.state_graph import PairStats, StateNode
from capscope.strategy.base import QueryPlan
from capscope.strategy.paper.uct import Edge, Node, Path, best_edge, searched_plan

_FALSIFYING = Node(None, depth=0, left=[], final=True, value=1.0)


def mcqs_sampled(
    models: ExtremeModels, start: State, xi: float, rng: random.Random, settings: Settings
) -> QueryPlan:
    """Choose the policy most likely to reach a falsifying state."""
    game = SampledGame(models.graph, settings.depth, xi)
    return searched_plan(game, start, len(models.graph.capabilities), settings, rng)


class SampledGame:
    """The state graph as a game for the tree search."""

    def __init__(self, graph: StateGraph, depth: int, xi: float) -> None:
        self._graph = graph
        self._all = list(range(len(graph.capabilities)))
        self._depth = depth
        self._xi = xi

    def root(self, start: State) -> Node:
        """Make the node of the start."""
        return self._node(self._graph.node(start), 0)

    def settled(self, root: Node) -> bool:
        """Return False: the draws of a query need many branches, also if one is certain."""
        return False

    def _node(self, state_node: StateNode, depth: int) -> Node:
        left = self._all[:] if self._xi else state_node.open[:]
        return Node(state_node, depth, left, final=depth >= self._depth)

    def grow(self, node: Node, rng: random.Random) -> None:
        """Add the edge of one capability: the one its rollout took, then any of those left."""
        if node.tail:
            self._unfold(node)
            return
        left = node.left
        i = int(rng.random() * len(left))
        node.edges.append(Edge(left[i]))
        left[i] = left[-1]
        left.pop()

    def _unfold(self, node: Node) -> None:
        """Turn the first step of a successful rollout into an edge that was followed once."""
        (capability, state_node), *rest = node.tail
        edge = Edge(capability, visits=1, value=node.value)
        if state_node is not None:
            child = edge.children[state_node] = self._node(state_node, node.depth + 1)
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
        child = edge.children[state_node] = self._node(state_node, node.depth + 1)
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

    def edges(self, node: Node) -> list[Edge]:
        """List the edges of a node; the path of a rollout becomes one."""
        if node.tail:
            self._unfold(node)
        return node.edges

    def observed(self, nodes: Iterable[Node], state: State) -> Node | None:
        """Return the node of a state; None if the search did not meet it there."""
        return next((node for node in nodes if node.content.state == state), None)

    def best(self, node: Node, exploration: float) -> Edge | None:
        """Return the edge with the highest bound."""
        edges = self.edges(node)
        return best_edge(edges, node.visits, exploration) if edges else None


def draw_successor(pair: PairStats, rng: random.Random) -> StateNode:
    """Draw a successor of a stochastic pair from the distribution of its group."""
    group = pair.group
    point = rng.random() * group.total
    for state_node, count in zip(pair.successors, group.counts, strict=True):
        point -= count
        if point < 0:
            return state_node
    return pair.successors[-1]
