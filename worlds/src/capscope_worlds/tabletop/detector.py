"""Find the blocks and the cup in the robot's picture, as well as a small network can.

The network looks at one patch of the picture at a time and says which thing its middle pixel shows.
`scripts/train_tabletop_detector.py` trains it on rendered pictures. It is right about most, but
green and yellow are similar, and light that is warmer at one end of the table makes one look like
the other.

A thing is seen where the network is most certain of it, however little that is: this is what a
skill acts on. The certainty, from 0 to 1, is the mean probability in a window of a block's size.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from capscope.errors import ProblemError
from capscope_worlds.tabletop.camera import Pixels, table_place
from capscope_worlds.tabletop.poses import CUP, THINGS

DETECTOR_WEIGHTS = Path(str(files(__package__))) / "detector.npz"
"""The file with the weights that come with capscope."""
PATCH = 5
"""Rows and columns of the patch around a pixel."""
_WINDOW = 5
"""Pixels; a block is about as wide in the picture."""
_AROUND_BLOCK, _AROUND_CUP = 4, 7
"""Pixels on each side of the most certain one whose centre of gravity is the place."""
_CHUNK = 128
"""Patches multiplied at a time: for more, BLAS starts threads, which take longer than they save."""

Floats = np.ndarray[Any, np.dtype[np.float32]]


class Sighting(NamedTuple):
    """Where a thing seems to be, in metres from the centre of the table, and how certainly."""

    place: tuple[float, float]
    certainty: float


@dataclass(frozen=True, eq=False)
class Detector:
    """A network with one hidden layer."""

    hidden: Floats
    """Weights from a patch to the hidden units; the last row is the bias."""
    output: Floats
    """Weights from the hidden units to the things and nothing; the last row is the bias."""

    @classmethod
    def load(cls, path: Path = DETECTOR_WEIGHTS) -> Detector:
        """Read weights that `save` wrote."""
        try:
            with np.load(path, allow_pickle=False) as stored:
                parts = {name: stored[name].astype(np.float32) for name in ("hidden", "output")}
            return cls(**parts)
        except (OSError, ValueError, KeyError) as error:
            raise ProblemError(
                f"{path} does not contain the weights of a detector ({error}); create it with "
                "scripts/train_tabletop_detector.py"
            ) from error

    def save(self, path: Path) -> None:
        """Write the weights to a compressed file, with half the precision."""
        halves = {name: getattr(self, name).astype(np.float16) for name in ("hidden", "output")}
        np.savez_compressed(path, **halves)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the weights."""
        return hashlib.sha256(self.hidden.tobytes() + self.output.tobytes()).hexdigest()[:16]

    def probabilities(self, patches: Floats) -> Floats:
        """Return for each patch the probability of each thing, and of nothing."""
        parts = [self._scores(patches[i : i + _CHUNK]) for i in range(0, len(patches), _CHUNK)]
        scores = np.concatenate(parts)
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))

    def _scores(self, patches: Floats) -> Floats:
        units = np.maximum(0, patches @ self.hidden[:-1] + self.hidden[-1])
        return np.asarray(units @ self.output[:-1] + self.output[-1])

    def look(self, pixels: Pixels) -> Mapping[str, Sighting]:
        """Find every thing in a picture."""
        size = pixels.shape[0] - PATCH + 1
        maps = self.probabilities(patches_of(pixels)).reshape(size, size, -1)
        windows = _window_means(maps)
        return {
            name: _sighting(
                maps[..., i], windows[..., i], _AROUND_CUP if name == CUP else _AROUND_BLOCK
            )
            for i, name in enumerate(THINGS)
        }


def patches_of(pixels: Pixels) -> Floats:
    """Return the patches around all pixels that are not too close to the border, row by row."""
    views = np.lib.stride_tricks.sliding_window_view(pixels, (PATCH, PATCH), axis=(0, 1))
    return np.asarray(views.reshape(-1, 3 * PATCH * PATCH)) - np.float32(0.5)


def _window_means(maps: Floats) -> Floats:
    """Return the mean over the window that begins at each pixel."""
    sums = np.zeros((maps.shape[0] + 1, maps.shape[1] + 1, maps.shape[2]))
    sums[1:, 1:] = maps.cumsum(axis=0).cumsum(axis=1)
    across = sums[_WINDOW:] - sums[:-_WINDOW]
    return np.asarray((across[:, _WINDOW:] - across[:, :-_WINDOW]) / _WINDOW**2)


def _sighting(probability: Floats, windows: Floats, around: int) -> Sighting:
    best = int(np.argmax(windows))
    row, column = (int(i) + _WINDOW // 2 for i in np.unravel_index(best, windows.shape))
    top, left = max(0, row - around), max(0, column - around)
    near = probability[top : row + around + 1, left : column + around + 1].astype(np.float64)
    near = near**2  # faint spots beside the thing should not move its centre
    weight = near.sum()
    row_middle = top + float(near.sum(axis=1) @ np.arange(near.shape[0])) / weight
    column_middle = left + float(near.sum(axis=0) @ np.arange(near.shape[1])) / weight
    border = PATCH // 2
    place = table_place(row_middle + border, column_middle + border)
    return Sighting(place, min(1.0, max(0.0, float(windows.flat[best]))))
