"""Compress the transcripts of attempts, which are long, similar and rarely read.

Compressed separately, each would contain the prompt that all attempts share. So the first
transcript of a journal is the dictionary of all others, and what they share with it takes a few
bytes.
"""

import zlib

_WINDOW = 32_000
"""Bytes of a dictionary that zlib can use; the shared prompt is at the beginning."""


def packed(text: str, dictionary: bytes) -> bytes:
    """Compress a text; `dictionary` is empty for the first one.

    >>> unpacked(packed("Go north.", b"Go south."), b"Go south.")
    'Go north.'
    """
    if dictionary:
        compressor = zlib.compressobj(level=9, zdict=dictionary[:_WINDOW])
    else:
        compressor = zlib.compressobj(level=9)
    # A lone surrogate must not prevent a draw from being recorded.
    return compressor.compress(text.encode(errors="backslashreplace")) + compressor.flush()


def unpacked(blob: bytes, dictionary: bytes) -> str:
    """Return the text; the dictionary is ignored if it was packed without one."""
    decompressor = zlib.decompressobj(zdict=dictionary[:_WINDOW])
    try:
        text = decompressor.decompress(blob) + decompressor.flush()
    except zlib.error as error:
        raise ValueError(f"a transcript cannot be decompressed: {error}") from error
    if not decompressor.eof:
        raise ValueError("a transcript is incomplete")
    return text.decode()
