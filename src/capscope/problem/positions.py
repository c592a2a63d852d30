"""Saved positions: what restores a position of the simulator, what identifies it, its picture.

A snapshot that records how to get to a position (a seed and the actions since) is different for
every way there. So a simulator may also name its position; otherwise the snapshot is the name, or
its digest if it is long.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from typing import Any, NamedTuple

import numpy as np

from capscope.errors import ProblemError
from capscope.problem.problem import Simulator, Snapshot

LONGEST_NAME = 1024
LARGEST_SNAPSHOT = 64 * 1024**2
"""In bytes."""
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_EIGHT_BIT_RGB = bytes([8, 2, 0, 0, 0])


class SavedPosition(NamedTuple):
    """A position that can be restored."""

    snapshot: Snapshot
    name: bytes
    """Equal for equal positions, however they were reached."""

    @classmethod
    def unnamed(cls, snapshot: Snapshot) -> SavedPosition:
        """Return a position that its snapshot identifies.

        >>> SavedPosition.unnamed(b"at 0").name
        b'at 0'
        """
        short = len(snapshot) <= LONGEST_NAME
        return cls(snapshot, snapshot if short else hashlib.sha256(snapshot).digest())


def save_position(simulator: Simulator) -> SavedPosition:
    """Save the current position of a simulator."""
    snapshot = simulator.snapshot()
    if not isinstance(snapshot, bytes):
        raise ProblemError(
            f"snapshot() returned {type(snapshot).__name__}, not bytes; encode the position, for "
            "example with capscope.problem.plain_values.to_bytes"
        )
    if len(snapshot) > LARGEST_SNAPSHOT:
        raise ProblemError(
            f"snapshot() returned {len(snapshot):,} bytes, more than {LARGEST_SNAPSHOT:,}; leave "
            "out what restore() can compute"
        )
    # Called after every execution, and checking for a protocol is slow.
    position_name = getattr(simulator, "position_name", None)
    name = None if position_name is None else position_name()
    if name is None:
        return SavedPosition.unnamed(snapshot)
    if not isinstance(name, bytes):
        raise ProblemError(f"position_name() returned {type(name).__name__}, not bytes or None")
    return SavedPosition(snapshot, name)


def png(pixels: np.ndarray[Any, Any]) -> bytes:
    """Encode rows of RGB pixels, one byte per colour, as PNG."""
    height, width, _ = pixels.shape
    # Each row begins with a zero: no filter.
    rows = np.zeros((height, 1 + 3 * width), np.uint8)
    rows[:, 1:] = pixels[:, :, :3].reshape(height, 3 * width)
    header = _chunk(b"IHDR", struct.pack(">II", width, height) + _EIGHT_BIT_RGB)
    data = _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9))
    return _PNG_SIGNATURE + header + data + _chunk(b"IEND", b"")


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(content, zlib.crc32(kind))
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)
