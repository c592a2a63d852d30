"""What a strategy is: one object that decides what to ask next, from where, and when to stop.

A strategy sees the state graph, the settings and the positions that a query can start from, never
the simulator or the agent. When a run is resumed, the recorded answers are replayed, so a strategy
must depend on nothing else: its randomness is seeded by the run's seed and the number of the query.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from capscope.errors import JournalError
from capscope.journal.draws import QueryRecord, Start
from capscope.journal.execution_table import LastExecution, Transition
from capscope.journal.run_meta import StopReason
from capscope.journal.settings import Settings
from capscope.logic import State
from capscope.model import ExtremeModels, Learned, StateGraph

if TYPE_CHECKING:
    from capscope.journal.experience import Experience
    from capscope.model import LearnedModel
    from capscope.model.lessons import Lessons
    from capscope.problem.hazard import Hazard
    from capscope.problem.positions import SavedPosition
    from capscope.stats.audit import AuditResult

RESTORED_ELSEWHERE = (
    "most likely a reset or a restore of the simulator led elsewhere this time, with the same "
    "seed: run `capscope check` on the problem"
)


Walk = Callable[[State], int | None]
"""One execution of a policy: observes a state (first the start) and returns a capability.

None ends the draw. A walk holds what its draw observed, so draws stay independent.
"""


class Policy(Protocol):
    """A non-stationary policy over capabilities, shared by the draws of a query."""

    def walk(self) -> Walk:
        """Begin one execution."""

    def describe(self) -> Mapping[str, Any]:
        """Return what a person needs to follow the policy, as JSON-ready values."""


@dataclass(frozen=True, slots=True)
class SequencePolicy:
    """A fixed sequence of capabilities, whatever is observed."""

    sequence: tuple[int, ...]

    def walk(self) -> Walk:
        """Begin at the first capability."""
        rest = iter(self.sequence)
        return lambda state: next(rest, None)

    def describe(self) -> Mapping[str, Any]:
        """Return the sequence."""
        return {"kind": "sequence", "capabilities": list(self.sequence)}


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A policy chosen by a search, and what is expected of it."""

    policy: Policy
    predicted: float = 0.0
    """The predicted disagreement of the two models, bonus included."""
    informative: bool = False
    """Whether the policy is predicted to distinguish the models."""
    in_order: bool = False
    """Whether a draw depends on those before it."""


PolicySearch = Callable[[ExtremeModels, State, float, random.Random, Settings], QueryPlan]
"""Chooses what to ask from a start, given the models and ξ; all randomness is in the generator."""


class PositionStore(Protocol):
    """The positions that a query may start from."""

    @property
    def initial(self) -> Sequence[Start]:
        """The initial positions of the run."""

    def choose(self, state: State, rng: random.Random) -> Start:
        """Choose one of the positions kept for a state that was seen."""

    def reset(self, seed: int) -> Start:
        """Reset the simulator with a seed, and return where that leads."""


@dataclass(frozen=True)
class StrategyContext:
    """What a strategy works with."""

    graph: StateGraph
    """What is known; updated after each query."""
    settings: Settings
    seed: int
    """The run's seed."""
    positions: PositionStore
    reset_every: int | None = None
    """Executions after which the problem is reset; None if queries may start anywhere."""
    journal: str = "the journal"
    """How error messages name the journal."""
    hazards: Sequence[Hazard] = ()
    """The hazards to search for."""
    lessons: Lessons | None = None
    """What was learned about another instance, if the run starts from that."""
    experience: Experience | None = None
    """What another run observed, if this one starts from that."""
    carried: Collection[State] = ()
    """The states of that run whose positions can be restored here."""


class Task(NamedTuple):
    """What one draw does: a policy, and where to start."""

    start: Start
    policy: Policy


