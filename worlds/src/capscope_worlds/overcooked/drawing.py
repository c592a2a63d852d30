"""Draw the kitchen: the game's own visualizer needs packages that nothing else here needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from capscope_worlds.overcooked.kitchen import (
    AHEAD,
    DELIVERY,
    DISH,
    EMPTY,
    FILLED,
    LAYOUT,
    ONION,
    PILES,
    PLACE_TILES,
    POT,
    POT_STATES,
    RACK,
    READY,
    SOUP,
    STAGES,
)
from capscope_worlds.overcooked.observation import KitchenObservation

Pixels = np.ndarray[Any, np.dtype[np.uint8]]
Colour = tuple[int, int, int]

_FLOOR, _COUNTER, _EDGE = (232, 226, 212), (184, 142, 98), (150, 112, 74)
_ONION, _DISH, _SOUP = (236, 178, 46), (250, 250, 250), (214, 110, 36)
_METAL, _INSIDE, _GREEN = (88, 92, 100), (40, 42, 48), (70, 150, 84)
_CHEF, _HAT = (58, 106, 176), (245, 245, 245)
_STOCK_LINE = 3  # items side by side


def draw(seen: KitchenObservation, tile_pixels: int) -> Pixels:
    """Draw a position as rows of RGB pixels."""
    size = tile_pixels
    pixels = np.empty((len(LAYOUT) * size, len(LAYOUT[0]) * size, 3), np.uint8)
    for y, row in enumerate(LAYOUT):
        for x, sign in enumerate(row):
            tile = pixels[y * size : (y + 1) * size, x * size : (x + 1) * size]
            if sign in " 1":
                tile[:] = _FLOOR
            else:
                tile[:] = _EDGE
                tile[1:-1, 1:-1] = _COUNTER
            _draw_place(tile, PLACE_TILES.get((x, y)), seen)
    x, y = seen.cell
    _draw_chef(pixels[y * size : (y + 1) * size, x * size : (x + 1) * size], seen)
    return pixels


def _draw_place(tile: Pixels, place: str | None, seen: KitchenObservation) -> None:
    if place in PILES:
        _disc(tile, 0.5, 0.5, 0.4, _EDGE)
        _stock(tile, seen.piles[PILES.index(place)], _ONION)
    elif place == RACK:
        tile[2:-2, 2:-2] = _METAL
        _stock(tile, seen.dishes, _DISH)
    elif place == DELIVERY:
        tile[2:-2, 2:-2] = _GREEN
        if seen.delivered:
            _disc(tile, 0.5, 0.5, 0.3, _DISH)
            _disc(tile, 0.5, 0.5, 0.2, _SOUP)
    elif place == POT:
        _draw_pot(tile, seen.pot)


def _draw_pot(tile: Pixels, pot: str) -> None:
    """Draw the pot with its content, and one mark for each stage reached."""
    _disc(tile, 0.5, 0.45, 0.4, _METAL)
    content = {EMPTY: _INSIDE, FILLED: _INSIDE}.get(pot, _SOUP)
    _disc(tile, 0.5, 0.45, 0.3, content)
    if pot == FILLED:
        _disc(tile, 0.5, 0.45, 0.18, _ONION)
    reached = max(POT_STATES.index(pot) - POT_STATES.index(FILLED), 0)
    for mark in range(min(reached, STAGES)):
        left = 0.06 + 0.18 * mark
        _box(tile, left, 0.86, 0.14, 0.1, _GREEN if pot == READY else _ONION)


def _draw_chef(tile: Pixels, seen: KitchenObservation) -> None:
    dx, dy = AHEAD[seen.facing]
    _disc(tile, 0.5, 0.5, 0.36, _CHEF)
    _disc(tile, 0.5 - 0.1 * dx, 0.5 - 0.1 * dy, 0.22, _HAT)
    ahead = 0.5 + 0.34 * dx, 0.5 + 0.34 * dy
    if seen.held is None:
        _disc(tile, *ahead, 0.07, _INSIDE)
    elif seen.held == ONION:
        _disc(tile, *ahead, 0.15, _ONION)
    elif seen.held in (DISH, SOUP):
        _disc(tile, *ahead, 0.16, _INSIDE)
        _disc(tile, *ahead, 0.15, _DISH)
        if seen.held == SOUP:
            _disc(tile, *ahead, 0.1, _SOUP)


def _stock(tile: Pixels, number: int, colour: Colour) -> None:
    """Draw a number of items, large if there is only one."""
    if number == 1:
        _disc(tile, 0.5, 0.5, 0.27, colour)
        return
    for i in range(number):
        row, column = divmod(i, _STOCK_LINE)
        _disc(tile, 0.25 + 0.25 * column, 0.25 + 0.25 * row, 0.11, colour)


def _disc(tile: Pixels, x: float, y: float, radius: float, colour: Colour) -> None:
    """Fill a circle; lengths are shares of the tile."""
    size = len(tile)
    rows, columns = np.ogrid[:size, :size]
    away = (columns + 0.5 - x * size) ** 2 + (rows + 0.5 - y * size) ** 2
    tile[away <= (radius * size) ** 2] = colour


def _box(tile: Pixels, x: float, y: float, width: float, height: float, colour: Colour) -> None:
    size = len(tile)
    top, left = round(y * size), round(x * size)
    tile[top : top + round(height * size), left : left + round(width * size)] = colour
