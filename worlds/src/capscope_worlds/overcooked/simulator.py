"""Simulate the kitchen with the rules of Overcooked, with snapshots of nine bytes.

The game's piles and racks never run out. Here they have a stock, and interacting with an empty one
does nothing. Nothing can be put down on a counter: interacting with a counter does nothing either.

A restore changes the one state of the game in place; making a new one would take longer than a
step. The generator is made when soup first cooks, since most steps need no randomness.
"""

import random
from collections.abc import Sequence

from capscope.errors import ProblemError
from capscope.problem import InvalidAction, Snapshot
from capscope.problem.positions import png
from capscope_worlds.overcooked.drawing import draw
from capscope_worlds.overcooked.kitchen import (
    ACTIONS,
    AHEAD,
    DISH,
    EMPTY,
    FACINGS,
    FILLED,
    FLOOR,
    ONION,
    PLACE_TILES,
    POT_STATES,
    RACK,
    SOUP,
    STAGES,
    START,
    Kitchen,
    tiles,
)
from capscope_worlds.overcooked.observation import KitchenObservation
from capscope_worlds.overcooked.rules import (
    GameAction,
    KitchenRules,
    ObjectState,
    SoupState,
)

_GAME_ACTIONS = {**AHEAD, "stay": GameAction.STAY, "interact": GameAction.INTERACT}
_FACING_OF = {direction: facing for facing, direction in AHEAD.items()}
_PILE_TILES = tiles("O")
_POT_TILE = tiles("P")[0]
_COOKING = POT_STATES.index("stage-1")  # of the pot's states, that of cooking tick 0
_HOLDS_NOTHING, _HOLDS_ONION, _HOLDS_DISH = range(3)
"""In a snapshot; a greater number means soup of one onion, two, …"""


class KitchenSimulator:
    """Steps the kitchen; an observation is a `KitchenObservation`, an action a string."""

    def __init__(self, kitchen: Kitchen) -> None:
        self.kitchen = kitchen
        self.rules = KitchenRules(kitchen.soup_onions, self._advances)
        self.state = self.rules.get_standard_start_state()
        self._player = self.state.players[0]
        self._seed = 0
        self._random: random.Random | None = None
        self._stock: dict[tuple[int, int], int] = {}
        self._delivered = False
        stocks = kitchen.pile_onions, kitchen.pile_onions, kitchen.dishes
        facing = FACINGS.index("north")
        self._initial = bytes([FLOOR.index(START), facing, _HOLDS_NOTHING, 0, 0, *stocks, 0])
        self.restore(self._initial, 0)

    def reset(self, seed: int) -> KitchenObservation:
        """Go to the initial position."""
        return self.restore(self._initial, seed)

    def actions(self) -> Sequence[str]:
        """List the six actions, which are always available."""
        return ACTIONS

    def step(self, action: str) -> KitchenObservation:
        """Take an action; without something to act on, it only lets time pass."""
        taken = _GAME_ACTIONS.get(action) if isinstance(action, str) else None
        if taken is None:
            raise InvalidAction(f"{action!r} is not an action; choose one of {', '.join(ACTIONS)}")
        player = self._player
        if taken == GameAction.INTERACT:
            (x, y), (dx, dy) = player.position, player.orientation
            tile = x + dx, y + dy
            stock = self._stock.get(tile)
            if stock == 0 or tile not in PLACE_TILES:
                taken = GameAction.STAY
            elif stock and player.held_object is None:
                self._stock[tile] = stock - 1
        if self.rules.advance(self.state, taken):
            self._delivered = True
        return self._observation()

    def snapshot(self) -> Snapshot:
        """Encode the chef, what is held, the pot, the stocks and whether soup was delivered."""
        player, held = self._player, self._player.held_object
        soup = self.state.objects.get(_POT_TILE)
        return bytes(
            [
                FLOOR.index(player.position),
                FACINGS.index(_FACING_OF[player.orientation]),
                _HOLDS_NOTHING if held is None else _held_number(held),
                0 if soup is None else len(soup.ingredients),
                0 if soup is None else soup._cooking_tick + 1,
                *self._stock.values(),
                self._delivered,
            ]
        )

    def restore(self, snapshot: Snapshot, seed: int) -> KitchenObservation:
        """Go back to a position; `seed` seeds the progress of cooking."""
        if len(snapshot) != len(self._initial):
            raise ProblemError(
                f"a snapshot of {len(snapshot)} bytes is not one of this kitchen; start a new run"
            )
        cell, facing, held, onions, tick, one, other, dishes, delivered = snapshot
        state, player = self.state, self._player
        player.position = position = FLOOR[cell]
        player.orientation = AHEAD[FACINGS[facing]]
        player.held_object = _held_object(held, position) if held else None
        state.objects = {_POT_TILE: _soup(_POT_TILE, onions, tick - 1)} if onions else {}
        state.timestep = 0
        self._stock = dict(zip(_STOCKED, (one, other, dishes), strict=True))
        self._delivered = bool(delivered)
        self._seed, self._random = seed, None
        return self._observation()

    def place(self, wanted: KitchenObservation, seed: int) -> KitchenObservation:
        """Set up a position by what is to be observed, for training; the pot is full if filled."""
        cell, facing, held, pot, piles, dishes, delivered = wanted
        full = self.kitchen.soup_onions
        numbers = [
            FLOOR.index(cell),
            FACINGS.index(facing),
            {None: _HOLDS_NOTHING, ONION: _HOLDS_ONION, DISH: _HOLDS_DISH}.get(held, 2 + full),
            0 if pot == EMPTY else full,
            max(POT_STATES.index(pot) - _COOKING + 1, 0),
            *piles,
            dishes,
            delivered,
        ]
        return self.restore(bytes(numbers), seed)

    def picture(self, snapshot: Snapshot, tile_pixels: int = 32) -> bytes:
        """Draw a position as a PNG; the simulator stays where it is."""
        here, seed, generator = self.snapshot(), self._seed, self._random
        seen = self.restore(snapshot, 0)
        self.restore(here, seed)
        self._random = generator
        return png(draw(seen, tile_pixels))

    def _advances(self) -> bool:
        if self._random is None:
            self._random = random.Random(self._seed)
        return self._random.random() < self.kitchen.advance

    def _observation(self) -> KitchenObservation:
        player, held = self._player, self._player.held_object
        soup = self.state.objects.get(_POT_TILE)
        one, other, dishes = self._stock.values()
        return KitchenObservation(
            player.position,
            _FACING_OF[player.orientation],
            None if held is None else held.name,
            EMPTY if soup is None else _pot_state(soup._cooking_tick),
            (one, other),
            dishes,
            self._delivered,
        )


_STOCKED = (*_PILE_TILES, next(tile for tile, place in PLACE_TILES.items() if place == RACK))
"""The tiles with a stock, in the order of a snapshot."""


def _pot_state(tick: int) -> str:
    return FILLED if tick < 0 else POT_STATES[_COOKING + tick]


def _held_number(held: ObjectState) -> int:
    if held.name == SOUP:
        return _HOLDS_DISH + len(held.ingredients)
    return _HOLDS_ONION if held.name == ONION else _HOLDS_DISH


def _held_object(number: int, position: tuple[int, int]) -> ObjectState:
    if number > _HOLDS_DISH:
        return _soup(position, number - _HOLDS_DISH, STAGES)
    return ObjectState(ONION if number == _HOLDS_ONION else DISH, position)


def _soup(position: tuple[int, int], onions: int, tick: int) -> SoupState:
    return SoupState(position, [ObjectState(ONION, position) for _ in range(onions)], tick)
