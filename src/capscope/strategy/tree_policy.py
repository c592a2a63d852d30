"""The policy of MCQS-E: the searched tree, which is updated while it is executed.

The policy is at a node of the tree. When a state is observed, both distributions of the node
collapse to it, and capabilities known to do nothing there are dropped. Then, forward, the branch
with the highest upper confidence bound is predicted again from that state, down to a leaf, and
backward the values on it become those of the new predictions. If another branch has the highest
bound now, it is treated in the same way, until the best branch is one that was updated. It is
executed, and the visit is counted.

The paper does not say whether these updates survive into the next draw of the query. It calls the
draws independent, but it also updates the statistics of the tree, and the tree is the policy of the
whole query. Here they persist: visits that were counted lower the bound, so draws spread over the
branches. Draws are made in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from capscope.journal.settings import Settings
from capscope.logic import State
from capscope.strategy.uct import Edge, Node, Path, best_edge

if TYPE_CHECKING:
    from capscope.strategy.mcqs_e import ExactGame


class Choices(set[tuple[int, State, int]]):
    """What draws of a query asked for, by depth and observed state."""

    def describe(self) -> Mapping[str, Any]:
        """Return them as JSON-ready values."""
        choices = [
            {"depth": depth, "state": hex(state), "capability": capability}
            for depth, state, capability in sorted(self)
        ]
        return {"kind": "tree", "choices": choices}


class SearchedTree(Protocol):
    """A policy that is a searched tree."""

    root: Node
    exploration: float

    def edges(self, node: Node) -> list[Edge]:
        """List the edges of a node that a draw may follow."""


def first_choice(policy: SearchedTree, start: State) -> Choices:
    """Return the best capability at first, as the only choice."""
    edges = policy.edges(policy.root)
    if not edges:
        return Choices()
    best = best_edge(edges, policy.root.visits, policy.exploration)
    return Choices({(0, start, best.capability)})


class TreePolicy:
    """The tree of a query as a policy: what is asked depends on the node and the observed state."""

    def __init__(self, root: Node, game: ExactGame, settings: Settings) -> None:
        self.root = root
        self.game = game
        self.exploration = settings.exploration
        self.choices = Choices()

    def walk(self) -> TreeWalk:
        """Begin at the root."""
        return TreeWalk(self, self.root)

    def describe(self) -> Mapping[str, Any]:
        """Return the choices made in the draws so far, or the best one at first."""
        (start,) = self.root.content.pessimist
        return (self.choices or first_choice(self, start)).describe()

    def edges(self, node: Node) -> list[Edge]:
        """List the edges of a node that the search followed."""
        return followed(node)


@dataclass(slots=True)
class TreeWalk:
    """One execution of a tree policy."""

    policy: TreePolicy
    node: Node

    def next(self, state: State) -> int | None:
        """Update the tree by the observed state and follow the best branch."""
        node = self.node
        node.content = self.policy.game.certain(state)
        edge = self._best(node)
        if edge is None:
            return None
        self.policy.choices.add((node.depth, state, edge.capability))
        edge.visits += 1
        node.visits += 1
        self.node = edge.children[None]
        return edge.capability

    def _best(self, node: Node) -> Edge | None:
        """Return the best branch, which is one that was updated; None to end the draw."""
        candidates = self._possible(node)
        updated: set[Edge] = set()
        while candidates:
            edge = best_edge(candidates, node.visits, self.policy.exploration)
            if edge in updated:
                return edge
            self._update(node, edge)
            updated.add(edge)
        return None

    def _update(self, node: Node, edge: Edge) -> None:
        """Predict the best continuation of an edge again; then update the values on it."""
        path: Path = []
        edges = [edge]
        while edges:
            edge = best_edge(edges, node.visits, self.policy.exploration)
            child = edge.children[None]
            child.content = self.policy.game.step(node.content, edge.capability)
            path.append((node, edge, child))
            node, edges = child, self._possible(child)
        node.value = node.content.distance
        for before, edge, child in reversed(path):
            edge.value = max(before.content.distance, child.value)
            before.value = max(other.value for other in before.edges)

    def _possible(self, node: Node) -> list[Edge]:
        """List the edges that the search followed, but for capabilities known to be idle."""
        edges = followed(node)
        if edges and len(node.content.pessimist) == 1:
            choices = self.policy.game.choices(node.content)
            return [edge for edge in edges if edge.capability in choices]
        return edges


def followed(node: Node) -> list[Edge]:
    """List the edges that the search followed; the path of a rollout counts as followed."""
    if not node.edges and node.tail:
        capability, *rest = node.tail
        child = Node(None, node.depth + 1, [], final=True, value=node.value, tail=rest)
        node.edges.append(Edge(capability, 1, node.value, {None: child}))
        node.visits, node.tail = 1, ()
    return [edge for edge in node.edges if edge.visits]
