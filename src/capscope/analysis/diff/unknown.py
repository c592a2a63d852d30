"""What cannot be compared, and why: unknown is never a difference."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from capscope.symbolic import Intent


class Reason(StrEnum):
    """Why nothing can be said of a capability."""

    ONLY_A = "only A's run asked for it"
    ONLY_B = "only B's run asked for it"
    WORDS = "it speaks of an atom that one of the vocabularies does not have"
    APART = "never tried on both sides in the same state, its intent not holding"
    FEW = "too few draws in the same states for any difference to show (--min-draws makes more)"


@dataclass(frozen=True, slots=True)
class Unknown:
    """A capability of which it is unknown whether it changed."""

    capability: Intent
    reason: Reason
    draws_a: int = 0
    draws_b: int = 0
    """Draws, on each side, in states where the intent did not hold and both sides tried."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return {
            "capability": str(self.capability),
            "reason": str(self.reason),
            "draws a": self.draws_a,
            "draws b": self.draws_b,
        }