@dataclass(frozen=True)
class QueryChoice:
    """A query to be asked."""

    record: QueryRecord
    tasks: Sequence[Task]
    """One for each draw. In the paper's queries all draws have the same task."""
    in_order: bool = False
    """Whether a draw depends on those before it; they are then made one after another."""

    @property
    def own_starts(self) -> list[Start]:
        """Where each draw starts; empty if all start where the query does."""
        starts = [task.start for task in self.tasks]
        return starts if any(start != self.record.start for start in starts) else []


class BegunQuery(NamedTuple):
    """A query that was recorded before the run was interrupted."""

    record: QueryRecord
    starts: Sequence[Start]
    """Where each draw starts; empty if all start where the query does."""

    def starts_of(self, draws: int) -> Sequence[Start]:
        """Return where each of its draws starts."""
        return self.starts or [self.record.start] * draws


def batch_query(
    context: StrategyContext,
    number: int,
    wanted: Sequence[tuple[State, Policy]],
    predicted: float,
    begun: BegunQuery | None,
    rng: random.Random,
) -> QueryChoice:
    """Return an informative query with a task for each state and policy.

    Positions of the states are drawn from `rng`; a query that was begun keeps those it had.
    """
    if begun is None:
        starts: Sequence[Start] = [context.positions.choose(state, rng) for state, _ in wanted]
        record = QueryRecord(starts[0], 0, 0.0, predicted, informative=True)
    else:
        record = begun.record
        starts = begun.starts_of(len(wanted))
        if [start.state for start in starts] != [state for state, _ in wanted]:
            raise JournalError(
                f"{context.journal}: query {number} was begun elsewhere than it would be now; "
                f"{RESTORED_ELSEWHERE}. If that finds nothing, another version of capscope began "
                "it: finish the run with that version. It was left untouched"
            )
    return QueryChoice(record, [Task(s, p) for s, (_, p) in zip(starts, wanted, strict=True)])


class DrawEnd(NamedTuple):
    """Where a draw ended."""

    state: State
    position: SavedPosition
    changes: int
    """Symbolic changes during the draw."""
    executions: int


@dataclass(frozen=True)
class QueryResult:
    """The answers to a query."""

    informative: bool
    """Whether the query was predicted to be informative."""
    distance: int
    """How far its start was from where the walk began."""
    pairs: Sequence[tuple[State, int]]
    """The pairs that were executed to the end, each once."""
    learned: Learned
    ends: Sequence[DrawEnd] = field(default=())
    """Where its draws ended; when a run is resumed, given (with `distance`) for the latest only."""
    lasts: Sequence[LastExecution | None] = field(default=())
    """The last execution of each draw; None if it was cut short. Of a recorded query only if an
    audit is under way."""
    executions: int = 0
    """The executions that were not cut short."""
    transitions: Mapping[Transition, int] = field(default_factory=dict)
    """How often each transition was seen."""
    resets: Sequence[State] = field(default=())
    """The states after the resets with which its draws began."""


class Strategy(Protocol):
    """Decides what is asked."""

    longest_draw: int
    """The maximum number of executions in one draw."""

    @property
    def audit(self) -> AuditResult | None:
        """The audit under way, or the one that ended the run."""

    @property
    def audited(self) -> LearnedModel | None:
        """The model that the audit is about; the finished run then uses it."""

    def next(self, number: int, begun: BegunQuery | None = None) -> QueryChoice:
        """Choose a query.

        Args:
            number: Its number, from 0.
            begun: The record of the query if it was begun before; it must be chosen again.

        Returns:
            The record, and a start and a policy for each draw.
        """

    def observe(self, result: QueryResult) -> None:
        """Take in the answers to a query; the graph is updated already."""

    def finished(self) -> StopReason | None:
        """Return why there is nothing left to ask; None if there is."""

    def describe(self, choice: QueryChoice) -> dict[str, Any]:
        """Return what a person needs to follow the query, as JSON-ready values."""

    def status(self, record: QueryRecord) -> Mapping[str, str]:
        """Return the state of the run after a query, for a progress display."""
