"""UCT, once, for both variants of query synthesis.

A tree search alternates between choosing and happening: at a decision node it chooses a capability,
and the chosen edge leads to one of its child nodes. In MCQS-S an edge has a child for each sampled
successor state; in MCQS-E, whose nodes are pairs of distributions, it has exactly one. Everything
else is the same, so the search is written here and the variant enters as a `Game`: what follows an
edge, what a new node is worth, and how a value travels back.

The tree is data: nodes and edges with visits and values, no behaviour of their own. Each visit of a
node adds a few edges while there are capabilities left (one in MCQS-S, three in MCQS-E), and an
edge never followed comes before all others.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import inf, log, sqrt
from typing import Any, Protocol


class Edge:
    """A capability chosen in a node, with the nodes it led to."""

    __slots__ = ("capability", "children", "value", "visits")

    def __init__(self, capability: int) -> None:
        self.capability = capability
        self.visits = 0
        self.value = 0.0
        self.children: dict[Hashable, Node] = {}


class Node:
    """A decision: the game's own content, the edges grown so far and the capabilities left."""

    __slots__ = ("content", "depth", "edges", "final", "left", "tail", "value", "visits")

    def __init__(self, content: Any, depth: int, left: list[int], final: bool = False) -> None:
        self.content = content
        self.depth = depth
        self.visits = 0
        self.value = 0.0
        self.edges: list[Edge] = []
        self.left = left
        self.final = final
        self.tail: Sequence[Any] = ()
        """What the first rollout from here found, until it is grown into edges."""


class Game(Protocol):
    """What the search needs to know of a variant."""

    def follow(self, node: Node, edge: Edge, rng: random.Random) -> tuple[Node, bool] | None:
        """Return the node an edge leads to this time, and whether it is new; None to strike it."""

    def evaluate(self, node: Node, rng: random.Random) -> float:
        """Return what a new node promises."""

    def grow(self, node: Node, rng: random.Random) -> None:
        """Add edges to a node that has capabilities left."""


Path = list[tuple[Node, Edge, Node]]
Backup = Callable[[Path, float], None]


# 1/√n for n visits; an unvisited edge has no bound. Looked up far more often than it is filled.
_INVERSE_ROOTS = [inf]


def _fill_roots(most: int) -> None:
    for n in range(len(_INVERSE_ROOTS), most + 1):
        _INVERSE_ROOTS.append(1.0 / sqrt(n))


def best_edge(edges: Sequence[Edge], visits: int, exploration: float) -> Edge:
    """Return the edge with the highest upper confidence bound; unvisited edges come first.

    `visits` are those of the node that the edges leave from.
    """
    _fill_roots(visits)
    # Never quite zero, so that an unvisited edge stays first.
    scale = max(exploration * sqrt(log(visits)), 1e-300) if visits > 1 else 1e-300
    roots = _INVERSE_ROOTS
    best, best_bound = edges[0], -1.0
    for edge in edges:
        bound = edge.value + scale * roots[edge.visits]
        if bound > best_bound:
            best, best_bound = edge, bound
    return best


def search(
    root: Node, game: Game, backup: Backup, budget: SearchBudget, rng: random.Random
) -> Node:
    """Grow the tree below `root` and return it."""
    for _ in range(budget.iterations):
        if budget.enough(root):
            break
        path: Path = []
        node = root
        new = False
        while not (new or node.final):
            if node.left:
                game.grow(node, rng)
            if not node.edges:
                break
            edge = best_edge(node.edges, node.visits, budget.exploration)
            followed = game.follow(node, edge, rng)
            if followed is None:
                node.edges.remove(edge)
                continue
            child, new = followed
            path.append((node, edge, child))
            node = child
        backup(path, game.evaluate(node, rng) if new else node.value)
    return root


def never(root: Node) -> bool:
    """Go on to the last iteration."""
    return False


@dataclass(frozen=True, slots=True)
class SearchBudget:
    """How long to search, and how strongly to favour what was seldom tried."""

    iterations: int
    exploration: float
    enough: Callable[[Node], bool] = never
    """Whether nothing better than what the root promises can be found any more."""
