"""The rules of Overcooked: `overcooked-ai`, for one chef and with cooking that takes a random time.

Importing the package would import gym, which the rules do not need. So only the rules are imported,
under a placeholder for the package. Afterwards both are forgotten: a later import of the package is
complete, and its recipe settings, which are global, are not those of the kitchens here.

Kitchens of different recipes share these settings too; each step is taken with the kitchen's own.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from threading import RLock
from types import ModuleType
from typing import Any

from capscope_worlds.overcooked.kitchen import LAYOUT, STAGES, START

PACKAGE = "overcooked_ai_py"


def _import_rules() -> ModuleType:
    name = f"{PACKAGE}.mdp.overcooked_mdp"
    if PACKAGE in sys.modules:
        return import_module(name)
    spec = find_spec(PACKAGE)
    if spec is None or spec.submodule_search_locations is None:
        raise ModuleNotFoundError(f"No module named {PACKAGE!r}", name=PACKAGE)
    placeholder = ModuleType(PACKAGE)
    placeholder.__path__ = list(spec.submodule_search_locations)
    sys.modules[PACKAGE] = placeholder
    try:
        with warnings.catch_warnings():
            # Its docstrings have invalid escape sequences.
            warnings.simplefilter("ignore")
            return import_module(name)
    finally:
        for loaded in [m for m in sys.modules if m == PACKAGE or m.startswith(f"{PACKAGE}.")]:
            del sys.modules[loaded]


_GAME: Any = _import_rules()
Recipe, ObjectState, SoupState = _GAME.Recipe, _GAME.ObjectState, _GAME.SoupState
GameAction, GameDirection = _GAME.Action, _GAME.Direction
GameState = Any
_RECIPES = RLock()
"""Held while the global recipe settings are those of one kitchen."""


@cache
def _recipe_settings(soup_onions: int) -> dict[str, Any]:
    # One object for each recipe, so that comparing identities is enough.
    return {"cook_time": STAGES, "max_num_ingredients": soup_onions}


class KitchenRules(_GAME.OvercookedGridworld):  # type: ignore[misc]
    """The game for one chef, with recipes of onions only."""

    def __init__(self, soup_onions: int, advances: Callable[[], bool]) -> None:
        """Make rules; `advances` decides at each step whether cooking soup reaches its next stage.

        `from_grid` cannot be used: it makes an instance of the base class.
        """
        self._soup_onions = soup_onions
        self._advances = advances
        self._events: dict[str, list[bool]] = {"potting_onion": [False], "soup_delivery": [False]}
        with _RECIPES:
            super().__init__(
                terrain=[list(row.replace("1", " ")) for row in LAYOUT],
                start_player_positions=[START],
                start_all_orders=[{"ingredients": ["onion"] * soup_onions}],
                layout_name="cramped_room_single",
            )

    def _configure_recipes(self, *_: Any, **__: Any) -> None:
        self.recipe_config = _recipe_settings(self._soup_onions)
        Recipe.configure(self.recipe_config)

    def advance(self, state: GameState, action: Any) -> bool:
        """Take one step in place and return whether soup was delivered.

        The same as the game's `get_state_transition`, without copying the state and checking it
        before every step.
        """
        with _RECIPES:
            if Recipe.configuration is not self.recipe_config:
                Recipe.configure(self.recipe_config)
            delivered = self._events["soup_delivery"]
            delivered[0] = False
            joint = (action,)
            if action == GameAction.INTERACT:
                self.resolve_interacts(state, joint, self._events)
            else:
                self.resolve_movement(state, joint)
            self.step_environment_effects(state)
        return delivered[0]

    def step_environment_effects(self, state: GameState) -> None:
        """Let time pass: soup that cooks may reach its next stage."""
        state.timestep += 1
        for soup in state.objects.values():
            if soup.is_cooking and self._advances():
                soup.cook()

    def log_object_potting(self, *_: Any) -> None:
        """Do nothing: the game's statistics are not used."""

    def log_object_pickup(self, *_: Any) -> None:
        """Do nothing: the game's statistics are not used."""
