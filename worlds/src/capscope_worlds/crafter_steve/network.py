"""The network: a view and an instruction in, a score for each action out.

Words are embedded and averaged (order is ignored). Together with what the player carries and which
kinds of things are in view, they decide what to look for: a few numbers for each kind of thing,
such as "a goal" or "in the way". Every cell in view is replaced by the numbers of its kind, and two
layers turn them into actions. So the way to a tree and the way to water are the same skill; a first
layer with weights for each kind had to learn them separately, and learned them badly.

Two layers cannot follow a winding way. So some of the numbers of a kind are a worth and a cost, and
value iteration over the cells in view finds how good it is to go to each of the four neighbours (a
value iteration network, Tamar et al., 2016). That is one more input; what is worth going to, and
what is worth avoiding, is learned.

A word that was never learned counts as nothing; an instruction of such words is like an empty one.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from capscope.errors import ProblemError
from capscope_worlds.crafter_steve.view import KINDS, REACH_X, REACH_Y, Floats, Numbers

ITERATIONS = 12
"""Steps of value iteration: how long a way may be."""
NOTHING = -20.0
"""The value of a cell beyond the view."""
_WIDTH, _HEIGHT = 2 * REACH_X + 1, 2 * REACH_Y + 1
_COLUMN = _HEIGHT + 1
_IMPASSABLE = 1e6
_WORD = re.compile(r"[a-z]+")
LAYERS = (
    *("words", "context", "context_bias", "look", "look_bias", "plan", "plan_bias", "route"),
    *("cells", "hint", "first_bias", "second", "second_bias", "last", "last_bias"),
)


def words_of(instruction: str) -> list[str]:
    """Split an instruction into lower-case words.

    >>> words_of("not next_to(tree)")
    ['not', 'next', 'to', 'tree']
    """
    return _WORD.findall(instruction.lower())


@dataclass(frozen=True, eq=False)
class PolicyNetwork:
    """Trained weights."""

    actions: tuple[str, ...]
    vocabulary: tuple[str, ...]
    """The words with an embedding."""
    layers: Mapping[str, Floats]
    origin: Mapping[str, Any] = field(default_factory=dict)
    """How the weights were made, JSON-ready."""

    def meaning(self, instruction: str) -> Floats:
        """Return what an instruction adds to the context; computed once for an attempt."""
        rows = [self._row[word] for word in words_of(instruction) if word in self._row]
        words, layers = self.layers["words"], self.layers
        mean = words[rows].mean(axis=0) if rows else np.zeros(words.shape[1], np.float32)
        added: Floats = mean @ layers["context"][: words.shape[1]] + layers["context_bias"]
        return added

    def scores(self, view: Numbers, own: Floats, meaning: Floats) -> Floats:
        """Return the logarithm of each action's probability, up to a constant."""
        layers = self.layers
        present = np.bincount(view, minlength=len(KINDS)) > 0
        known = np.concatenate((own, present.astype(np.float32)))
        context = np.maximum(meaning + known @ self._rest, 0)
        looks = (context @ layers["look"] + layers["look_bias"]).reshape(len(KINDS), -1)
        plans = (context @ layers["plan"] + layers["plan_bias"]).reshape(2, -1, len(KINDS))
        worth, cost = plans[0], np.logaddexp(plans[1], 0)
        routes = best_routes(worth[:, view], cost[:, view])
        first = looks[view].ravel() @ layers["cells"] + context @ layers["hint"]
        first = np.maximum(first + routes @ layers["route"] + layers["first_bias"], 0)
        second = np.maximum(first @ layers["second"] + layers["second_bias"], 0)
        scores: Floats = second @ layers["last"] + layers["last_bias"]
        return scores

    @cached_property
    def _rest(self) -> Floats:
        """The weights of everything in the context but the words."""
        rest: Floats = np.ascontiguousarray(self.layers["context"][self.layers["words"].shape[1] :])
        return rest

    @cached_property
    def _row(self) -> Mapping[str, int]:
        return {word: row for row, word in enumerate(self.vocabulary)}

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that determines the scores."""
        digest = hashlib.sha256(repr((self.actions, self.vocabulary)).encode())
        for name in LAYERS:
            digest.update(np.ascontiguousarray(self.layers[name], np.float16).tobytes())
        return digest.hexdigest()[:16]

    def save(self, path: Path) -> None:
        """Write the weights as half-precision numbers to a compressed file."""
        parts: dict[str, Any] = {n: self.layers[n].astype(np.float16) for n in LAYERS}
        parts["actions"], parts["vocabulary"] = np.array(self.actions), np.array(self.vocabulary)
        parts["origin"] = np.array(json.dumps(dict(self.origin)))
        np.savez_compressed(path, **parts)

    @classmethod
    def load(cls, path: Path) -> PolicyNetwork:
        """Read a file written by `save`."""
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                parts = dict(stored)
            return cls(
                actions=tuple(parts["actions"].tolist()),
                vocabulary=tuple(parts["vocabulary"].tolist()),
                layers={name: parts[name].astype(np.float32) for name in LAYERS},
                origin=json.loads(str(parts["origin"])),
            )
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise ProblemError(
                f"{path} does not contain a policy for Crafter ({error}); create it with "
                "scripts/train_crafter_steve.py"
            ) from error


@cache
def _layout(maps: int) -> tuple[Numbers, Numbers]:
    """Return where the cells of all value maps are in one flat array, and those beside the player.

    A cell follows the one above it. Columns and maps are separated by cells that nothing passes, so
    that neighbours are at fixed distances: operations on slices of a flat array are fast.
    """
    cells = np.arange(_WIDTH)[:, None] * _COLUMN + np.arange(_HEIGHT) + _COLUMN
    starts = np.arange(maps)[:, None] * (_WIDTH + 1) * _COLUMN
    x, y = REACH_X, REACH_Y
    near = [cells[x - 1, y], cells[x + 1, y], cells[x, y - 1], cells[x, y + 1]]
    return starts + cells.ravel(), (starts + near).T


def best_routes(worth: Floats, cost: Floats) -> Floats:
    """Return how good each neighbour is, compared with the best of them, and how good that one is.

    Both arguments have a row for each value map and a column for each cell in view. The value of a
    cell is its worth or, if more, the best value around it minus its own cost.
    """
    places, beside = _layout(len(worth))
    size = _COLUMN + len(worth) * (_WIDTH + 1) * _COLUMN
    values = np.full(size, NOTHING, np.float32)
    values[places] = worth
    costs = np.full(size, _IMPASSABLE, np.float32)
    costs[places] = cost
    inner = slice(_COLUMN, -_COLUMN)
    worths, costs, inside = values[inner].copy(), costs[inner], values[inner]
    left, right = values[: -2 * _COLUMN], values[2 * _COLUMN :]
    above, below = values[_COLUMN - 1 : -_COLUMN - 1], values[_COLUMN + 1 : 1 - _COLUMN]
    best = np.empty_like(worths)
    for _ in range(ITERATIONS):
        np.maximum(left, right, out=best)
        np.maximum(best, above, out=best)
        np.maximum(best, below, out=best)
        np.subtract(best, costs, out=best)
        np.maximum(best, worths, out=inside)
    near = values[beside]
    top = near.max(axis=0)
    routes: Floats = np.concatenate((near - top, top[None])).ravel()
    return routes
