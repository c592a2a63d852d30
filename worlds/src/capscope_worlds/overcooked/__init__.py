"""Overcooked: one chef in a small kitchen, with the rules of the public game.

`overcooked-ai` is an extra, imported when the first simulator is made; the kitchen, observations
and the abstraction do not need it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from capscope.errors import ProblemError
from capscope_worlds import install_hint
from capscope_worlds.overcooked.kitchen import ACTIONS, FLOOR, PLACES, POT_STATES, Kitchen
from capscope_worlds.overcooked.observation import (
    EXPECTED_IN_KITCHEN,
    KitchenAbstraction,
    KitchenObservation,
    kitchen_vocabulary,
)

if TYPE_CHECKING:
    from capscope_worlds.overcooked.simulator import KitchenSimulator

__all__ = [
    "ACTIONS",
    "EXPECTED_IN_KITCHEN",
    "FLOOR",
    "PLACES",
    "POT_STATES",
    "Kitchen",
    "KitchenAbstraction",
    "KitchenObservation",
    "kitchen_simulator",
    "kitchen_vocabulary",
]


def kitchen_simulator(kitchen: Kitchen | None = None) -> KitchenSimulator:
    """Make the simulator of a kitchen; raise `ProblemError` if overcooked-ai is not installed."""
    try:
        from capscope_worlds.overcooked.simulator import KitchenSimulator
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "overcooked_ai_py":
            raise
        raise ProblemError(f"kitchens need overcooked-ai: {install_hint('overcooked')}") from error
    return KitchenSimulator(kitchen or Kitchen())
