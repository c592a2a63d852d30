"""MCQS-E: follow both models exactly and find where their predictions differ most.

A node of the search holds two distributions ⟨ρ₁, ρ₂⟩ over states, as the pessimist and the optimist
predict them after the same capabilities. Every edge has one child. The value of a node is the
largest total variation distance on the best path through it. A new node with the same supports as
an existing one is pruned, and a visit adds three children. ξ enters as a mass `hidden` that has
left both distributions for effects not seen yet: a step adds ξ/(1+n) of each state's mass, where n
counts the executions of the pair, and hidden mass counts as disagreement. Full disagreement does
not end the tree: in the state observed then, both models are certain again.

**The policy** is the searched tree, updated while it is executed. When a state is observed, both
distributions of the node collapse to it, and capabilities known to do nothing there are dropped.
The branch with the highest upper confidence bound is predicted again from that state, down to a
leaf, and the values on it are updated, until the best branch is one that was updated. The paper
does not say whether these updates survive into the next draw of the query. Here they do, so draws
spread over the branches, and are made in order.

**Distributions** are sparse maps from state to log-probability. If a capability was tried in a
state, the mass follows the outcome group of the pair. If not, the optimist spreads it over all
effects that the capability ever had; the pessimist's mass goes nowhere, so its distribution may sum
to less than 1. By the paper's algorithm it stays where it is; then an untried pair on which the
optimist predicts no change would never be asked for.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from math import exp, log, log1p

from capscope.journal.settings import Settings
from capscope.logic import State
from capscope.model.extreme_models import ExtremeModel, ExtremeModels
from capscope.strategy.base import QueryPlan
from capscope.strategy.paper.uct import Edge, Node, Path, best_edge, searched_plan

_CHILDREN_PER_VISIT = 3
_ROLLOUTS = 3
_FULL = 1.0 - 1e-9
# Predictions spread over more states than this are not followed further, to save time while little
# is known.
_WIDEST = 100

Distribution = dict[State, float]
"""State → log-probability; states without mass are absent."""
_Moves = tuple[tuple[State, float], ...]
"""Where the mass of a state goes: successors with log-probabilities."""


def point(state: State) -> Distribution:
    """Put all mass on one state."""
    return {state: 0.0}


def add_mass(distribution: Distribution, state: State, log_mass: float) -> None:
    """Add mass to a state, in the log domain."""
    there = distribution.get(state)
    if there is None:
        distribution[state] = log_mass
    else:
        high, low = (there, log_mass) if there > log_mass else (log_mass, there)
        distribution[state] = high + log1p(exp(low - high))


def _moves(model: ExtremeModel, state: State, capability: int) -> _Moves:
    """Return what a model predicts, with log-probabilities."""
    pair = model.graph.pair(state, capability)
    if pair is not None:
        shares = zip(pair.successors, pair.group.probabilities(), strict=True)
        return tuple((node.state, log(probability)) for node, probability in shares)
    moved: Distribution = {}
    for effect, probability in model.untried(capability):
        add_mass(moved, effect.apply(state), log(probability))
    return tuple(moved.items())


def _mover(model: ExtremeModel) -> Callable[[Distribution, int], Distribution]:
    """Return a function that moves distributions; the moves of a pair are computed once."""
    known: list[dict[State, _Moves]] = [{} for _ in model.capabilities]

    def move(distribution: Distribution, capability: int) -> Distribution:
        own = known[capability]
        moved: Distribution = {}
        for state, mass in distribution.items():
            moves = own.get(state)
            if moves is None:
                moves = own[state] = _moves(model, state, capability)
            for successor, share in moves:
                if successor in moved:
                    add_mass(moved, successor, mass + share)
                else:
                    moved[successor] = mass + share
        return moved

    return move


class Predictor:
    """Moves distributions as the two models predict, which must not change meanwhile."""

    def __init__(self, models: ExtremeModels) -> None:
        self._graph = models.graph
        self.pessimist = _mover(models.pessimistic)
        """(distribution, capability) → the pessimist's distribution after the capability."""
        self.optimist = _mover(models.optimistic)
        """(distribution, capability) → the optimist's distribution after the capability."""

    def both(
        self, pessimist: Distribution, optimist: Distribution, capability: int
    ) -> tuple[Distribution, Distribution]:
        """Return what each model predicts from its distribution; one object while they agree."""
        moved = self.pessimist(pessimist, capability)
        if pessimist is optimist:
            pair = self._graph.pair
            if all(pair(state, capability) is not None for state in pessimist):
                return moved, moved
        return moved, self.optimist(optimist, capability)


