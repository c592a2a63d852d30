"""What the kitchen agent has learned: values of actions in options, and of options for goals.

Both tables are small because both levels see little: an option sees the chef's cell and direction,
the item held and the pot without the stages of cooking; the level above sees the place instead of
cell and direction. Neither sees what is left in the piles and the rack. That is where habits come
from: what was always so during training is taken for granted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from capscope.errors import ProblemError
from capscope_worlds.kitchen_hrl.options import (
    FACINGS,
    HELD,
    POT_CLASSES,
    Cell,
    KitchenFeatures,
    KitchenOption,
    kitchen_options,
    pot_class,
)

Values = np.ndarray[Any, np.dtype[np.float16]]
Rows = dict[int, list[float]]
"""The values of some rows of a table, while they are being learned."""

_RESOLUTION = 1024
"""Values are stored in steps of this fraction: more digits would only store noise."""


@dataclass(frozen=True)
class KitchenIndex:
    """Number what the agent can see, do and pursue."""

    actions: tuple[str, ...]
    cells: tuple[Cell, ...]
    places: tuple[str, ...]
    goals: tuple[str, ...] = ()
    """The literals that became true during training."""

    @cached_property
    def options(self) -> tuple[KitchenOption, ...]:
        """The options, in the order of the tables."""
        return kitchen_options(self.places)

    @property
    def rows(self) -> int:
        """The number of rows of an option's table."""
        return len(self.cells) * len(FACINGS) * len(HELD) * len(POT_CLASSES)

    @property
    def goal_rows(self) -> int:
        """The number of rows of a goal's table."""
        return (1 + len(self.places)) * len(HELD) * len(POT_CLASSES)

    @cached_property
    def _cells(self) -> Mapping[Cell, int]:
        return {cell: i for i, cell in enumerate(self.cells)}

    @cached_property
    def _places(self) -> Mapping[str | None, int]:
        return {place: i for i, place in enumerate((None, *self.places))}

    def row(self, seen: KitchenFeatures) -> int:
        """Return the row of an option's table for an observation."""
        pose = self._cells[seen.cell] * len(FACINGS) + FACINGS.index(seen.facing)
        return pose * len(_SITUATIONS) + _SITUATIONS[seen.held, pot_class(seen.pot)]

    def goal_row(self, seen: KitchenFeatures) -> int:
        """Return the row of a goal's table for an observation."""
        situation = _SITUATIONS[seen.held, pot_class(seen.pot)]
        return self._places[seen.place] * len(_SITUATIONS) + situation


_SITUATIONS = {
    pair: i for i, pair in enumerate((item, pot) for item in HELD for pot in POT_CLASSES)
}


@dataclass(frozen=True, eq=False)
class KitchenValues:
    """The values of both levels."""

    index: KitchenIndex
    in_options: Values
    """Options × rows × actions."""
    for_goals: Values
    """Goals × rows × options."""
    origin: Mapping[str, Any] = field(default_factory=dict)
    """How the values were learned, JSON-ready."""

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that determines what an agent does."""
        index = self.index
        digest = hashlib.sha256(
            repr((index.actions, index.cells, index.places, index.goals)).encode()
        )
        digest.update(self.in_options.tobytes() + self.for_goals.tobytes())
        return digest.hexdigest()[:16]

    def save(self, path: Path) -> None:
        """Write the values to a compressed file."""
        index = self.index
        np.savez_compressed(
            path,
            actions=np.array(index.actions),
            cells=np.array(index.cells, dtype=np.uint8),
            places=np.array(index.places),
            goals=np.array(index.goals),
            in_options=self.in_options,
            for_goals=self.for_goals,
            origin=np.array(json.dumps(dict(self.origin))),
        )

    @classmethod
    def load(cls, path: Path) -> KitchenValues:
        """Read a file written by `save`."""
        try:
            with np.load(path, allow_pickle=False) as stored:
                parts = dict(stored)
            index = KitchenIndex(
                actions=tuple(parts["actions"].tolist()),
                cells=tuple((x, y) for x, y in parts["cells"].tolist()),
                places=tuple(parts["places"].tolist()),
                goals=tuple(parts["goals"].tolist()),
            )
            origin = json.loads(str(parts["origin"]))
            return cls(index, parts["in_options"], parts["for_goals"], origin)
        except (OSError, ValueError, KeyError) as error:
            raise ProblemError(
                f"{path} does not contain values of a kitchen agent ({error}); create it with "
                "scripts/train_kitchen_hrl.py"
            ) from error


def table(learned: Sequence[Rows], rows: int, columns: int) -> Values:
    """Store what was learned, as one table for each option or goal; the other rows are 0."""
    stored = np.zeros((len(learned), rows, columns), dtype=np.float16)
    for number, values in enumerate(learned):
        for row, numbers in values.items():
            stored[number, row] = np.round(np.array(numbers) * _RESOLUTION) / _RESOLUTION
    return stored
