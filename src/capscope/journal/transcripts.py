"""Compress the transcripts of attempts, which are long, similar and rarely read.

Compressed separately, each would contain the prompt that all attempts share. So the first
transcript of a journal is the dictionary of all others, and what they share with it takes a few
bytes.

A transcript has at most `LONGEST` bytes, of which the rest is left out when it is stored. So what
unpacks to more was not stored by capscope, and is not unpacked: a few kilobytes can become
gigabytes.
"""

import zlib

LONGEST = 4 * 1024**2
"""Bytes of a transcript, unpacked."""

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
    data = text.encode(errors="backslashreplace")
    if len(data) > LONGEST:
        note = f"\n… (the rest of {len(data):,} bytes is omitted)".encode()
        data = data[: LONGEST - len(note)].decode(errors="ignore").encode() + note
    return compressor.compress(data) + compressor.flush()


def unpacked(blob: bytes, dictionary: bytes) -> str:
    """Return the text; the dictionary is ignored if it was packed without one."""
    decompressor = zlib.decompressobj(zdict=dictionary[:_WINDOW])
    try:
        text = decompressor.decompress(blob, LONGEST + 1)
    except zlib.error as error:
        raise ValueError(f"a transcript cannot be decompressed: {error}") from error
    if len(text) > LONGEST:
        raise ValueError(f"a transcript has more than {LONGEST:,} bytes")
    if not decompressor.eof:
        raise ValueError("a transcript is incomplete")
    return text.decode()