def total_variation(one: Distribution, other: Distribution) -> float:
    """Return δ_TV = ½ Σ |ρ₁(s) − ρ₂(s)|, between 0 and 1; mass that went nowhere is a state."""
    # With that state both sum to 1, so the masses that only one of them has are equal; without it,
    # the larger one is the distance.
    more = less = 0.0
    for state, log_mass in one.items():
        there = other.get(state)
        apart = exp(log_mass) - (0.0 if there is None else exp(there))
        if apart > 0.0:
            more += apart
        else:
            less -= apart
    for state, log_mass in other.items():
        if state not in one:
            less += exp(log_mass)
    return min(max(more, less), 1.0)


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

    @property
    def wide(self) -> bool:
        """Whether they are spread over too many states to be followed further."""
        return len(self.optimist) > _WIDEST


def mcqs_exact(
    models: ExtremeModels, start: State, xi: float, rng: random.Random, settings: Settings
) -> QueryPlan:
    """Choose the policy on which the two models' predictions differ most."""
    game = ExactGame(models, settings.depth, xi)
    return searched_plan(game, start, len(models.graph.capabilities), settings, rng)


class ExactGame:
    """The predictions of both models as a game for the tree search."""

    def __init__(self, models: ExtremeModels, depth: int, xi: float) -> None:
        self._graph = graph = models.graph
        self._predictor = Predictor(models)
        self._all = list(range(len(graph.capabilities)))
        self._depth = depth
        self._xi = xi
        self._known: dict[tuple[frozenset[State], frozenset[State]], float] = {}
        self._growing = 0  # nodes with children left to add

    def settled(self, root: Node) -> bool:
        """Return whether the tree is complete."""
        return not self._growing

    def root(self, start: State) -> Node:
        """Make the node in which both models are certain of the start."""
        node = self._node(self.certain(start), 0)
        self._known[node.content.supports] = 0.0
        return node

    def _node(self, predicted: Predictions, depth: int, *, leaf: bool = False) -> Node:
        final = leaf or predicted.wide or depth >= self._depth
        left = [] if final else self.choices(predicted)[:]
        self._growing += bool(left)
        return Node(predicted, depth, left, final, value=predicted.distance)

    def certain(self, state: State) -> Predictions:
        """Return predictions in which both models are certain of a state."""
        here = point(state)
        return Predictions(here, here, 0.0)

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
                    child.tail, child.value = rest, max(child.value, node.value)
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
        if not node.final:
            for _ in range(_ROLLOUTS):
                self._roll_out(node, rng)
        return node.value

    def _roll_out(self, node: Node, rng: random.Random) -> None:
        predicted = node.content
        steps: list[int] = []
        for _ in range(self._depth - node.depth):
            # Nothing is larger than full disagreement.
            choices = self.choices(predicted)
            if not choices or node.value >= _FULL or predicted.wide:
                break
            capability = choices[int(rng.random() * len(choices))]
            predicted = self.step(predicted, capability)
            steps.append(capability)
            if predicted.distance > node.value:
                node.value = predicted.distance
                node.tail = steps[:]

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
            edge.value = max(edge.value, node.content.distance, value)
            node.value = max(node.value, edge.value)
            value = node.value

    def edges(self, node: Node) -> list[Edge]:
        """List the edges that the search followed; the path of a rollout counts as followed."""
        if not node.edges and node.tail:
            capability, *rest = node.tail
            child = Node(None, node.depth + 1, [], final=True, value=node.value, tail=rest)
            node.edges.append(Edge(capability, 1, node.value, {None: child}))
            node.visits, node.tail = 1, ()
        return [edge for edge in node.edges if edge.visits]

    def observed(self, nodes: Iterable[Node], state: State) -> Node:
        """Let both distributions of the node collapse to the state."""
        (node,) = nodes
        node.content = self.certain(state)
        return node

    def best(self, node: Node, exploration: float) -> Edge | None:
        """Return the best branch, which is one that was updated; None if nothing is left."""
        candidates = self._possible(node)
        updated: set[Edge] = set()
        while candidates:
            edge = best_edge(candidates, node.visits, exploration)
            if edge in updated:
                return edge
            self._update(node, edge, exploration)
            updated.add(edge)
        return None

    def _update(self, node: Node, edge: Edge, exploration: float) -> None:
        """Predict the best continuation of an edge again; then update the values on it."""
        path: Path = []
        edges = [edge]
        while edges:
            edge = best_edge(edges, node.visits, exploration)
            child = edge.children[None]
            child.content = self.step(node.content, edge.capability)
            path.append((node, edge, child))
            node, edges = child, self._possible(child)
        node.value = node.content.distance
        for before, edge, child in reversed(path):
            edge.value = max(before.content.distance, child.value)
            before.value = max(other.value for other in before.edges)

    def _possible(self, node: Node) -> list[Edge]:
        """List the edges that the search followed, but for capabilities known to be idle."""
        edges = self.edges(node)
        if edges and len(node.content.pessimist) == 1:
            choices = self.choices(node.content)
            return [edge for edge in edges if edge.capability in choices]
        return edges
