"""Crafter on a fixed map: collect, build, make tools, sleep, stay alive.

`crafter` is an extra, imported when the first simulator is made; maps, observations and the
abstraction do not need it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from capscope.errors import ProblemError
from capscope_worlds import install_hint
from capscope_worlds.crafter.expected import expected_consequences
from capscope_worlds.crafter.game_map import GameMap, read_map, shipped_maps
from capscope_worlds.crafter.observation import (
    CrafterAbstraction,
    CrafterObservation,
    Creature,
    crafter_vocabulary,
)
from capscope_worlds.crafter.rules import ACTIONS

if TYPE_CHECKING:
    from capscope_worlds.crafter.simulator import CrafterSimulator

__all__ = [
    "ACTIONS",
    "CrafterAbstraction",
    "CrafterObservation",
    "Creature",
    "GameMap",
    "crafter_simulator",
    "crafter_vocabulary",
    "expected_consequences",
    "read_map",
    "shipped_maps",
]


def crafter_simulator(game_map: GameMap, spawn: bool = False) -> CrafterSimulator:
    """Make the simulator of a map; raise `ProblemError` if crafter is not installed."""
    try:
        with _gym_hidden():
            from capscope_worlds.crafter.simulator import CrafterSimulator
    except ModuleNotFoundError as error:
        needed = ("crafter", "imageio", "PIL", "ruamel", "opensimplex")
        if (error.name or "").partition(".")[0] not in needed:
            raise
        raise ProblemError(f"Crafter needs its package: {install_hint('crafter')}") from error
    return CrafterSimulator(game_map, spawn)


@contextmanager
def _gym_hidden() -> Iterator[None]:
    """Let crafter do without gym, which it needs for nothing here and which prints a notice."""
    if "gym" in sys.modules:
        yield
        return
    sys.modules["gym"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["gym"]
