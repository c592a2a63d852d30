"""Limit the size of a report, which is one file although a run may have ten thousand rules.

Each part gets a share of the size, the most important content comes first, and what does not fit is
counted and mentioned. Sizes are those of the digest as JSON.
"""

from __future__ import annotations

import json
from dataclasses import asdict

WHOLE = 2_400_000
"""Characters of a digest, not counting parts that are always small: summary, curve, facts."""


class SizeBudget:
    """The number of characters left, possibly within a larger budget.

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
        """The number of characters that may still be taken."""
        return self._left if self._within is None else min(self._left, self._within.left)

    def part(self, most: int) -> SizeBudget:
        """Return a budget of at most this many; what it does not use stays with the whole."""
        return SizeBudget(most, self)

    def take(self, *values: object) -> bool:
        """Reserve the size of all these values, or return False if they do not fit."""
        size = sum(map(_written_size, values))
        if size > self.left:
            return False
        self._spend(size)
        return True

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._within is not None:
            self._within._spend(size)


def _written_size(value: object) -> int:
    """Return the length of a value as JSON, including the comma and the space after it."""
    return len(json.dumps(value, default=asdict)) + 2


def shortened(text: str, most: int) -> str:
    """Cut the middle out of a text that is too long.

    >>> shortened("abcdefghij", 6)
    'ab\\n[… 4 characters omitted …]\\nghij'
    """
    if len(text) <= most:
        return text
    head = most // 3
    tail = len(text) - (most - head)
    return f"{text[:head]}\n[… {tail - head:,} characters omitted …]\n{text[tail:]}"


def brief(number: float) -> float:
    """Round to six digits, which keeps the file small and is more than a reader can see.

    >>> brief(2 / 3), brief(0.99999)
    (0.666667, 0.99999)
    """
    return float(f"{number:.6g}")
