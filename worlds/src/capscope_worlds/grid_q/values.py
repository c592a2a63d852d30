"""What a grid agent has learned: the value of each action, for each goal, at each position.

A goal is a cell to stand on or a literal to make true, named by its text: `(3, 4)`, `not
agent-at(north-west)`. A position is everything that can change in the grid. Only positions visited
during training have a row, so the table is small even if the grid is large.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from capscope.errors import ProblemError

FACINGS = ("east", "south", "west", "north")
DOOR_STATES = ("open", "closed", "locked")

CellIndex = tuple[int, int]
"""Row and column of a cell."""
GridPosition = tuple[CellIndex, str, tuple[str, ...], tuple[CellIndex | None, ...]]


class GridFeatures(Protocol):
    """What the agent uses of an observation of a grid."""

    @property
    def position(self) -> CellIndex:
        """The cell of the agent."""

    @property
    def facing(self) -> str:
        """The direction that the agent faces."""

    @property
    def doors(self) -> tuple[str, ...]:
        """The state of each door."""

    @property
    def keys(self) -> tuple[CellIndex | None, ...]:
        """The cell of each key; None if it is carried."""

    def sampled_cell(self, room: str, seed: int) -> CellIndex | None:
        """Draw the cell to go to if the goal is to be in a room."""


def position_of(features: GridFeatures) -> GridPosition:
    """Return the key of a row of the table."""
    return features.position, features.facing, features.doors, features.keys


def cell_goal(cell: CellIndex) -> str:
    """Return the name of the goal to stand on a cell.

    >>> cell_goal((3, 4))
    '(3, 4)'
    """
    return f"({cell[0]}, {cell[1]})"


@dataclass(frozen=True, eq=False)
class ActionValues:
    """A table of values: positions × goals × actions."""

    actions: tuple[str, ...]
    positions: Mapping[GridPosition, int]
    """The row of each position."""
    goals: Mapping[str, int]
    """The column of each goal."""
    table: np.ndarray[Any, np.dtype[np.float16]]
    origin: Mapping[str, Any] = field(default_factory=dict)
    """How the values were learned: grid and training, JSON-ready."""

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that determines what an agent does."""
        parts = (self.actions, [_encoded(p) for p in self.positions], list(self.goals))
        digest = hashlib.sha256(repr(parts).encode())
        digest.update(self.table.tobytes())
        return digest.hexdigest()[:16]

    def save(self, path: Path) -> None:
        """Write the values to a compressed file."""
        np.savez_compressed(
            path,
            actions=np.array(self.actions),
            positions=np.array([_encoded(p) for p in self.positions], dtype=np.uint8),
            doors=np.array(len(next(iter(self.positions))[2])),
            goals=np.array(list(self.goals)),
            table=self.table,
            origin=np.array(json.dumps(dict(self.origin))),
        )

    @classmethod
    def load(cls, path: Path) -> ActionValues:
        """Read a file written by `save`."""
        try:
            with np.load(path, allow_pickle=False) as stored:
                parts = dict(stored)
            doors = int(parts["doors"])
            rows = (_decoded(row, doors) for row in parts["positions"].tolist())
            return cls(
                actions=tuple(parts["actions"].tolist()),
                positions={position: i for i, position in enumerate(rows)},
                goals={goal: i for i, goal in enumerate(parts["goals"].tolist())},
                table=parts["table"],
                origin=json.loads(str(parts["origin"])),
            )
        except (OSError, ValueError, KeyError) as error:
            raise ProblemError(
                f"{path} does not contain values of a grid agent ({error}); create it with "
                "examples/train_grid_q.py"
            ) from error


def _encoded(position: GridPosition) -> list[int]:
    """Encode a position as numbers; a carried key is at row 0, column 0."""
    cell, facing, doors, keys = position
    numbers = [*cell, FACINGS.index(facing), *(DOOR_STATES.index(state) for state in doors)]
    for key in keys:
        numbers += key or (0, 0)
    return numbers


def _decoded(numbers: list[int], doors: int) -> GridPosition:
    row, column, facing = numbers[:3]
    rest = numbers[3 + doors :]
    keys = tuple((r, c) if r else None for r, c in zip(rest[::2], rest[1::2], strict=True))
    states = tuple(DOOR_STATES[number] for number in numbers[3 : 3 + doors])
    return (row, column), FACINGS[facing], states, keys
