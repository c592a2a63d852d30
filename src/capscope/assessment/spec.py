"""What a run is started with."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from capscope.assessment.time_limit import TimeLimit
from capscope.assessment.workers import Workers
from capscope.errors import ProblemError
from capscope.journal.run_directory import versions
from capscope.journal.run_meta import Budget, RunIdentity, RunMeta
from capscope.journal.settings import Settings
from capscope.logic import ExpectedEffects, Intent
from capscope.problem import Hazard, Problem
from capscope.strategy.registry import DEFAULT_STRATEGY, STRATEGIES


@dataclass(frozen=True)
class RunSpec:
    """What a run is started with; a wrong name raises before anything is written."""

    problem: Problem
    source: str
    """How the problem is found again: a name, `file.py:factory`, or PPDDL paths."""
    strategy: str = DEFAULT_STRATEGY
    seed: int = 0
    settings: Settings = field(default_factory=Settings)
    budget: Budget = field(default_factory=Budget)
    workers: Workers | None = None
    """Where draws are made; None: in this thread."""
    limit: TimeLimit = field(default_factory=TimeLimit)
    intents: tuple[Intent, ...] = field(init=False)
    """The user's own list; empty means that intents are discovered."""
    hazards: tuple[Hazard, ...] = field(init=False)
    """What the run searches for ways into."""
    expected: ExpectedEffects = field(init=False)
    """What belongs to the intents, and is no side effect."""

    def __post_init__(self) -> None:
        intents = tuple(dict.fromkeys(map(Intent.parse, self.settings.intents)))
        for intent in intents:
            intent.test(self.problem.vocabulary)  # raises for an unknown atom
        object.__setattr__(self, "intents", intents)
        words = self.problem.vocabulary
        hazards = tuple(Hazard.parse(text, words) for text in self.settings.hazards)
        object.__setattr__(self, "hazards", hazards)
        object.__setattr__(self, "expected", ExpectedEffects(self.settings.expected, words))
        number = 1 if self.workers is None else self.workers.number
        strategy = STRATEGIES.find(self.strategy)
        # If all draws of a query execute one policy, they are what workers share.
        sharing = 1 if strategy.repeats_policy else number
        object.__setattr__(self, "settings", self.settings.with_batch_for(sharing))
        strategy.check(self.settings, number)

    @classmethod
    def continuing(
        cls,
        meta: RunMeta,
        problem: Problem,
        budget: Budget | None = None,
        workers: Workers | None = None,
    ) -> RunSpec:
        """Return what an existing run was started with, but for the budget and the workers."""
        was, budget = meta.identity, budget or meta.budget
        return cls(problem, was.source, was.strategy, was.seed, was.settings, budget, workers)

    @property
    def identity(self) -> RunIdentity:
        """What must not change between start and resume."""
        limits = self.problem.limits
        return RunIdentity(
            self.source,
            self.problem.fingerprint,
            self.problem.vocabulary.fingerprint,
            self.strategy,
            self.seed,
            limits.temporal_length,
            limits.horizon,
            limits.reset_every,
            self.settings,
        )

    def meta(self) -> RunMeta:
        """Return what a new journal says about the run."""
        return RunMeta(
            self.identity, self.problem.name, self.problem.vocabulary, self.budget, versions()
        )


def with_declared(settings: Settings, problem: Problem) -> Settings:
    """Add what a problem declares; it is recorded, whatever the problem says later.

    Intents that the user names replace those of the problem.
    """
    for name in ("hazards", "intents", "expected"):
        if isinstance(getattr(problem, name), str):
            raise ProblemError(
                f"the {name} of a problem are a list, like [{getattr(problem, name)!r}]"
            )
    return replace(
        settings,
        hazards=tuple(dict.fromkeys([*settings.hazards, *problem.hazards])),
        intents=settings.intents or tuple(problem.intents),
        expected=tuple(dict.fromkeys([*settings.expected, *problem.expected])),
    )
