"""What is measured when nothing else is asked for: problems, strategies and budgets.

On the small problems every run goes to its own stop. A budget bounds what would take hours: on the
large problems MCQS and Random Query get as many executions as the adaptive strategy needs. Random
Query on first responders takes a quarter of an hour to its cut, so it has fewer seeds there, and so
have all strategies on the large problems.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from capscope.assessment import Budget
from capscope.strategy import STRATEGIES
from capscope_experiments.measure import SEQUENCES

_LARGE: Mapping[str, Budget] = {
    "adaptive": Budget(executions=130_000),
    "mcqs-s": Budget(executions=100_000),
    "random": Budget(executions=100_000),
}
_GRID: Mapping[str, Budget] = {
    "adaptive": Budget(executions=20_000),
    "mcqs-s": Budget(executions=20_000),
    "mcqs-e": Budget(executions=20_000),
}


@dataclass(frozen=True)
class Case:
    """A problem, the strategies to run on it, and what each may spend."""

    problem: str
    strategies: tuple[str, ...] = STRATEGIES
    budgets: Mapping[str, Budget] = field(default_factory=dict)
    sequences: int = SEQUENCES
    """Random capability sequences in its independent dataset."""
    most_seeds: Mapping[str, int] = field(default_factory=dict)
    """For strategies whose runs take too long to make all of them."""

    def budget(self, strategy: str) -> Budget:
        """Return what a strategy may spend; no bound if none is given."""
        return self.budgets.get(strategy, Budget())


_FEW: Mapping[str, int] = {"adaptive": 2, "mcqs-s": 1, "random": 1}
_RESPONDERS: Mapping[str, Budget] = {"mcqs-e": Budget(executions=50_000)}
CASES = (
    Case("blocksworld"),
    Case("tireworld"),
    Case("first-responders", budgets=_RESPONDERS, most_seeds={"random": 2}),
    Case("probabilistic-elevators", tuple(_LARGE), _LARGE, most_seeds=_FEW),
    Case("depot", tuple(_LARGE), _LARGE, most_seeds=_FEW),
    Case("minigrid-q", budgets=_GRID, sequences=5000),
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
