"""Pixels to PNG by pygame, which minigrid brings along for its own windows."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pygame


def png(pixels: np.ndarray[Any, Any]) -> bytes:
    """Encode rows of RGB pixels."""
    # pygame counts columns first.
    surface = pygame.surfarray.make_surface(pixels.swapaxes(0, 1))
    written = io.BytesIO()
    pygame.image.save(surface, written, "grid.png")
    return written.getvalue()
