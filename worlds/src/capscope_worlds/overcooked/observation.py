"""What the chef observes, and the abstraction of it.

Conventions:

- The chef is at a place if the cell touches it, whichever way the chef faces.
- An empty dish and soup in a dish are different items. With a single item `soup-dish`, nobody could
  tell whether the chef holds a dish to be filled or soup to be delivered.
- Soup in the pot that does not cook yet is an onion in the pot; as soon as it is taken out or the
  chef holds it, no onion is in the pot.
- What was delivered stays delivered.
"""

from typing import NamedTuple

from capscope.logic import Predicate, State, Vocabulary
from capscope_worlds.overcooked.kitchen import (
    DELIVERY,
    DISH,
    EMPTY,
    FLOOR,
    ONION,
    PILES,
    PLACES,
    POT,
    POT_STATES,
    RACK,
    SOUP,
    Cell,
    place_near,
)

CHEF = "chef1"
ITEMS = (ONION, DISH, SOUP)
EXPECTED_IN_KITCHEN = ("*: pot-state(*) and not pot-state(*)",)
"""Soup cooks by itself, whatever the chef does in the meantime: no side effect of a request."""


class KitchenObservation(NamedTuple):
    """The kitchen at one time."""

    cell: Cell
    facing: str
    held: str | None
    pot: str
    """One of the eight states of the pot."""
    piles: tuple[int, int]
    """Onions left in each pile."""
    dishes: int
    """Clean dishes left in the rack."""
    delivered: bool

    @property
    def place(self) -> str | None:
        """The place at which the chef is."""
        return place_near(self.cell)


def kitchen_vocabulary() -> Vocabulary:
    """Return the vocabulary of the kitchen, the same for all variants."""
    predicates = [
        Predicate("at", ("chef", "place"), "{0} is at {1}"),
        Predicate("holding", ("chef", "item"), "{0} is holding the {1}"),
        Predicate("in-pot", ("ingredient",), "the {0} is in the pot"),
        Predicate("pot-state", ("stage",), "the state of the pot is {0}"),
        Predicate(
            "clean",
            ("tableware", "rack"),
            "a clean {0} is in the {1}",
            "no clean {0} is in the {1}",
        ),
        Predicate(
            "at-pile", ("ingredient", "pile"), "there is an {0} at {1}", "there is no {0} at {1}"
        ),
        Predicate(
            "delivered",
            ("meal",),
            "the {0} has been delivered",
            "the {0} has not been delivered",
        ),
    ]
    kinds = {POT: "place", RACK: "rack", DELIVERY: "place"}
    objects = {
        CHEF: "chef",
        ONION: "ingredient",
        DISH: "tableware",
        SOUP: "meal",
        **{place: kinds.get(place, "pile") for place in PLACES},
        **dict.fromkeys(POT_STATES, "stage"),
    }
    parents = dict.fromkeys(("ingredient", "tableware", "meal"), "item")
    parents |= dict.fromkeys(("pile", "rack"), "place")
    # Stages have an order, and a pot is not a delivery counter; but the two piles are alike.
    return Vocabulary(predicates, objects, parents, distinct_types=["stage", "place"])


class KitchenAbstraction:
    """The abstraction of the kitchen; the bits of each part are computed once."""

    def __init__(self) -> None:
        self.vocabulary = kitchen_vocabulary()
        bit = self.vocabulary.bit_of
        self._at: dict[Cell, State] = {
            cell: bit(f"at({CHEF},{place})") if (place := place_near(cell)) else 0 for cell in FLOOR
        }
        self._held = {None: 0} | {item: bit(f"holding({CHEF},{item})") for item in ITEMS}
        filled = bit(f"in-pot({ONION})")
        self._pot = {
            pot: bit(f"pot-state({pot})") | (0 if pot == EMPTY else filled) for pot in POT_STATES
        }
        self._piles = tuple(bit(f"at-pile({ONION},{pile})") for pile in PILES)
        self._clean = bit(f"clean({DISH},{RACK})")
        self._delivered = bit(f"delivered({SOUP})")

    def __call__(self, observation: KitchenObservation) -> State:
        """Return the atoms that hold."""
        cell, _, held, pot, (one, other), dishes, delivered = observation
        state = self._at[cell] | self._held[held] | self._pot[pot]
        if one:
            state |= self._piles[0]
        if other:
            state |= self._piles[1]
        if dishes:
            state |= self._clean
        return state | self._delivered if delivered else state
