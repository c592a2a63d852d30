"""The options of the kitchen agent: when each may begin and when it is done.

They follow the tasks into which an HDDL domain of a kitchen decomposes "deliver soup", and add one
for each place to go to. Nothing here says how to do any of it: that is learned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

FACINGS = ("north", "south", "east", "west")
HELD = (None, "onion", "dish", "soup")
POT_CLASSES = ("empty", "filled", "cooking", "ready")
"""What the agent distinguishes of the pot: not the stages of cooking."""

Cell = tuple[int, int]


class KitchenFeatures(Protocol):
    """What the agent uses of an observation of the kitchen; it does not look at the stocks."""

    @property
    def cell(self) -> Cell:
        """The cell of the chef."""

    @property
    def facing(self) -> str:
        """The direction that the chef faces."""

    @property
    def held(self) -> str | None:
        """The item that the chef holds."""

    @property
    def pot(self) -> str:
        """The state of the pot."""

    @property
    def place(self) -> str | None:
        """The place at which the chef is."""


def pot_class(pot: str) -> str:
    """Return the state of the pot without the stages of cooking.

    >>> pot_class("stage-3"), pot_class("ready")
    ('cooking', 'ready')
    """
    return pot if pot in POT_CLASSES else "cooking"


Begins = Callable[[KitchenFeatures], bool]
Done = Callable[[KitchenFeatures, KitchenFeatures], bool]


@dataclass(frozen=True)
class KitchenOption:
    """A task that the agent carries out by a policy of its own."""

    name: str
    may_begin: Begins
    done: Done
    """Returns, from the observation at the beginning and the current one, whether it is done."""


def kitchen_options(places: Sequence[str]) -> tuple[KitchenOption, ...]:
    """List the options in a kitchen with these places."""
    return (
        KitchenOption("get onion", _holds(None), lambda _, now: now.held == "onion"),
        KitchenOption(
            "fill pot",
            lambda now: now.held == "onion" and now.pot == "empty",
            lambda _, now: now.pot == "filled",
        ),
        KitchenOption(
            "start cooking",
            lambda now: now.held is None and now.pot == "filled",
            lambda _, now: now.pot != "filled",
        ),
        KitchenOption(
            "wait",
            lambda now: pot_class(now.pot) == "cooking",
            lambda begun, now: now.pot != begun.pot,
        ),
        KitchenOption("get dish", _holds(None), lambda _, now: now.held == "dish"),
        KitchenOption(
            "plate",
            lambda now: now.held == "dish" and now.pot == "ready",
            lambda _, now: now.held == "soup",
        ),
        KitchenOption("deliver", _holds("soup"), lambda _, now: now.held is None),
        *(KitchenOption(f"go to {place}", _away(place), _at(place)) for place in places),
    )


def _holds(item: str | None) -> Begins:
    return lambda now: now.held == item


def _away(place: str) -> Begins:
    return lambda now: now.place != place


def _at(place: str) -> Done:
    return lambda _, now: now.place == place
