"""How much fits into a report.

A report is one file that is opened at once. A run may have ten thousand rules and a thousand
transcripts of a thousand lines; so each part gets a share, what matters most comes first in it, and
what does not fit is counted and said. Sizes are those of the JSON in which the digest is written.
"""

from __future__ import annotations

import json
from dataclasses import asdict

WHOLE = 2_400_000
"""Characters of a whole digest, but for what is always small: the summary, the curve, the facts."""


class SizeBudget:
    """Characters that are left, within those of a larger room.

    >>> whole = SizeBudget(20)
    >>> part = whole.part(12)
    >>> part.take("words"), part.take("words"), whole.left
    (True, False, 11)
    """

    def __init__(self, characters: int, within: SizeBudget | None = None) -> None:
        self._left = characters
        self._within = within

    @property
    def left(self) -> int:
        """What may still be written."""
        return self._left if self._within is None else min(self._left, self._within.left)

    def part(self, most: int) -> SizeBudget:
        """Set aside at most so much; what is not taken stays with the whole."""
        return SizeBudget(most, self)

    def take(self, *values: object) -> bool:
        """Make room for all of these values or for none, and say whether there was enough."""
        size = sum(map(written_size, values))
        if size > self.left:
            return False
        self._give(size)
        return True

    def _give(self, size: int) -> None:
        self._left -= size
        if self._within is not None:
            self._within._give(size)


def written_size(value: object) -> int:
    """Return the length of a value in JSON, with the comma and the space behind it."""
    return len(json.dumps(value, default=asdict)) + 2


def shortened(text: str, most: int) -> str:
    """Leave out the middle of a text that is too long, and say how much that was.

    >>> shortened("abcdefghij", 6)
    'ab\\n[… 4 characters left out …]\\nghij'
    """
    if len(text) <= most:
        return text
    head = most // 3
    tail = len(text) - (most - head)
    return f"{text[:head]}\n[… {tail - head:,} characters left out …]\n{text[tail:]}"
