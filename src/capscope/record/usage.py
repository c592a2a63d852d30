"""What a run has spent and what it may spend, in the same six currencies.

Tokens are those of the answers that a language model gave, whether or not they came out of the
cache: a run that is repeated uses as many and ends at the same place. Cost is what was really paid
for them: a run that is repeated costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import inf
from typing import Any

from capscope.errors import CapscopeError
from capscope.record.journal import Draw
from capscope.world import Allowance

UNRECORDED_COST = "unrecorded llm_cost"
"""What was paid for draws that were interrupted: their answers are in the cache, for nothing."""


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

    @classmethod
    def of(cls, draws: Sequence[Draw], seconds: float, queries: int = 0) -> Usage:
        """Add up what draws took that were made in so many seconds."""
        return cls(
            queries,
            sum(len(draw.executions) for draw in draws),
            sum(draw.simulator_steps for draw in draws),
            sum(draw.llm_tokens for draw in draws),
            seconds,
            sum(draw.llm_cost for draw in draws),
        )

    @classmethod
    def before_asking(cls, meta: Mapping[str, Any]) -> Usage:
        """Return what a run took apart from its draws, by what its journal says of it."""
        steps = meta.get("discovery", {}).get("simulator_steps", 0)
        return cls(simulator_steps=steps, llm_cost=meta.get(UNRECORDED_COST, 0.0))

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
    llm_cost: float | None = None
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

    def allowance(self, within: Allowance | None = None) -> Allowance:
        """Return what may be spent of it on a language model."""
        tokens = inf if self.llm_tokens is None else self.llm_tokens
        cost = inf if self.llm_cost is None else self.llm_cost
        return Allowance(tokens, cost, within=within)

    def as_dict(self) -> dict[str, Any]:
        """Return every limit by name."""
        return {name: getattr(self, name) for name in CURRENCIES}
