"""The settings of QACE."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from capscope.errors import CapscopeError
from capscope.journal.run_meta import Budget
from capscope.logic import to_json


@dataclass(frozen=True, slots=True)
class QaceSettings:
    """The settings of a run; only the budget may change when it is continued."""

    seed: int = 0
    compiled: bool = True
    """Whether disjunctive conditions are compiled into separate capabilities."""
    split: bool = True
    """Whether a disjunct is compiled further if flips show that it is not a conjunction."""
    runs_per_effect: int = 25
    """Executions of a policy simulation query, in a state where the capability works."""
    runs_per_flip: int = 5
    """Minimum executions of a query that flips a literal."""
    checks: int = 10
    """States checked afterwards in which the model says that it works, and as many others."""
    risk: float = 1e-3
    """The probability that a capability that works shows no effect in a query, and that one in the
    class is rejected."""
    budget: Budget = field(default_factory=lambda: Budget(seconds=3600))

    def __post_init__(self) -> None:
        for name, least in (("runs_per_effect", 1), ("runs_per_flip", 1), ("checks", 0)):
            if getattr(self, name) < least:
                raise CapscopeError(f"{name} must be at least {least}, not {getattr(self, name)}")
        if not 0 < self.risk < 1:
            raise CapscopeError(f"risk must be between 0 and 1, not {self.risk}")

    def as_dict(self) -> dict[str, Any]:
        """Return every setting by name, as JSON-ready values."""
        return {**asdict(self), "budget": to_json(self.budget)}
