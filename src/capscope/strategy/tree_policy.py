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
branches. Draws are then made in order. Without persistence each draw updates a copy of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from capscope.record.settings import Settings
from capscope.strategy.uct import Edge, Node, Path, best_edge
from capscope.symbolic import State

if TYPE_CHECKING:
    from capscope.strategy.mcqs_e import ExactGame


class TreePolicy:
    """The tree of a query as a policy: what is asked depends on the node and the observed state."""

    def __init__(self, root: Node, game: ExactGame, settings: Settings) -> None:
        self.root = root
        self.game = game
        self.exploration = settings.exploration
        self.persistent = settings.persistent_statistics
        self.ends_early = settings.end_draws_early
        self._choices: set[tuple[int, State, int]] = set()

    def walk(self) -> TreeWalk:
        """Begin at the root."""
        return TreeWalk(self, self.root if self.persistent else own_copy(self.root))

    def note(self, depth: int, state: State, capability: int) -> None:
        """Keep a choice for the description of the policy."""
        self._choices.add((depth, state, capability))

    def describe(self) -> Mapping[str, Any]:
        """Return the choices made in the draws so far, by depth and observed state.

        If there were none, because all draws had untried pairs of their own, the best one at first.
        """
        choices = [
            {"depth": depth, "state": hex(state), "capability": capability}
            for depth, state, capability in sorted(self._choices or self._first_choice())
        ]
        return {"kind": "tree", "choices": choices}

    def _first_choice(self) -> set[tuple[int, State, int]]:
        edges = followed(self.root)
        if not edges:
            return set()
        (start,) = self.root.content.pessimist
        best = best_edge(edges, self.root.visits, self.exploration)
        return {(0, start, best.capability)}


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
        self.policy.note(node.depth, state, edge.capability)
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
            if self.policy.ends_early and edge.value <= 0.0:
                candidates.remove(edge)
        return None

    def _update(self, node: Node, edge: Edge) -> None:
        """Predict the best continuation of an edge again; then update the values on it."""
        path: Path = []
        edges = [edge]
        while edges:
            edge = best_edge(edges, node.visits, self.policy.exploration)
            child = edge.children[None]
            if not self.policy.persistent:
                child = edge.children[None] = own_copy(child)
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


def own_copy(node: Node) -> Node:
    """Copy a node and its edges, not what is below."""
    twin = copy(node)
    twin.edges = [copy(edge) for edge in node.edges]
    for edge in twin.edges:
        edge.children = dict(edge.children)
    return twin


def followed(node: Node) -> list[Edge]:
    """List the edges that the search followed; the path of a rollout counts as followed."""
    if not node.edges and node.tail:
        capability, *rest = node.tail
        child = Node(None, node.depth + 1, [], final=True, value=node.value, tail=rest)
        node.edges.append(Edge(capability, 1, node.value, {None: child}))
        node.visits, node.tail = 1, ()
    return [edge for edge in node.edges if edge.visits]
