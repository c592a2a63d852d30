"""MCQS-E: follow both models exactly and find where their predictions differ most.

A node of the search holds two distributions ⟨ρ₁, ρ₂⟩ over states, as the pessimist and the optimist
predict them after the same capabilities. Applying a capability to them is deterministic, so every
edge has one child. The value of a node is the largest total variation distance on the best path
through it: Q(n, c) = max(δ(n), V(child)), V(n) = max over c of Q(n, c).

To keep the tree small, a new node with the same supports as an existing one is pruned, and a visit
adds three children. ξ enters as a mass `hidden` that has left both distributions for effects not
seen yet: a step adds ξ/(1+n) of each state's mass, where n counts the executions of the pair, and
hidden mass counts as disagreement.

The policy keeps the tree. After each observation both distributions of the current node collapse to
the observed state, capabilities known to do nothing there are dropped, and the best branch is
predicted again from that state, until the best branch is one that was predicted again.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from math import exp
from typing import Any

from capscope.model import ExtremeModels
from capscope.record.settings import Settings
from capscope.strategy.base import QueryPlan
from capscope.strategy.distribution import Distribution, Predictor, point, total_variation
from capscope.strategy.random_query import random_plan
from capscope.strategy.uct import Edge, Node, Path, best_edge, search
from capscope.symbolic import State

_CHILDREN_PER_VISIT = 3
_ROLLOUTS = 3
# Predictions that differ enough, or are spread over too many states, are not followed further; a
# rollout, which only has to compare nodes, stops earlier than the tree.
_Limits = tuple[float, int]  # a distance, and a number of states
_IN_TREE: _Limits = (1.0 - 1e-9, 12)
_IN_ROLLOUT: _Limits = (0.5, 8)


class Predictions:
    """The distributions that the two models predict, and their distance."""

    __slots__ = ("distance", "hidden", "optimist", "pessimist")

    def __init__(self, pessimist: Distribution, optimist: Distribution, hidden: float) -> None:
        self.pessimist = pessimist
        self.optimist = optimist
        self.hidden = hidden
        # While the models agree, they share one distribution.
        apart = 0.0 if pessimist is optimist else total_variation(pessimist, optimist)
        self.distance = hidden + (1.0 - hidden) * apart

    @property
    def supports(self) -> tuple[frozenset[State], frozenset[State]]:
        """The states that each model considers possible."""
        one = frozenset(self.pessimist)
        return one, one if self.pessimist is self.optimist else frozenset(self.optimist)

    def reach(self, limits: _Limits) -> bool:
        """Return whether they are not followed further."""
        return self.distance >= limits[0] or len(self.optimist) > limits[1]


def certain(state: State) -> Predictions:
    """Return predictions in which both models are certain of a state."""
    here = point(state)
    return Predictions(here, here, 0.0)


@dataclass(frozen=True)
class McqsExact:
    """Choose the policy on which the two models' predictions differ most."""

    settings: Settings

    def choose(
        self, models: ExtremeModels, start: State, xi: float, rng: random.Random
    ) -> QueryPlan:
        """Search from `start`; fall back on a random query if no disagreement is found."""
        settings = self.settings
        # As in MCQS-S: disagreement alone first, the bonus only if there is none.
        for bonus in dict.fromkeys((0.0, xi)):
            game = ExactGame(models, settings, bonus)
            root = game.root(start)
            search(root, game, settings.iterations, settings.exploration, rng)
            if root.value > 0.0:
                policy = TreePolicy(root, game, settings)
                return QueryPlan(policy, root.value, root.value > settings.threshold)
        return random_plan(len(models.graph.capabilities), settings.depth, rng)


