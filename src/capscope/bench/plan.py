"""What is measured when nothing else is asked for: problems, strategies and budgets.

On the small problems every run goes to its own stop. A budget bounds what would take hours: on the
large problems MCQS and Random Query may execute a capability half a million times, MCQS-E searches
longer for each query than the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from capscope.assessment import Budget
from capscope.bench.measure import SEQUENCES
from capscope.query import STRATEGIES

_LARGE: Mapping[str, Budget] = {
    "adaptive": Budget(executions=130_000),
    "mcqs-s": Budget(executions=500_000),
    "random": Budget(executions=500_000),
}


@dataclass(frozen=True)
class Case:
    """A problem, the strategies to run on it, and what each may spend."""

    problem: str
    strategies: tuple[str, ...] = STRATEGIES
    budgets: Mapping[str, Budget] = field(default_factory=dict)
    sequences: int = SEQUENCES
    """Random capability sequences in its independent dataset."""

    def budget(self, strategy: str) -> Budget:
        """Return what a strategy may spend; no bound if none is given."""
        return self.budgets.get(strategy, Budget())


CASES = (
    Case("blocksworld"),
    Case("tireworld"),
    Case("first-responders", budgets={"mcqs-e": Budget(executions=50_000)}),
    Case("probabilistic-elevators", tuple(_LARGE), _LARGE),
    Case("depot", tuple(_LARGE), _LARGE),
)
SEEDS = 5
_FEWER: Mapping[str, tuple[str, ...]] = {
    "ablation": ("blocksworld", "tireworld", "first-responders"),
    "peers": ("blocksworld",),
}
"""Experiments that are made on some of the problems only: those of the paper, those feasible."""


def cases_of(suite: str) -> tuple[Case, ...]:
    """Return the cases that an experiment is made on when none is named."""
    chosen = _FEWER.get(suite)
    return tuple(case for case in CASES if chosen is None or case.problem in chosen)
