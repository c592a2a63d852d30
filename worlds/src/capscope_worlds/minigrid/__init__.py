"""Minigrid worlds: rooms, keys, doors and lava, read from a small text file.

`minigrid` is an extra, imported when the first simulator is made; layouts, observations and the
abstraction do not need it.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from capscope.errors import ProblemError
from capscope_worlds import install_hint
from capscope_worlds.minigrid.layout import Cell, Door, DoorState, Key, Layout, read_layout
from capscope_worlds.minigrid.observation import (
    ACTIONS,
    GridAbstraction,
    GridObservation,
    grid_vocabulary,
)

if TYPE_CHECKING:
    from capscope_worlds.minigrid.simulator import GridSimulator

__all__ = [
    "ACTIONS",
    "FOUR_QUADRANTS",
    "Cell",
    "Door",
    "DoorState",
    "GridAbstraction",
    "GridObservation",
    "Key",
    "Layout",
    "grid_simulator",
    "grid_vocabulary",
    "read_layout",
]

FOUR_QUADRANTS = Path(str(files(__name__))) / "layouts" / "four-quadrants.txt"
"""The layout file that comes with capscope."""


def grid_simulator(layout: Layout) -> GridSimulator:
    """Make the simulator of a layout; raise `ProblemError` if minigrid is not installed."""
    try:
        from capscope_worlds.minigrid.simulator import GridSimulator
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("minigrid", "pygame"):
            raise
        raise ProblemError(f"grids need minigrid: {install_hint('minigrid')}") from error
    return GridSimulator(layout)
