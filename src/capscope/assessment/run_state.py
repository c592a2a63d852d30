"""What a run is started with, and everything it knows while it is under way.

All of it is derived from the journal. Live and resumed runs go through `absorb`, so there is no
second way in which a resumed run could come to know something.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from capscope.assessment.discovery import intents_of
from capscope.assessment.known_positions import CARRIED, KnownPositions, after_reset
from capscope.assessment.time_limit import TimeLimit, interrupted_at
from capscope.assessment.workers import Workers
from capscope.errors import ProblemError, RunError
from capscope.journal.draws import Draw, QueryRecord, Start
from capscope.journal.execution_table import ExecutionTable, LastExecution, Transition
from capscope.journal.experience import Experience
from capscope.journal.journal import Journal
from capscope.journal.run_directory import versions
from capscope.journal.run_meta import Budget, RunIdentity, RunMeta, StopReason, Usage
from capscope.journal.settings import Settings
from capscope.logic import Effect, ExpectedEffects, Intent, State
from capscope.model import LearnedModel, StateGraph
from capscope.model.lessons import Lessons, SharedPredicates
from capscope.problem import Ending, Hazard, Problem
from capscope.problem.positions import SavedPosition
from capscope.strategy.base import DrawEnd, QueryResult, StrategyContext
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
    experience: Experience | None = None
    """What another run observed, whose rules it starts from."""
    carried: Mapping[State, SavedPosition] = field(default_factory=dict)
    """Positions of that run, to be kept if they can be restored here."""
    intents: tuple[Intent, ...] = field(init=False)
    """The user's own list; empty means that intents are discovered."""
    hazards: tuple[Hazard, ...] = field(init=False)
    """The hazards that the run searches for."""
    expected: ExpectedEffects = field(init=False)
    """What belongs to the intents and is not a side effect."""

    def __post_init__(self) -> None:
        self._check_baseline()
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
        if self.experience is not None:
            if not strategy.takes_lessons:
                names = ", ".join(n for n, one in STRATEGIES.all.items() if one.takes_lessons)
                raise RunError(
                    f"the strategy {self.strategy} cannot start from another run; use {names}"
                )
            SharedPredicates.of(self.experience.vocabulary, words)
        # If all draws of a query execute one policy, they are what workers share.
        sharing = 1 if strategy.repeats_policy else number
        object.__setattr__(self, "settings", self.settings.with_batch_for(sharing))
        strategy.check(self.settings, number)

    def _check_baseline(self) -> None:
        source = self.experience
        if source is None or not STRATEGIES.find(self.strategy).compares:
            return
        if source.vocabulary.fingerprint != self.problem.vocabulary.fingerprint:
            raise RunError(
                f"{self.problem.name} and its baseline {source.problem} have different predicates "
                "or objects; compare versions of one vocabulary"
            )

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
        return cls(
            problem, was.source, was.strategy, was.seed, was.settings, budget, workers,
            experience=meta.experience,
        )  # fmt: skip

    def lessons(self) -> Lessons | None:
        """Learn from what the run starts from; None if it starts from nothing."""
        if self.experience is None:
            return None
        return LearnedModel.of_experience(self.experience).lessons_for(self.problem.vocabulary)

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
            "" if self.experience is None else self.experience.name,
        )

    def meta(self) -> RunMeta:
        """Return what a new journal says about the run."""
        return RunMeta(
            self.identity, self.problem.name, self.problem.vocabulary, self.budget, versions(),
            experience=self.experience,
        )  # fmt: skip


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


