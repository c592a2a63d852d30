"""What a run has spent and what it may spend, in the same five currencies."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from capscope.errors import CapscopeError


@dataclass(frozen=True, slots=True)
class Usage:
    """What was spent."""

    queries: int = 0
    executions: int = 0
    simulator_steps: int = 0
    llm_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, name) + getattr(other, name) for name in CURRENCIES))


CURRENCIES = tuple(currency.name for currency in fields(Usage))


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be spent; None is without limit."""

    queries: int | None = None
    executions: int | None = None
    simulator_steps: int | None = None
    llm_tokens: int | None = None
    seconds: float | None = None
    limits: tuple[tuple[str, float], ...] = field(init=False, repr=False, compare=False)
    """The currencies that are limited, with what is allowed of each."""

    def __post_init__(self) -> None:
        limits = tuple((n, left) for n in CURRENCIES if (left := getattr(self, n)) is not None)
        object.__setattr__(self, "limits", limits)
        for name, allowed in limits:
            if not allowed >= 0:
                raise CapscopeError(f"a budget of {allowed} {name} cannot be spent")

    def spent_by(self, usage: Usage) -> str | None:
        """Name the first currency that is used up; None while something is left of each."""
        for name, allowed in self.limits:
            if getattr(usage, name) >= allowed:
                return name
        return None

    def left_after(self, usage: Usage) -> Budget:
        """Return what is left once some of it is spent."""
        left = {name: max(allowed - getattr(usage, name), 0) for name, allowed in self.limits}
        return Budget(**left)

    def as_dict(self) -> dict[str, Any]:
        """Return every limit by name."""
        return {name: getattr(self, name) for name in CURRENCIES}
