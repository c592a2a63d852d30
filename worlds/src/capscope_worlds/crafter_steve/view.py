"""What the policy sees: the cells around the player, what it carries, and where it looks.

As in the package's own pictures, the view is nine cells wide and seven high, with the player in the
middle. Each cell has one kind: its material, a creature on it, or "outside" beyond the map.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

MATERIALS = (
    *("water", "grass", "stone", "path", "sand", "tree"),
    *("lava", "coal", "iron", "diamond", "table", "furnace"),
)
CREATURES = ("plant", "cow", "zombie", "skeleton", "arrow")
KINDS = ("outside", *MATERIALS, *CREATURES)
"""The kinds of cells; a material has the number that it has in an observation."""
REACH_X, REACH_Y = 4, 3
"""How far the view reaches from the player."""
CELLS = (2 * REACH_X + 1) * (2 * REACH_Y + 1)
ITEM_COUNT = 16
THRESHOLDS = (1, 2, 4, 9)
"""An amount is encoded by which of these it reaches."""
FACINGS = ((-1, 0), (1, 0), (0, -1), (0, 1))
OWN_FEATURES = ITEM_COUNT * len(THRESHOLDS) + len(FACINGS) + 1
_KIND_NUMBER: Mapping[str, int] = {kind: number for number, kind in enumerate(KINDS)}
_LEVELS = np.array(THRESHOLDS)

Numbers = np.ndarray[Any, np.dtype[np.integer[Any]]]
Floats = np.ndarray[Any, np.dtype[np.float32]]


class MapSize(Protocol):
    """The part of a map that the view needs."""

    @property
    def width(self) -> int:
        """The number of columns."""

    @property
    def height(self) -> int:
        """The number of rows."""


class CrafterFeatures(Protocol):
    """What the policy uses of an observation."""

    @property
    def game_map(self) -> MapSize:
        """The size of the map."""

    @property
    def terrain(self) -> bytes:
        """The number of each cell's material, column by column."""

    @property
    def x(self) -> int:
        """The player's column."""

    @property
    def y(self) -> int:
        """The player's row."""

    @property
    def facing(self) -> tuple[int, int]:
        """The direction that the player faces."""

    @property
    def inventory(self) -> tuple[int, ...]:
        """The amount of each item."""

    @property
    def sleeping(self) -> bool:
        """Whether the player is asleep."""

    @property
    def creatures(self) -> Sequence[tuple[str, int, int]]:
        """The creatures and plants: kind, column, row."""


def view_of(observation: CrafterFeatures) -> Numbers:
    """Return the kind of each cell in view, column by column, as numbers of `KINDS`."""
    width, height = observation.game_map.width, observation.game_map.height
    x, y = observation.x, observation.y
    padded = np.zeros((width + 2 * REACH_X, height + 2 * REACH_Y), np.uint8)
    terrain = np.frombuffer(observation.terrain, np.uint8).reshape(width, height)
    padded[REACH_X : REACH_X + width, REACH_Y : REACH_Y + height] = terrain
    for kind, at_x, at_y in observation.creatures:
        padded[at_x + REACH_X, at_y + REACH_Y] = _KIND_NUMBER[kind]
    seen: Numbers = padded[x : x + 2 * REACH_X + 1, y : y + 2 * REACH_Y + 1].reshape(CELLS)
    return seen


def own_features(observation: CrafterFeatures) -> Floats:
    """Return what is known of the player: amounts, facing, sleeping; each 0 or 1."""
    features = np.zeros(OWN_FEATURES, np.float32)
    amounts = np.array(observation.inventory)
    features[: ITEM_COUNT * len(THRESHOLDS)] = (amounts[:, None] >= _LEVELS).ravel()
    features[ITEM_COUNT * len(THRESHOLDS) + FACINGS.index(observation.facing)] = 1
    features[-1] = observation.sleeping
    return features