class ExactGame:
    """The predictions of both models as a game for the tree search."""

    def __init__(self, models: ExtremeModels, settings: Settings, xi: float) -> None:
        self._graph = graph = models.graph
        self._predictor = Predictor(models)
        self._all = list(range(len(graph.capabilities)))
        self._depth = settings.depth
        self._discount = settings.discount
        self._xi = xi
        self._known: dict[tuple[frozenset[State], frozenset[State]], float] = {}
        self._growing = 0  # nodes with children left to add

    def settled(self, root: Node) -> bool:
        """Return whether nothing better than the value of the root can be found."""
        # With a discount, nothing beats full disagreement after one capability.
        most = self._discount * _IN_TREE[0]
        return not self._growing or (self._discount < 1 and root.value >= most)

    def root(self, start: State) -> Node:
        """Make the node in which both models are certain of the start."""
        node = self._node(certain(start), 0)
        self._known[node.content.supports] = 0.0
        return node

    def _node(self, predicted: Predictions, depth: int, *, leaf: bool = False) -> Node:
        final = leaf or predicted.reach(_IN_TREE) or depth >= self._depth
        left = [] if final else self.choices(predicted)[:]
        self._growing += bool(left)
        return Node(predicted, depth, left, final, value=predicted.distance)

    def step(self, predicted: Predictions, capability: int) -> Predictions:
        """Apply a capability to both distributions."""
        hidden = predicted.hidden
        if self._xi:
            hidden += (1.0 - hidden) * self._missing(predicted, capability)
        after = self._predictor.both(predicted.pessimist, predicted.optimist, capability)
        return Predictions(*after, hidden)

    def _missing(self, predicted: Predictions, capability: int) -> float:
        """Return the mass of effects not seen yet, under the mean of both distributions."""
        missing = 0.0
        for distribution in (predicted.pessimist, predicted.optimist):
            for state, log_mass in distribution.items():
                pair = self._graph.pair(state, capability)
                missing += exp(log_mass) / (1 + (0 if pair is None else pair.total))
        return self._xi * missing / 2

    def grow(self, node: Node, rng: random.Random) -> None:
        """Add edges for up to three capabilities; children are made when edges are followed."""
        left = node.left
        most = len(node.edges) + _CHILDREN_PER_VISIT
        if node.tail:
            # The path of the best rollout comes first, with its value.
            capability, *rest = node.tail
            node.tail = ()
            left.remove(capability)
            child = self.child(node, capability)
            if child is not None:
                if not child.final:
                    child.tail, child.value = rest, max(child.value, node.value / self._discount)
                node.edges.append(Edge(capability, children={None: child}))
        while left and len(node.edges) < most:
            i = int(rng.random() * len(left))
            capability, left[i] = left[i], left[-1]
            left.pop()
            node.edges.append(Edge(capability))
        if not (left or any(not edge.visits for edge in node.edges)):
            self._growing -= 1

    def child(self, node: Node, capability: int) -> Node | None:
        """Return the node a capability leads to; None if its supports exist already."""
        predicted = self.step(node.content, capability)
        supports = predicted.supports
        known = self._known.get(supports)
        if known is not None and predicted.distance <= known:
            return None
        self._known[supports] = predicted.distance
        # Supports seen before, but at a larger distance: worth a visit, not a subtree.
        return self._node(predicted, node.depth + 1, leaf=known is not None)

    def follow(self, node: Node, edge: Edge, rng: random.Random) -> tuple[Node, bool] | None:
        """Return the only child of an edge; None if its supports exist already."""
        if edge.visits:
            return edge.children[None], False
        if not node.left and edge is node.edges[-1]:
            self._growing -= 1
        if not edge.children:
            child = self.child(node, edge.capability)
            if child is None:
                return None
            edge.children[None] = child
        return edge.children[None], True

    def evaluate(self, node: Node, rng: random.Random) -> float:
        """Return the largest distance on random continuations, or the node's own."""
        if not (node.final or node.content.reach(_IN_ROLLOUT)):
            for _ in range(_ROLLOUTS):
                self._roll_out(node, rng)
        return node.value

    def _roll_out(self, node: Node, rng: random.Random) -> None:
        predicted = node.content
        steps: list[int] = []
        for _ in range(self._depth - node.depth):
            choices = self.choices(predicted)
            if not choices or self._discount ** (len(steps) + 1) <= node.value:
                break
            capability = choices[int(rng.random() * len(choices))]
            predicted = self.step(predicted, capability)
            steps.append(capability)
            worth = predicted.distance * self._discount ** len(steps)
            if worth > node.value:
                node.value = worth
                node.tail = steps[:]
            if predicted.reach(_IN_ROLLOUT):
                break

    def choices(self, predicted: Predictions) -> list[int]:
        """List the capabilities worth trying: in a certain state, those not idle there."""
        if self._xi or len(predicted.pessimist) != 1:
            return self._all
        (state,) = predicted.pessimist
        node = self._graph.nodes.get(state)
        return self._all if node is None else node.open

    def backup(self, path: Path, value: float) -> None:
        """Raise the values on the path to the best one found."""
        for node, edge, _ in reversed(path):
            edge.visits += 1
            node.visits += 1
            edge.value = max(edge.value, node.content.distance, value * self._discount)
            node.value = max(node.value, edge.value)
            value = node.value


