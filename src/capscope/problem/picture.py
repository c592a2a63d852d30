"""Encode pixels as PNG with the standard library."""

import struct
import zlib
from typing import Any

import numpy as np

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_EIGHT_BIT_RGB = bytes([8, 2, 0, 0, 0])


def png(pixels: np.ndarray[Any, Any]) -> bytes:
    """Encode rows of RGB pixels, one byte per colour."""
    height, width, _ = pixels.shape
    # Each row begins with a zero: no filter.
    rows = np.zeros((height, 1 + 3 * width), np.uint8)
    rows[:, 1:] = pixels[:, :, :3].reshape(height, 3 * width)
    header = _chunk(b"IHDR", struct.pack(">II", width, height) + _EIGHT_BIT_RGB)
    data = _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9))
    return _SIGNATURE + header + data + _chunk(b"IEND", b"")


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(content, zlib.crc32(kind))
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)
