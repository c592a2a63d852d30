"""What a run has spent and what it may spend, in the same six currencies.

Tokens count every answer of a language model, cached or not, so a repeated run ends at the same
place. Cost is what was really paid: a repeated run costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from math import inf

from capscope.errors import CapscopeError
from capscope.problem import Allowance


@dataclass(frozen=True, slots=True)
class Usage:
    """What was spent."""

    queries: int = 0
    executions: int = 0
    simulator_steps: int = 0
    llm_tokens: int = 0
    seconds: float = 0.0
    llm_cost: float = 0.0
    """In the currency of the prices."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, name) + getattr(other, name) for name in CURRENCIES))


CURRENCIES = tuple(currency.name for currency in fields(Usage))


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be spent; None means no limit."""

    queries: int | None = None
    executions: int | None = None
    simulator_steps: int | None = None
    llm_tokens: int | None = None
    seconds: float | None = None
    llm_cost: float | None = None
    limits: tuple[tuple[str, float], ...] = field(init=False, repr=False, compare=False)
    """The currencies that are limited, each with its limit."""

    def __post_init__(self) -> None:
        limits = tuple((n, left) for n in CURRENCIES if (left := getattr(self, n)) is not None)
        object.__setattr__(self, "limits", limits)
        for name, allowed in limits:
            if not allowed >= 0:
                raise CapscopeError(f"a budget of {allowed} {name} cannot be spent")

    def spent_by(self, usage: Usage) -> str | None:
        """Return the first currency that is used up; None if something is left of each."""
        for name, allowed in self.limits:
            if getattr(usage, name) >= allowed:
                return name
        return None

    def left_after(self, usage: Usage) -> Budget:
        """Return what is left after some usage."""
        left = {name: max(allowed - getattr(usage, name), 0) for name, allowed in self.limits}
        return Budget(**left)

    def allowance(self, within: Allowance | None = None) -> Allowance:
        """Return what may be spent on a language model."""
        tokens = inf if self.llm_tokens is None else self.llm_tokens
        cost = inf if self.llm_cost is None else self.llm_cost
        return Allowance(tokens, cost, within=within)
