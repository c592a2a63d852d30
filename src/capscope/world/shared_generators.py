"""The random generators that all of a process shares, and whether somebody drew from them.

No seed of a reset or a restore reaches them, so whoever draws from them cannot be repeated. That
shows in their states, which nobody else should touch while a problem is being checked.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class SharedGenerators:
    """Where they stand."""

    python: object
    numpy: object

    @classmethod
    def now(cls) -> SharedGenerators:
        """Look at both."""
        _, words, *rest = np.random.get_state(legacy=True)
        return cls(random.getstate(), (np.asarray(words).tobytes(), rest))

    def drawn_since(self, before: SharedGenerators) -> list[str]:
        """Name those that were drawn from."""
        drawn = []
        if self.python != before.python:
            drawn.append("Python's global random")
        if self.numpy != before.numpy:
            drawn.append("NumPy's global np.random")
        return drawn
