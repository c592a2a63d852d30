"""The kitchen: its layout, its places, and what may vary.

```
XXPXX    P pot, O onion piles, D dish rack, S delivery counter, X counters
O   O    the chef starts at 1
X 1 X
XDXSX
```

Each of the six floor cells touches at most one named place, so a chef is at one place or at none.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from capscope.errors import ProblemError

LAYOUT = ("XXPXX", "O   O", "X 1 X", "XDXSX")
FACINGS = ("north", "south", "east", "west")
ACTIONS = (*FACINGS, "stay", "interact")
"""Moving towards something solid turns the chef; `interact` acts on what is ahead."""

ONION, DISH, SOUP = "onion", "dish", "soup"
PILES = ("onion-pile-1", "onion-pile-2")
POT, RACK, DELIVERY = "pot", "dish-rack", "delivery"
PLACES = (*PILES, POT, RACK, DELIVERY)
STAGES = 5
EMPTY, FILLED, READY = "empty", "filled", "ready"
POT_STATES = (EMPTY, FILLED, *(f"stage-{n}" for n in range(1, STAGES + 1)), READY)

Cell = tuple[int, int]
"""Column and row, counted from 0."""
AHEAD = {"north": (0, -1), "south": (0, 1), "east": (1, 0), "west": (-1, 0)}


def tiles(sign: str) -> tuple[Cell, ...]:
    """List the tiles with a sign, row by row."""
    return tuple((x, y) for y, row in enumerate(LAYOUT) for x, s in enumerate(row) if s == sign)


PLACE_TILES = dict(zip(tiles("O"), PILES, strict=True)) | {
    tiles("P")[0]: POT,
    tiles("D")[0]: RACK,
    tiles("S")[0]: DELIVERY,
}
"""The place on each tile that is one."""
START = tiles("1")[0]
FLOOR = tuple(sorted((*tiles(" "), START), key=lambda cell: (cell[1], cell[0])))


def place_near(cell: Cell) -> str | None:
    """Return the place that a floor cell touches.

    >>> place_near((1, 1)), place_near((2, 2))
    ('onion-pile-1', None)
    """
    x, y = cell
    near = ((x + dx, y + dy) for dx, dy in AHEAD.values())
    return next((PLACE_TILES[tile] for tile in near if tile in PLACE_TILES), None)


@dataclass(frozen=True, slots=True)
class Kitchen:
    """What may vary: the stocks, the recipe and how fast soup cooks."""

    dishes: int = 1
    """Clean dishes in the rack at the beginning."""
    pile_onions: int = 1
    """Onions in each pile at the beginning."""
    soup_onions: int = 1
    """Onions that fit into the pot; cooking may begin with fewer."""
    advance: float = 0.5
    """The probability that one step brings cooking soup to its next stage."""

    def __post_init__(self) -> None:
        if not (
            1 <= self.dishes <= 9 and 1 <= self.pile_onions <= 9 and 1 <= self.soup_onions <= 3
        ):
            raise ProblemError(
                "overcooked: dishes and pile-onions must be from 1 to 9, soup-onions from 1 to 3"
            )
        if not 0 < self.advance <= 1:
            raise ProblemError(f"overcooked: advance must be above 0 and at most 1: {self.advance}")

    @classmethod
    def of(cls, options: dict[str, str]) -> Kitchen:
        """Read options given as text."""
        kinds: dict[str, Any] = {field.name: type(field.default) for field in fields(cls)}
        try:
            return cls(**{name: kinds[name](text) for name, text in options.items()})
        except ValueError as error:
            raise ProblemError(f"overcooked: an option is not a number ({error})") from error

    @property
    def fingerprint(self) -> str:
        """Identifies the variant."""
        return f"{self.dishes}-{self.pile_onions}-{self.soup_onions}-{self.advance!r}"