class TreePolicy:
    """The searched tree as a policy: the choice depends on the node and the observed state."""

    def __init__(self, root: Node, game: ExactGame, settings: Settings) -> None:
        self.root = root
        self._game = game
        self._exploration = settings.policy_exploration
        self._discount = settings.discount
        # Given the observed state, the choice in a node is fixed, so draws may share it.
        self._choices: dict[tuple[Node, State], Edge | None] = {}

    def walk(self) -> TreeWalk:
        """Begin at the root."""
        return TreeWalk(self, self.root)

    def choose(self, node: Node, state: State) -> Edge | None:
        """Return the best branch of a node given the observed state; None to end the draw."""
        if (node, state) not in self._choices:
            self._choices[node, state] = self._decide(node, state)
        return self._choices[node, state]

    def _decide(self, node: Node, state: State) -> Edge | None:
        here = certain(state)
        choices = self._game.choices(here)
        # Copies: the values are those of this observation, and the tree must not change.
        candidates = [copy(edge) for edge in followed(node) if edge.capability in choices]
        predicted: set[Edge] = set()
        while candidates:
            edge = best_edge(candidates, node.visits, self._exploration)
            if edge in predicted:
                return edge
            predicted.add(edge)
            edge.value = self._predict(here, edge)
            if edge.value <= 0.0:
                candidates.remove(edge)
        return None

    def _predict(self, here: Predictions, edge: Edge) -> float:
        """Follow the best continuation below an edge; return the largest distance on it."""
        largest, worth, predicted = 0.0, 1.0, here
        for capability in self._continuation(edge):
            predicted = self._game.step(predicted, capability)
            worth *= self._discount
            largest = max(largest, predicted.distance * worth)
            if predicted.reach(_IN_TREE):
                break
        return largest

    def _continuation(self, edge: Edge) -> Iterator[int]:
        yield edge.capability
        node = edge.children[None]
        while edges := followed(node):
            edge = best_edge(edges, node.visits, self._exploration)
            yield edge.capability
            node = edge.children[None]

    def describe(self) -> Mapping[str, Any]:
        """Return the choices made in the draws so far, by depth and observed state."""
        choices = [
            {"depth": node.depth, "state": hex(state), "capability": edge and edge.capability}
            for (node, state), edge in self._choices.items()
        ]
        return {"kind": "tree", "choices": choices}


def followed(node: Node) -> list[Edge]:
    """List the edges that the search followed; the path of a rollout counts as followed."""
    if not node.edges and node.tail:
        capability, *rest = node.tail
        child = Node(None, node.depth + 1, [], final=True, value=node.value, tail=rest)
        node.edges.append(Edge(capability, 1, node.value, {None: child}))
        node.visits, node.tail = 1, ()
    return [edge for edge in node.edges if edge.visits]


@dataclass(slots=True)
class TreeWalk:
    """One execution of a tree policy."""

    policy: TreePolicy
    node: Node

    def next(self, state: State) -> int | None:
        """Follow the best branch given the observed state."""
        edge = self.policy.choose(self.node, state)
        if edge is None:
            return None
        self.node = edge.children[None]
        return edge.capability
