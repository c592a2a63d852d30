"""Why a run ended."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

_SPENT = "budget of {} spent"


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
            return _SPENT.format(self.detail)
        return self.detail if self.kind is StopKind.OTHER else str(self.kind)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return asdict(self)

    @classmethod
    def from_stored(cls, stored: str | dict[str, Any]) -> StopReason:
        """Read it back; format 1 of the journal stored the sentence.

        >>> StopReason.from_stored("budget of llm_tokens spent").detail
        'llm_tokens'
        """
        if not isinstance(stored, str):
            return cls(StopKind(stored["kind"]), stored["detail"])
        before, after = _SPENT.split("{}")
        if stored.startswith(before) and stored.endswith(after):
            return cls.budget(stored.removeprefix(before).removesuffix(after))
        known = (StopKind.NO_NEWS, StopKind.SETTLED, StopKind.AUDITED)
        kind = next((kind for kind in known if kind == stored), None)
        return cls(StopKind.OTHER, stored) if kind is None else cls(kind)
