"""The gradient of the network, for training it on NumPy alone.

`network` computes one action at a time and keeps nothing; here, many states go through the same
layers at once, and what the way back needs is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from capscope_worlds.crafter_steve.network import ITERATIONS, NOTHING
from capscope_worlds.crafter_steve.view import CELLS, KINDS, REACH_X, REACH_Y, Floats, Numbers

_WIDTH, _HEIGHT = 2 * REACH_X + 1, 2 * REACH_Y + 1
_INNER = slice(1, -1), slice(1, -1)
_AROUND = (
    (slice(0, -2), slice(1, -1)),
    (slice(2, None), slice(1, -1)),
    (slice(1, -1), slice(0, -2)),
    (slice(1, -1), slice(2, None)),
)
"""The left, right, upper and lower neighbours of all cells of a padded map."""
_X, _Y = REACH_X + 1, REACH_Y + 1
_BESIDE = ((_X - 1, _Y), (_X + 1, _Y), (_X, _Y - 1), (_X, _Y + 1))


def one_hot(views: Sequence[Numbers] | Numbers) -> Floats:
    """Encode many views: a row for each cell, a column for each kind."""
    numbers = np.asarray(views, np.int64)[:, :, None]
    encoded = np.zeros((*numbers.shape[:2], len(KINDS)), np.float32)
    np.put_along_axis(encoded, numbers, 1, axis=2)
    return encoded


class ValueIteration:
    """Iterates values as the network does, for many states, and remembers where they came from.

    Rows are the last axis in here, so that shifts by a cell are slices of whole blocks.
    """

    def __init__(self, plans: Floats, kinds: Numbers) -> None:
        """Iterate; `plans` are worths and costs (rows, 2, maps, kinds), `kinds` (rows, cells)."""
        self._kinds = kinds
        rows, _, maps, _ = self._shape = plans.shape
        at = np.arange(maps)[:, None, None], np.arange(rows)[None, :, None], kinds[None]
        by_map = plans.transpose(2, 0, 1, 3)
        worth, bare = (by_map[at[0], at[1], i, at[2]].transpose(2, 0, 1) for i in range(2))
        self._worth = np.ascontiguousarray(worth.reshape(_WIDTH, _HEIGHT, -1))
        self._bare = bare.reshape(_WIDTH, _HEIGHT, -1)
        self._trace: list[tuple[list[Any], Any]] = []
        self._near = self._iterate()
        self._top = self._near.max(axis=0)

    def _iterate(self) -> Floats:
        """Return the values beside the player."""
        cost = np.logaddexp(self._bare, 0)
        shape = _WIDTH + 2, _HEIGHT + 2, self._worth.shape[-1]
        values = np.full(shape, NOTHING, self._worth.dtype)
        values[_INNER] = self._worth
        for _ in range(ITERATIONS):
            best = np.maximum(values[_AROUND[0]], values[_AROUND[1]])
            np.maximum(best, values[_AROUND[2]], out=best)
            np.maximum(best, values[_AROUND[3]], out=best)
            sources = [values[side] == best for side in _AROUND]
            best -= cost
            self._trace.append((sources, best > self._worth))
            np.maximum(best, self._worth, out=values[_INNER])
        near: Floats = np.stack([values[cell] for cell in _BESIDE])
        return near

    @property
    def routes(self) -> Floats:
        """What the network gets of each state, like `best_routes`."""
        rows, _, maps, _ = self._shape
        routes = np.concatenate((self._near - self._top, self._top[None]))
        return routes.reshape(5, maps, rows).transpose(2, 0, 1).reshape(rows, -1)

    def gradient(self, slopes: Floats) -> Floats:
        """Return the gradient of the plans, given that of the routes.

        Neighbours that are equally good share it equally.
        """
        rows, _, maps, _ = self._shape
        slope = slopes.reshape(rows, 5, maps).transpose(1, 2, 0).reshape(5, -1)
        winners = self._near == self._top
        share = winners / winners.sum(axis=0)
        to_near = slope[:4] + share * (slope[4] - slope[:4].sum(axis=0))
        to_worth, to_cost = np.zeros_like(self._worth), np.zeros_like(self._worth)
        shape = _WIDTH + 2, _HEIGHT + 2, self._worth.shape[-1]
        down = np.zeros(shape, self._worth.dtype)
        for cell, to_cell in zip(_BESIDE, to_near, strict=True):
            down[cell] = to_cell
        for sources, passed in reversed(self._trace):
            through = down[_INNER] * passed
            to_worth += down[_INNER] - through
            to_cost -= through
            ties = np.add(sources[0], sources[1], dtype=np.float32)
            ties += sources[2]
            ties += sources[3]
            through /= ties
            down = np.zeros(shape, self._worth.dtype)
            for source, side in zip(sources, _AROUND, strict=True):
                down[side] += through * source
        to_worth += down[_INNER]
        to_cost *= 1 / (1 + np.exp(-self._bare))
        hot = one_hot(self._kinds)
        found = np.zeros(self._shape, self._worth.dtype)
        for i, one in enumerate((to_worth, to_cost)):
            found[:, i] = one.reshape(CELLS, maps, rows).transpose(2, 1, 0) @ hot
        return found.reshape(rows, -1)


def gradients(layers: Mapping[str, Floats], batch: Mapping[str, Any]) -> dict[str, Floats]:
    """Return the gradient of the cross-entropy; each state has several instructions.

    A batch has `views` (kinds of cells), `own` features, `bags` of words and `labels`.
    """
    views, bags, labels = one_hot(batch["views"]), batch["bags"], batch["labels"]
    views = views.astype(bags.dtype, copy=False)
    states, each, _ = labels.shape
    rows = states * each
    kinds, width = len(KINDS), layers["words"].shape[1]
    known = np.concatenate((batch["own"], views.max(axis=1)), axis=1)
    inputs = np.concatenate((bags @ layers["words"], np.repeat(known, each, axis=0)), axis=1)
    context = np.maximum(inputs @ layers["context"] + layers["context_bias"], 0)
    looks = (context @ layers["look"] + layers["look_bias"]).reshape(states, each, kinds, -1)
    # (states, kinds, each × look): all instructions of a state at once.
    looks = looks.transpose(0, 2, 1, 3).reshape(states, kinds, -1)
    cells = (views @ looks).reshape(states, CELLS, each, -1)
    cells = cells.transpose(0, 2, 1, 3).reshape(rows, -1)
    plans = context @ layers["plan"] + layers["plan_bias"]
    values = ValueIteration(
        plans.reshape(rows, 2, -1, kinds), np.repeat(batch["views"], each, axis=0)
    )
    routes = values.routes
    first = cells @ layers["cells"] + context @ layers["hint"] + layers["first_bias"]
    first = np.maximum(first + routes @ layers["route"], 0)
    second = np.maximum(first @ layers["second"] + layers["second_bias"], 0)
    scores = second @ layers["last"] + layers["last_bias"]
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)

    down3 = (shares - labels.reshape(rows, -1)) / rows
    down2 = (down3 @ layers["last"].T) * (second > 0)
    down1 = (down2 @ layers["second"].T) * (first > 0)
    to_cells = (down1 @ layers["cells"].T).reshape(states, each, CELLS, -1)
    to_cells = to_cells.transpose(0, 2, 1, 3).reshape(states, CELLS, -1)
    to_looks = (views.transpose(0, 2, 1) @ to_cells).reshape(states, kinds, each, -1)
    to_looks = to_looks.transpose(0, 2, 1, 3).reshape(rows, -1)
    to_plans = values.gradient(down1 @ layers["route"].T)
    to_context = to_looks @ layers["look"].T + down1 @ layers["hint"].T
    down0 = (to_context + to_plans @ layers["plan"].T) * (context > 0)
    return {
        "words": bags.T @ (down0 @ layers["context"][:width].T),
        "context": inputs.T @ down0,
        "context_bias": down0.sum(axis=0),
        "look": context.T @ to_looks,
        "look_bias": to_looks.sum(axis=0),
        "plan": context.T @ to_plans,
        "plan_bias": to_plans.sum(axis=0),
        "route": routes.T @ down1,
        "cells": cells.T @ down1,
        "hint": context.T @ down1,
        "first_bias": down1.sum(axis=0),
        "second": first.T @ down2,
        "second_bias": down2.sum(axis=0),
        "last": second.T @ down3,
        "last_bias": down3.sum(axis=0),
    }
