"""UCT, shared by both variants of query synthesis.

At a decision node the search chooses a capability, and the chosen edge leads to one of its child
nodes. Each visit of a node adds edges while there are capabilities left, and an edge never followed
comes before all others. What follows an edge, what a new node is worth, and how values are backed
up is defined by a `Game`.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, log, sqrt
from typing import Any, Protocol

from capscope.journal.settings import Settings
from capscope.logic import State
from capscope.strategy.base import QueryPlan, Walk
from capscope.strategy.paper.repeated import random_plan


@dataclass(slots=True, eq=False)
class Edge:
    """A capability chosen in a node, with the nodes it led to."""

    capability: int
    visits: int = 0
    value: float = 0.0
    children: dict[Hashable, Node] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Node:
    """A decision: the game's own content, the edges grown so far and the capabilities left."""

    content: Any
    depth: int
    left: list[int]
    final: bool = False
    visits: int = 0
    value: float = 0.0
    edges: list[Edge] = field(default_factory=list)
    tail: Sequence[Any] = ()
    """What the first rollout from here found, until it is grown into edges."""


Path = list[tuple[Node, Edge, Node]]


class Game(Protocol):
    """What a variant defines: the search, then what a draw does with the searched tree."""

    def root(self, start: State) -> Node:
        """Make the first node."""

    def settled(self, root: Node) -> bool:
        """Return whether nothing better than the value of the root can be found."""

    def grow(self, node: Node, rng: random.Random) -> None:
        """Add edges to a node that has capabilities left."""

    def follow(self, node: Node, edge: Edge, rng: random.Random) -> tuple[Node, bool] | None:
        """Return the node an edge leads to this time and whether it is new; None to prune it."""

    def evaluate(self, node: Node, rng: random.Random) -> float:
        """Return the estimated value of a new node."""

    def backup(self, path: Path, value: float) -> None:
        """Update visits and values on the way to a node of this value."""

    def edges(self, node: Node) -> list[Edge]:
        """List the edges of a node that a draw may follow."""

    def observed(self, nodes: Iterable[Node], state: State) -> Node | None:
        """Return which of the possible nodes a draw is at in a state; None to end it."""

    def best(self, node: Node, exploration: float) -> Edge | None:
        """Return the edge that a draw follows; None to end it."""


# 1/√n for n visits, read far more often than extended; an unvisited edge has no bound.
_INVERSE_ROOTS = [inf]


def best_edge(edges: Sequence[Edge], visits: int, exploration: float) -> Edge:
    """Return the edge with the highest upper confidence bound; unvisited edges come first.

    `visits` are those of the node that the edges leave from.
    """
    roots = _INVERSE_ROOTS
    for n in range(len(roots), visits + 1):
        roots.append(1.0 / sqrt(n))
    # Never quite zero, so that an unvisited edge stays first.
    scale = max(exploration * sqrt(log(visits)), 1e-300) if visits > 1 else 1e-300
    best, best_bound = edges[0], -1.0
    for edge in edges:
        bound = edge.value + scale * roots[edge.visits]
        if bound > best_bound:
            best, best_bound = edge, bound
    return best


def search(root: Node, game: Game, iterations: int, exploration: float, rng: random.Random) -> Node:
    """Grow the tree below `root` and return it."""
    for _ in range(iterations):
        if game.settled(root):
            break
        path: Path = []
        node = root
        new = False
        while not (new or node.final):
            if node.left:
                game.grow(node, rng)
            if not node.edges:
                break
            edge = best_edge(node.edges, node.visits, exploration)
            followed = game.follow(node, edge, rng)
            if followed is None:
                node.edges.remove(edge)
                continue
            child, new = followed
            path.append((node, edge, child))
            node = child
        game.backup(path, game.evaluate(node, rng) if new else node.value)
    return root


class TreePolicy:
    """The searched tree as a policy, in which the visits of draws count.

    They lower the bound, so draws spread over the branches.
    """

    def __init__(self, game: Game, root: Node, start: State, exploration: float) -> None:
        self.game = game
        self.root = root
        self.exploration = exploration
        self._start = start
        self._choices: set[tuple[int, State, int]] = set()  # of draws: depth, state, capability

    def walk(self) -> Walk:
        """Begin at the root."""
        ahead: Iterable[Node] = [self.root]

        def follow(state: State) -> int | None:
            nonlocal ahead
            node = self.game.observed(ahead, state)
            edge = None if node is None else self.game.best(node, self.exploration)
            if node is None or edge is None:
                return None
            self._choices.add((node.depth, state, edge.capability))
            edge.visits += 1
            node.visits += 1
            ahead = edge.children.values()
            return edge.capability

        return follow

    def describe(self) -> Mapping[str, Any]:
        """Return the choices made in the draws so far, or the best one at first."""
        choices = sorted(self._choices)
        edges = [] if choices else self.game.edges(self.root)
        if edges:
            first = best_edge(edges, self.root.visits, self.exploration)
            choices = [(0, self._start, first.capability)]
        return {
            "kind": "tree",
            "choices": [
                {"depth": depth, "state": hex(state), "capability": capability}
                for depth, state, capability in choices
            ],
        }


def searched_plan(
    game: Game, start: State, capabilities: int, settings: Settings, rng: random.Random
) -> QueryPlan:
    """Search from `start`; fall back on a random query if no disagreement is found."""
    root = search(game.root(start), game, settings.iterations, settings.exploration, rng)
    if root.value <= 0.0:
        return random_plan(capabilities, settings.depth, rng)
    policy = TreePolicy(game, root, start, settings.exploration)
    return QueryPlan(policy, root.value, root.value > settings.threshold, in_order=True)
