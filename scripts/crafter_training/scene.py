"""The view as scripted experts use it: where things are, and the shortest way to them.

Experts see exactly what the policy sees, so that the policy can learn what they do.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable
from functools import cached_property

from capscope_worlds.crafter_steve.view import KINDS, REACH_X, REACH_Y, CrafterFeatures, view_of

Cell = tuple[int, int]
"""Steps from the player: to the right and down."""
MOVES: dict[Cell, str] = {
    (-1, 0): "move_left",
    (1, 0): "move_right",
    (0, -1): "move_up",
    (0, 1): "move_down",
}
HERE: Cell = (0, 0)
WALKABLE = frozenset(("grass", "sand", "path"))
ITEMS = (
    *("health", "food", "drink", "energy"),
    *("sapling", "wood", "stone", "coal", "iron", "diamond"),
    *("wood_pickaxe", "stone_pickaxe", "iron_pickaxe"),
    *("wood_sword", "stone_sword", "iron_sword"),
)
_DIG_COST = 2  # dig, then walk
_CELLS = [
    (x, y) for x in range(-REACH_X, REACH_X + 1) for y in range(-REACH_Y, REACH_Y + 1)
]  # fmt: skip


def _neighbours(cell: Cell) -> list[Cell]:
    x, y = cell
    return [(x + dx, y + dy) for dx, dy in MOVES]


def manhattan(one: Cell, other: Cell) -> int:
    """Return the distance without diagonals."""
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


class Scene:
    """What can be seen from where the player is."""

    def __init__(self, observation: CrafterFeatures) -> None:
        self.kinds: dict[Cell, str] = {
            cell: KINDS[number]
            for cell, number in zip(_CELLS, view_of(observation).tolist(), strict=True)
        }
        standing = observation.x * observation.game_map.height + observation.y
        self.kinds[HERE] = KINDS[observation.terrain[standing]]
        self.facing = observation.facing
        self.inventory = dict(zip(ITEMS, observation.inventory, strict=True))
        self.sleeping = observation.sleeping

    def kind(self, cell: Cell) -> str:
        """Return what is on a cell; "outside" if it cannot be seen."""
        return self.kinds.get(cell, "outside")

    def has(self, item: str, amount: int = 1) -> bool:
        """Return whether the player has that many of an item."""
        return self.inventory[item] >= amount

    def cells(self, kind: str) -> list[Cell]:
        """List the cells of a kind, without the player's own."""
        return [cell for cell, seen in self.kinds.items() if seen == kind and cell != HERE]

    def free(self, cell: Cell) -> bool:
        """Return whether the player can stand on a cell."""
        return self.kind(cell) in WALKABLE

    @property
    def ahead(self) -> str:
        """What the player looks at."""
        return self.kind(self.facing)

    @cached_property
    def can_craft_here(self) -> bool:
        """Whether crafting can work: it never does in the first row and column of a map."""
        return self.crafting_place(HERE)

    def crafting_place(self, cell: Cell) -> bool:
        """Return whether a cell is in neither the first row nor the first column."""
        x, y = cell
        return self.kind((x - 1, y)) != "outside" and self.kind((x, y - 1)) != "outside"

    def around(self, cell: Cell) -> list[str]:
        """List the kinds within one cell, diagonals included."""
        x, y = cell
        return [self.kind((x + dx, y + dy)) for dx in (-1, 0, 1) for dy in (-1, 0, 1)]

    def beside(self, targets: Iterable[Cell]) -> set[Cell]:
        """Return the cells next to some cells."""
        return {near for cell in targets for near in _neighbours(cell)}

    def where(self, holds: Callable[[Cell], bool]) -> set[Cell]:
        """Return the cells for which a condition holds."""
        return {cell for cell in self.kinds if holds(cell)}

    def steps_to(self, targets: Collection[Cell]) -> list[str]:
        """List all actions that begin a shortest way to one of some cells; empty if there is none.

        With a pickaxe the way may lead through stone.
        """
        dig = self.has("wood_pickaxe")
        costs = self._costs(targets, dig)
        if HERE not in costs or not costs[HERE]:
            return []
        best = min(
            (costs[near] + self._cost(near, dig) for near in MOVES if near in costs),
            default=None,
        )
        actions = []
        for near, move in MOVES.items():
            if near in costs and costs[near] + self._cost(near, dig) == best:
                digging = not self.free(near) and self.facing == near
                actions.append("do" if digging else move)
        return actions

    def _cost(self, cell: Cell, dig: bool) -> int:
        """Return the cost of entering a cell; digging takes another step."""
        return 1 if self.free(cell) else _DIG_COST

    def _costs(self, targets: Collection[Cell], dig: bool) -> dict[Cell, int]:
        """Return the cost from each cell to the nearest target, going backwards."""

        def enterable(cell: Cell) -> bool:
            kind = self.kind(cell)
            return kind in WALKABLE or (dig and kind == "stone") or cell == HERE

        costs: dict[Cell, int] = {}
        queue = [(0, cell) for cell in targets if enterable(cell)]
        heapq.heapify(queue)
        while queue:
            cost, cell = heapq.heappop(queue)
            if cell in costs:
                continue
            costs[cell] = cost
            if cell == HERE:
                continue
            entering = self._cost(cell, dig)
            for near in _neighbours(cell):
                if near not in costs and near in self.kinds and enterable(near):
                    heapq.heappush(queue, (cost + entering, near))
        return costs