class RunState:
    """The graph, the strategy and the positions of a run."""

    def __init__(
        self, spec: RunSpec, meta: RunMeta, journal: Journal, initial: Sequence[Start]
    ) -> None:
        self.spec = spec
        self.journal = journal
        self.usage = meta.discovery_usage
        self.graph = StateGraph(spec.problem.vocabulary)
        self.graph.expected = spec.expected
        self.graph.extend(journal.intents()[: meta.discovered or 0])
        self.positions = KnownPositions(initial, journal, spec.settings, spec.seed, self._reset)
        for start in initial:
            self.graph.node(start.state)
        self.lessons = None if STRATEGIES.find(spec.strategy).compares else spec.lessons()
        self.strategy = STRATEGIES.find(spec.strategy).begin(
            StrategyContext(
                self.graph, spec.settings, spec.seed, self.positions,
                spec.problem.limits.reset_every, str(journal.path), spec.hazards, self.lessons,
                spec.experience, journal.states_kept_in(CARRIED),
            )
        )  # fmt: skip
        self._effects: set[Effect] = set()

    def _reset(self, seed: int) -> Start:
        ends = self.spec.limit.asking_ends
        return interrupted_at(ends, lambda: after_reset(self.spec.problem, seed))

    @property
    def begins_with_resets(self) -> bool:
        """Whether each draw begins with a reset of its own, as those of an audit do."""
        audits = self.strategy.audit is not None and self.strategy.audit.length > 0
        return audits or STRATEGIES.find(self.spec.strategy).compares

    def replay(self, table: ExecutionTable) -> ExecutionTable:
        """Absorb the finished queries of a table, as if they were made now, and return them."""
        finished = int(table.queries.finished.cumprod().sum())
        past = table.first_queries(finished)
        visited, visits = np.unique(past.after[past.moved], return_counts=True)
        for state, number in zip(visited.tolist(), visits.tolist(), strict=True):
            self.positions.reservoir.count_past_visits(past.states[state], number)
        informative = past.queries.informative.tolist()
        for number, transitions in enumerate(past.transitions_by_query()):
            # Only an audit needs them, and looking them up takes time.
            lasts = past.last_executions(number) if self.strategy.audit is not None else ()
            starts = past.starts(number) if self.begins_with_resets else ()
            self.positions.count_past_resets(starts)
            resets = [state for state, _ in starts]
            if number + 1 == finished:
                record = self.journal.query(number)
                assert record is not None, "the table has no query that the journal lacks"
                ends = _ends(self.journal.draws(number), record.start.state)
                self._learn(transitions, record.informative, lasts, resets, record.distance, ends)
            else:
                self._learn(transitions, informative[number], lasts, resets)
        self.usage += past.queries.usage()
        return past

    def absorb(self, record: QueryRecord, draws: Sequence[Draw], seconds: float) -> None:
        """Take in the recorded draws of a query that was just executed."""
        transitions = Counter(
            Transition(attempt.trajectory[0], capability, attempt.trajectory[-1])
            for draw in draws
            for capability, attempt in draw.executions
            if attempt.ending is not Ending.CUT
        )
        ends = _ends(draws, record.start.state)
        resets = (
            [draw.executions[0].attempt.trajectory[0] for draw in draws if draw.executions]
            if self.begins_with_resets
            else ()
        )
        self._learn(transitions, record.informative, _lasts(draws), resets, record.distance, ends)
        made = sum((draw.usage for draw in draws), Usage())
        self.usage += replace(made, queries=1, seconds=seconds)

    def _learn(
        self,
        transitions: Counter[Transition],
        informative: bool,
        lasts: Sequence[LastExecution | None],
        resets: Sequence[State],
        distance: int = 0,
        ends: Sequence[DrawEnd] = (),
    ) -> None:
        learned = self.graph.update(transitions)
        if not self.spec.intents:
            self._discover(transitions)
        pairs = [(before, capability) for before, capability, _ in transitions]
        made = transitions.total()
        self.strategy.observe(
            QueryResult(
                informative, distance, pairs, learned, ends, lasts, made, transitions, resets
            )
        )

    def _discover(self, transitions: Counter[Transition]) -> None:
        # One by one: a query that was cut and is completed later then finds its intents in the
        # same order, so those recorded before keep their numbers.
        for before, _, after in transitions:
            effect = Effect.between(before, after)
            if effect not in self._effects:
                self._effects.add(effect)
                self.graph.extend(list(intents_of([effect], self.spec.problem.vocabulary)))

    def stop_reason(self, *, begun: bool = False) -> StopReason | None:
        """Return why the run is over; None if it is not.

        A query that was `begun` before is taken in even if there is no time left to ask.
        """
        finished = self.strategy.finished()
        if finished is not None:
            return finished
        spent = self.spec.budget.spent_by(self.usage)
        if spent is None and not begun and not self.spec.limit.to_ask():
            spent = "seconds"
        return None if spent is None else StopReason.budget(spent)


def _lasts(draws: Sequence[Draw]) -> list[LastExecution | None]:
    """Return the last execution of each draw; None if it was cut short."""
    lasts: list[LastExecution | None] = []
    for draw in draws:
        if not draw.executions or draw.executions[-1].attempt.ending is Ending.CUT:
            lasts.append(None)
            continue
        capability, attempt = draw.executions[-1]
        transition = Transition(attempt.trajectory[0], capability, attempt.trajectory[-1])
        lasts.append(LastExecution(transition, len(draw.executions)))
    return lasts


def _ends(draws: Sequence[Draw], start: State) -> list[DrawEnd]:
    """Return where draws ended whose end positions are recorded."""
    return [
        DrawEnd(
            draw.executions[-1].attempt.trajectory[-1] if draw.executions else start,
            draw.end,
            sum(len(attempt.trajectory) - 1 for _, attempt in draw.executions),
            len(draw.executions),
        )
        for draw in draws
        if draw.end is not None
    ]
