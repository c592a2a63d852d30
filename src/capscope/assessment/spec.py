"""What a run is started with."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from capscope.errors import RunError
from capscope.record.run_directory import versions
from capscope.record.settings import Settings
from capscope.record.usage import Budget
from capscope.strategy.registry import ADAPTIVE, DEFAULT_STRATEGY, check_strategy
from capscope.symbolic import Intent
from capscope.world import Problem


@dataclass(frozen=True)
class RunSpec:
    """What a run is started with."""

    problem: Problem
    source: str
    """How the problem is found again: a name, `file.py:factory`, or PPDDL paths."""
    strategy: str = DEFAULT_STRATEGY
    seed: int = 0
    settings: Settings = field(default_factory=Settings)
    budget: Budget = field(default_factory=Budget)
    colleagues: tuple[Problem, ...] = ()
    """Further copies of the problem, on which draws are made side by side."""

    @cached_property
    def intents(self) -> tuple[Intent, ...]:
        """The user's own list; empty means that intents are discovered."""
        intents = tuple(dict.fromkeys(map(Intent.parse, self.settings.intents)))
        for intent in intents:
            self.problem.vocabulary.literal_masks(intent.literals)  # names an unknown atom
        return intents

    @property
    def longest_draw(self) -> int:
        """The most executions in one draw."""
        random = self.strategy == "random"
        return self.settings.random_length if random else self.settings.depth

    def check(self) -> None:
        """Find a wrong name before anything is written."""
        check_strategy(self.strategy)
        workers, batch = 1 + len(self.colleagues), self.settings.batch
        if self.strategy == ADAPTIVE and workers > batch:
            raise RunError(
                f"workers share the draws of a batch: {workers} workers need --batch {workers} or "
                f"more, not {batch}"
            )
        _ = self.intents

    def identity(self) -> dict[str, Any]:
        """Return what must not change between start and resume."""
        limits = self.problem.limits
        return {
            "problem": self.source,
            "problem fingerprint": self.problem.fingerprint,
            "vocabulary": self.problem.vocabulary.fingerprint,
            "strategy": self.strategy,
            "seed": self.seed,
            "temporal length": limits.temporal_length,
            "horizon": limits.horizon,
            "reset every": limits.reset_every,
            "settings": self.settings.as_dict(),
        }

    def meta(self) -> dict[str, Any]:
        """Return what the journal says of the run from the beginning."""
        return {
            "identity": self.identity(),
            "name": self.problem.name,
            "vocabulary": self.problem.vocabulary.as_dict(),
            "budget": self.budget.as_dict(),
            "versions": versions(),
        }
