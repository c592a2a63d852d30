"""Keep the transcripts of attempts small: they are long, much alike, and rarely read.

Compressed one by one, each would carry the whole of what the agent is told every time. So the first
transcript of a journal is the dictionary of all others, and what they share with it costs a few
bytes.
"""

from __future__ import annotations

import zlib

_WINDOW = 32_000
"""Bytes of a dictionary that zlib can look back on; what is said each time comes first."""


def packed(text: str, dictionary: bytes) -> bytes:
    """Compress a text; `dictionary` is empty for the first one.

    >>> unpacked(packed("Go north.", b"Go south."), b"Go south.")
    'Go north.'
    """
    if dictionary:
        compressor = zlib.compressobj(level=9, zdict=dictionary[:_WINDOW])
    else:
        compressor = zlib.compressobj(level=9)
    # Half a surrogate pair must not keep a draw from being written down.
    return compressor.compress(text.encode(errors="backslashreplace")) + compressor.flush()


def unpacked(blob: bytes, dictionary: bytes) -> str:
    """Return the text; one that was packed without a dictionary needs none, and ignores it."""
    decompressor = zlib.decompressobj(zdict=dictionary[:_WINDOW])
    try:
        text = decompressor.decompress(blob) + decompressor.flush()
    except zlib.error as error:
        raise ValueError(f"a transcript that cannot be unpacked: {error}") from error
    if not decompressor.eof:
        raise ValueError("half a transcript")
    return text.decode()
