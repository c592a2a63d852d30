"""From how many initial positions a run began, and whether a reset leads to more.

A reset that draws where it leads (a passenger's place, a layout) makes many worlds of one. What a
run says is said of what can be met from where it began, and whoever reads it has to know that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

META = "beginnings"


@dataclass(frozen=True)
class InitialPositions:
    """The initial positions of a run."""

    positions: int
    others: bool
    """One more reset led to a position that is none of them."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return asdict(self)

    @classmethod
    def of(cls, meta: Mapping[str, Any]) -> InitialPositions:
        """Read it from what a journal says of its run; older ones began at one, unexamined."""
        return cls(**meta.get(META, {"positions": 1, "others": False}))
