"""Where everything on the table is: one row for each thing, as numbers or as a snapshot.

A row is a position in metres and a unit quaternion. In a snapshot each number is rounded to a
hundred-thousandth, and there are no velocities, because a skill ends when everything lies still. So
a position is its snapshot, and a restored run continues as the original.

What fell off the table is gone. Where it fell to does not matter, so it has one place, far below.
"""

import random
from typing import Any

import numpy as np

from capscope.errors import ProblemError

BLOCKS = ("red", "blue", "green", "yellow")
CUP = "cup"
THINGS = (*BLOCKS, CUP)
BLOCK_WIDTH = 0.04
TABLE_HALF_WIDTH = 0.22
GONE_BELOW = -0.03
"""A thing whose centre is below this height, in metres, has left the table."""

_UNIT = 1e-5
_GONE_HEIGHT = -1.0
_FIRST_HEIGHTS = (*(BLOCK_WIDTH / 2 for _ in BLOCKS), 0.0)
_APART = 0.1  # between the centres of two things after a reset: room for the jaws
_LAYOUT_X, _LAYOUT_Y = (-0.16, 0.09), (-0.15, 0.15)
_SNAPSHOT_BYTES = 4 * 7 * len(THINGS)

PoseArray = np.ndarray[Any, np.dtype[np.float64]]
"""Shape (things, 7): x, y, z, and a quaternion."""


def to_snapshot(poses: PoseArray) -> bytes:
    """Round poses to a snapshot; what is below the table goes to its one place."""
    rounded = np.array(poses, dtype=np.float64)
    for number, row in enumerate(rounded):
        if row[2] < GONE_BELOW:
            row[:] = (1.0 + number, 0.0, _GONE_HEIGHT, 1.0, 0.0, 0.0, 0.0)
        elif row[3] < 0:  # a quaternion and its negative are the same rotation
            row[3:] *= -1
    return np.rint(rounded / _UNIT).astype("<i4").tobytes()


def from_snapshot(snapshot: bytes) -> PoseArray:
    """Return the poses of a snapshot."""
    if len(snapshot) != _SNAPSHOT_BYTES:
        raise ProblemError(
            f"a snapshot of {len(snapshot)} bytes is not of this table, whose snapshots have "
            f"{_SNAPSHOT_BYTES}; start a new run"
        )
    numbers = np.frombuffer(snapshot, "<i4").reshape(len(THINGS), 7)
    return numbers.astype(np.float64) * _UNIT


def random_layout(seed: int) -> PoseArray:
    """Put everything on the table, apart from each other, at places drawn with the seed."""
    rng = random.Random(seed)
    places: list[tuple[float, float]] = []
    while len(places) < len(THINGS):
        x, y = rng.uniform(*_LAYOUT_X), rng.uniform(*_LAYOUT_Y)
        if all((x - other) ** 2 + (y - beside) ** 2 > _APART**2 for other, beside in places):
            places.append((x, y))
        elif rng.random() < 0.01:  # the places so far may leave no room for another
            places.clear()
    rows = [
        (x, y, height, 1.0, 0.0, 0.0, 0.0)
        for (x, y), height in zip(places, _FIRST_HEIGHTS, strict=True)
    ]
    return np.array(rows)
