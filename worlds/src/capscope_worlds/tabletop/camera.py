"""Pictures of the table by casting rays: what the robot's camera sees, and one for reports.

MuJoCo can tell where a ray meets the scene, so a picture needs neither a graphics card nor OpenGL.
The robot's camera looks straight down, from low enough to see the sides of blocks that are not in
the middle. Its pictures are noisy: the light varies in strength and colour, also from one end of
the table to the other, and every pixel has noise of its own.
"""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np

from capscope_worlds.tabletop.poses import (
    BLOCK_WIDTH,
    TABLE_HALF_WIDTH,
    THINGS,
    PoseArray,
)

Pixels = np.ndarray[Any, np.dtype[np.float32]]
"""Rows of pixels, red, green and blue from 0 to 1."""

VIEW_PIXELS = 48
"""Rows and columns of the robot's picture."""
CAMERA_HEIGHT = 1.1
VIEW_HALF_WIDTH = 0.24
"""Metres of the table's plane from the middle of the picture to its border."""
NOTHING = len(THINGS)
"""The label of a pixel that shows no thing."""
_BRIGHTNESS, _TINT, _TINT_ACROSS, _PIXEL_NOISE = 0.15, 0.05, 0.18, 0.03
"""Standard deviations: logarithms for the light, colour values for the pixels."""
_AMBIENT = 0.6
_REPORT_SIZE = (180, 240)
_REPORT_FROM, _REPORT_AT = (0.55, -0.28, 0.5), (0.0, 0.0, 0.02)
_REPORT_ANGLE = math.radians(33)
_BACKGROUND = 0.93
_SUN = np.array([0.25, -0.45, 0.86])


class Camera:
    """Takes pictures of poses; the hand is out of view."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model = model
        self._data = mujoco.MjData(model)
        self._data.qpos[7 * len(THINGS) :] = (3.0, 3.0, 0.2, 0.0, 0.0)
        bodies = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name) for name in THINGS]
        labels = [bodies.index(b) if b in bodies else NOTHING for b in model.geom_bodyid]
        # One more for rays that meet nothing, whose geom is -1.
        self._label_of_geom = np.array([*labels, NOTHING])
        background = np.full((1, 3), _BACKGROUND)
        self._colour_of_geom = np.concatenate([model.geom_rgba[:, :3], background])
        middles = (np.arange(VIEW_PIXELS) + 0.5) / VIEW_PIXELS * 2 - 1
        self._across = np.stack(np.meshgrid(middles, -middles), axis=-1)
        slopes = self._across.reshape(-1, 2) * VIEW_HALF_WIDTH / CAMERA_HEIGHT
        self._down = np.column_stack([slopes, -np.ones(len(slopes))])
        self._down /= np.linalg.norm(self._down, axis=1, keepdims=True)

    def view(self, poses: PoseArray, seed: int) -> tuple[Pixels, np.ndarray[Any, Any]]:
        """Return the robot's picture, and the thing that each pixel really shows.

        The picture's right is +x, its top is +y. `seed` draws light and noise.
        """
        rng = np.random.default_rng(seed)
        geoms, normals = self._cast(poses, (0.0, 0.0, CAMERA_HEIGHT), self._down)
        azimuth = rng.uniform(0, 2 * math.pi)
        sun = np.array([0.6 * math.cos(azimuth), 0.6 * math.sin(azimuth), 0.8])
        colours = self._shaded(geoms, normals, sun).reshape(VIEW_PIXELS, VIEW_PIXELS, 3)
        tint = _BRIGHTNESS * rng.standard_normal() + _TINT * rng.standard_normal(3)
        # Daylight from a window and a lamp: one end of the table is warmer than the other.
        tint = tint + self._across @ (_TINT_ACROSS * rng.standard_normal((2, 3)))
        noise = _PIXEL_NOISE * rng.standard_normal(colours.shape)
        pixels = np.clip(colours * np.exp(tint) + noise, 0, 1).astype(np.float32)
        return pixels, self._label_of_geom[geoms].reshape(VIEW_PIXELS, VIEW_PIXELS)

    def picture(self, poses: PoseArray) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Draw the table from one side in even light, for people."""
        rows, columns = _REPORT_SIZE
        toward = np.subtract(_REPORT_AT, _REPORT_FROM)
        toward /= np.linalg.norm(toward)
        right = np.cross(toward, (0.0, 0.0, 1.0))
        right /= np.linalg.norm(right)
        scale = math.tan(_REPORT_ANGLE / 2) / (rows / 2)
        down, across = np.mgrid[0:rows, 0:columns].astype(np.float64)
        across, up = (across + 0.5 - columns / 2) * scale, (rows / 2 - down - 0.5) * scale
        rays = toward + across[..., None] * right + up[..., None] * np.cross(right, toward)
        rays = rays.reshape(-1, 3) / np.linalg.norm(rays, axis=-1).reshape(-1, 1)
        geoms, normals = self._cast(poses, _REPORT_FROM, rays)
        colours = self._shaded(geoms, normals, _SUN).reshape(rows, columns, 3)
        return np.asarray(np.rint(255 * np.clip(colours, 0, 1)), dtype=np.uint8)

    def _cast(
        self, poses: PoseArray, origin: tuple[float, float, float], rays: np.ndarray[Any, Any]
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return the geom that each ray meets, -1 for none, and the surface's normal there."""
        model, data = self._model, self._data
        data.qpos[: poses.size] = poses.ravel()
        mujoco.mj_kinematics(model, data)
        count = len(rays)
        geoms, distances = np.empty(count, np.int32), np.empty(count)
        normals = np.zeros((count, 3))
        mujoco.mj_multiRay(
            model, data, np.array(origin), rays.ravel(), None, True, -1,
            geoms, distances, normals.reshape(-1), count, 1e3,
        )  # fmt: skip
        return geoms, normals

    def _shaded(
        self, geoms: np.ndarray[Any, Any], normals: np.ndarray[Any, Any], sun: np.ndarray[Any, Any]
    ) -> np.ndarray[Any, Any]:
        light = _AMBIENT + (1 - _AMBIENT) * np.maximum(0, normals @ sun)
        light[geoms < 0] = 1.0
        return np.asarray(self._colour_of_geom[geoms] * light[:, None])


def table_place(row: float, column: float) -> tuple[float, float]:
    """Return where a pixel of the robot's picture is, if it shows the top of a single block.

    >>> table_place(23.5, 23.5)
    (0.0, 0.0)
    """
    scale = 2 * VIEW_HALF_WIDTH / VIEW_PIXELS * (CAMERA_HEIGHT - BLOCK_WIDTH) / CAMERA_HEIGHT
    middle = (VIEW_PIXELS - 1) / 2
    x, y = (column - middle) * scale, (middle - row) * scale
    # Not beyond the table: the hand would wait there for something to touch.
    edge = TABLE_HALF_WIDTH
    return min(max(x, -edge), edge), min(max(y, -edge), edge)
