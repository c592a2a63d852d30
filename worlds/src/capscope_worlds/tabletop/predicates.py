"""What can be said about the table: on, on-table, clear and gone, from the true poses.

The abstraction does not use the camera: it says what is the case, and the robot acts on what it
sees. Conventions:

- A block is *on* the nearest block whose centre is below its own by a block's width, and less than
  three quarters of a width aside; or on the cup, if it stands in it.
- A block is *on-table* if its lowest corner touches the table and it is on nothing else. A block
  that leans against another is on the table; one that lies on the rim of the cup is nowhere.
- A thing is *clear* if it is there and nothing is on it, *gone* if it fell off the table.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Protocol

import numpy as np

from capscope.logic import Atom, Predicate, State, Vocabulary
from capscope.problem import Snapshot
from capscope_worlds.tabletop.poses import (
    BLOCK_WIDTH,
    BLOCKS,
    CUP,
    GONE_BELOW,
    THINGS,
    PoseArray,
    from_snapshot,
)

_HEIGHT_TOLERANCE = 0.012
_ASIDE = 0.75 * BLOCK_WIDTH
_TOUCHING = 0.006
_CUP_HALF_WIDTH = 0.03
_CUP_FLOOR = 0.006


class SeesSnapshot(Protocol):
    """An observation that says which position it is of."""

    @property
    def snapshot(self) -> Snapshot:
        """The true position."""


def table_vocabulary() -> Vocabulary:
    """Return the vocabulary of four blocks and a cup."""
    return Vocabulary(
        [
            Predicate("on", ("block", "thing"), "{0} is on {1}"),
            Predicate("on-table", ("block",), "{0} is on the table"),
            Predicate("clear", ("thing",), "nothing is on {0}", "something is on {0}"),
            Predicate("gone", ("thing",), "{0} fell off the table", "{0} did not fall off"),
        ],
        {**dict.fromkeys(BLOCKS, "block"), CUP: "cup"},
        {"block": "thing", "cup": "thing"},
    )


class TableAbstraction:
    """The abstraction of a table."""

    def __init__(self) -> None:
        self.vocabulary = table_vocabulary()
        self._state = lru_cache(10_000)(self._of_snapshot)

    def __call__(self, observation: SeesSnapshot) -> State:
        """Return the atoms that hold."""
        return self._state(observation.snapshot)

    def _of_snapshot(self, snapshot: Snapshot) -> State:
        return self.vocabulary.state(atoms_of(from_snapshot(snapshot)))


def atoms_of(poses: PoseArray) -> Iterator[Atom]:
    """Yield the atoms that hold."""
    there = [number for number, row in enumerate(poses) if row[2] > GONE_BELOW]
    covered = set()
    for block in (number for number in there if THINGS[number] != CUP):
        below = _support(poses, block, there)
        if below is not None:
            covered.add(below)
            yield Atom("on", (THINGS[block], THINGS[below]))
        elif poses[block, 2] - _half_height(poses[block, 3:]) < _TOUCHING:
            yield Atom("on-table", (THINGS[block],))
    for number, name in enumerate(THINGS):
        if number not in there:
            yield Atom("gone", (name,))
        elif number not in covered:
            yield Atom("clear", (name,))


def _support(poses: PoseArray, block: int, there: list[int]) -> int | None:
    """Return the thing that a block is on, if any."""
    nearest = []
    for other in there:
        offset = poses[block, :3] - poses[other, :3]
        if THINGS[other] == CUP:
            if _in_cup(offset, poses[other, 3:]):
                return other
        elif other != block and abs(offset[2] - BLOCK_WIDTH) < _HEIGHT_TOLERANCE:
            nearest.append((float(np.hypot(offset[0], offset[1])), other))
    aside, found = min(nearest, default=(_ASIDE, None))
    return found if aside < _ASIDE else None


def _in_cup(offset: PoseArray, quaternion: PoseArray) -> bool:
    """Return whether a block whose centre is at this offset stands on the bottom of the cup."""
    inside = _rotation(quaternion).T @ offset
    height = inside[2] - _CUP_FLOOR - BLOCK_WIDTH / 2
    return bool(np.all(np.abs(inside[:2]) < _CUP_HALF_WIDTH) and abs(height) < _HEIGHT_TOLERANCE)


def _half_height(quaternion: PoseArray) -> float:
    """Return how far the lowest corner of a block is below its centre."""
    return float(np.abs(_rotation(quaternion)[2]).sum()) * BLOCK_WIDTH / 2


def _rotation(quaternion: PoseArray) -> PoseArray:
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
