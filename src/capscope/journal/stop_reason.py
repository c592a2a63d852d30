"""Why a run ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class StopKind(StrEnum):
    """The kinds of reasons for which a run ends."""

    NO_NEWS = "no news"
    """A number of queries in a row taught nothing new."""
    SETTLED = "nothing left to settle"
    """The evidence supports the statement that was asked for."""
    AUDITED = "audit passed"
    """An audit supports the statement that was asked for."""
    BUDGET = "budget"
    """A budget was spent; `detail` names its currency."""
    OTHER = "other"
    """A reason of a strategy's own; `detail` says it."""


@dataclass(frozen=True, slots=True)
class StopReason:
    """A reason with its data.

    >>> str(StopReason.budget("executions"))
    'budget of executions spent'
    """

    kind: StopKind
    detail: str = ""

    @classmethod
    def budget(cls, currency: str) -> StopReason:
        """Return that a budget was spent."""
        return cls(StopKind.BUDGET, currency)

    def __str__(self) -> str:
        if self.kind is StopKind.BUDGET:
            return f"budget of {self.detail} spent"
        return self.detail if self.kind is StopKind.OTHER else str(self.kind)
