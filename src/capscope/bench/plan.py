"""What is measured when nothing else is asked for: problems, strategies and budgets.

On the small problems every run goes to its own stop. A budget bounds what would take hours: on the
large problems MCQS and Random Query may execute a capability half a million times, MCQS-E searches
longer for each query than the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from capscope.assessment import Budget
from capscope.query import STRATEGIES

_LARGE: Mapping[str, Budget] = {
    "adaptive": Budget(executions=200_000),
    "mcqs-s": Budget(executions=500_000),
    "random": Budget(executions=500_000),
}


@dataclass(frozen=True)
class Case:
    """A problem, the strategies to run on it, and what each may spend."""

    problem: str
    strategies: tuple[str, ...] = STRATEGIES
    budgets: Mapping[str, Budget] = field(default_factory=dict)

    def budget(self, strategy: str) -> Budget:
        """Return what a strategy may spend; no bound if none is given."""
        return self.budgets.get(strategy, Budget())


CASES = (
    Case("blocksworld"),
    Case("tireworld"),
    Case("first-responders", budgets={"mcqs-e": Budget(executions=100_000)}),
    Case("probabilistic-elevators", tuple(_LARGE), _LARGE),
    Case("depot", tuple(_LARGE), _LARGE),
)
ABLATED = ("blocksworld", "tireworld", "first-responders")
"""The problems of the paper's ablation."""
SEEDS = 5
