"""The paper's queries: one policy from one start, executed many times.

A search chooses a policy for a given start; starts are tried in turn until a query is predicted to
be informative. A query starts at an end of the last one, while queries are informative and the walk
is not too long; otherwise at a state seen before that some capability may leave, preferably one
from which few executions began. The run ends after a number of queries in a row without news.
"""

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from capscope.journal.draws import QueryRecord, Start
from capscope.journal.run_meta import StopKind, StopReason
from capscope.journal.settings import Settings
from capscope.logic import State
from capscope.model import ExtremeModels, StateGraph
from capscope.seeds import child_seed
from capscope.strategy.base import (
    BegunQuery,
    DrawEnd,
    PolicySearch,
    QueryChoice,
    QueryPlan,
    QueryResult,
    SequencePolicy,
    StrategyContext,
    Task,
)

# Children of a query's seed: for its start and its search.
_START, _POLICY = -3, -4


class StartCandidate(NamedTuple):
    """Where a query may start."""

    start: Start
    distance: int = 0
    """How far it is from where the walk began, earlier queries included."""


class RepeatedStrategy:
    """Algorithm 1 of the paper, for any search."""

    def __init__(self, context: StrategyContext, search: PolicySearch, longest_draw: int) -> None:
        self.longest_draw = longest_draw
        self.audit = None
        self.audited = None
        self._context = context
        self._search = search
        self._models = ExtremeModels(context.graph)
        self._quiet_queries = 0
        self._last_informative = False
        self._ends: list[StartCandidate] = []

    def next(self, number: int, begun: BegunQuery | None = None) -> QueryChoice:
        """Search for an informative policy from one start after another."""
        settings, seed = self._context.settings, self._context.seed
        # The longer nothing was learned, the higher the bonus for revisits.
        xi = settings.xi * min(self._quiet_queries, settings.patience) / settings.patience

        def plan_from(start: Start) -> QueryPlan:
            rng = random.Random(child_seed(seed, number, _POLICY))
            return self._search(self._models, start.state, xi, rng, settings)

        if begun is None:
            (start, distance), plan = self._best_start(number, plan_from)
            record = QueryRecord(start, distance, xi, plan.predicted, plan.informative)
        else:
            record = begun.record
            plan = plan_from(record.start)
        tasks = [Task(record.start, plan.policy)] * settings.draws
        return QueryChoice(record, tasks, plan.in_order)

    def _best_start(
        self, number: int, plan_from: Callable[[Start], QueryPlan]
    ) -> tuple[StartCandidate, QueryPlan]:
        """Return the first start with an informative plan, else the first start."""
        first: tuple[StartCandidate, QueryPlan] | None = None
        for candidate in itertools.islice(self._starts(number), self._context.settings.starts):
            plan = plan_from(candidate.start)
            if plan.informative:
                return candidate, plan
            first = first or (candidate, plan)
        assert first is not None, "there is always a start"
        return first

    def _starts(self, number: int) -> Iterator[StartCandidate]:
        """Yield at least one start, the preferred one first.

        The first queries of a run start at the initial positions, one at each.
        """
        context = self._context
        initial = context.positions.initial
        if number < len(initial):
            yield StartCandidate(initial[number])
            return
        rng = random.Random(child_seed(context.seed, number, _START))
        most = context.reset_every or context.settings.reuse_changes
        if context.reset_every or self._last_informative:
            end = end_to_continue(self._ends, context.graph, most, rng)
            if end is not None:
                yield end
        while not context.reset_every:
            state = state_to_start_from(context.graph, rng)
            if state is None:
                break
            yield StartCandidate(context.positions.choose(state, rng))
        yield StartCandidate(rng.choice(initial))

    def observe(self, result: QueryResult) -> None:
        """Count queries without news, and note where the draws ended."""
        learned = result.learned
        news = learned.new_transitions or learned.largest_shift > self._context.settings.shift
        self._quiet_queries = 0 if news else self._quiet_queries + 1
        self._last_informative = result.informative
        self._ends = [self._candidate(end, result) for end in result.ends]

    def _candidate(self, end: DrawEnd, result: QueryResult) -> StartCandidate:
        distance = end.changes
        if self._context.reset_every:
            # An uninformative query counts as one of full length: the sooner a world with nothing
            # new is reset, the better.
            distance = max(
                end.executions, 0 if result.informative else self._context.settings.depth
            )
        return StartCandidate(Start(end.state, end.position), result.distance + distance)

    def finished(self) -> StopReason | None:
        """Stop after a number of queries in a row without news."""
        quiet = self._quiet_queries >= self._context.settings.patience
        return StopReason(StopKind.NO_NEWS) if quiet else None

    def describe(self, choice: QueryChoice) -> dict[str, Any]:
        """Describe the one policy of the query."""
        return dict(choice.tasks[0].policy.describe())

    def status(self, record: QueryRecord) -> Mapping[str, str]:
        """Return how close the run is to its stop."""
        patience = self._context.settings.patience
        return {
            "queries without news": f"{self._quiet_queries} of {patience}",
            "predicted disagreement": f"{record.predicted:.3g}",
        }


def weighted_choice(states: Sequence[State], graph: StateGraph, rng: random.Random) -> State:
    """Draw a state with weight n_max + 1 − N(s)."""
    most = graph.most_departures + 1
    weights = [most - graph.node(state).departures for state in states]
    return rng.choices(states, weights)[0]


def end_to_continue(
    ends: Iterable[StartCandidate], graph: StateGraph, most_distance: int, rng: random.Random
) -> StartCandidate | None:
    """Choose among the ends of the last query whose walk is still short enough."""
    open_ends = [end for end in ends if end.distance < most_distance]
    if not open_ends:
        return None
    state = weighted_choice(sorted({end.start.state for end in open_ends}), graph, rng)
    return rng.choice([end for end in open_ends if end.start.state == state])


def state_to_start_from(graph: StateGraph, rng: random.Random) -> State | None:
    """Choose a state seen before that some capability may leave; None if there is none."""
    states = [state for state, node in graph.nodes.items() if not node.sink]
    return weighted_choice(states, graph, rng) if states else None


def random_plan(capabilities: int, length: int, rng: random.Random) -> QueryPlan:
    """Draw a sequence of capabilities uniformly."""
    sequence = tuple(int(rng.random() * capabilities) for _ in range(length))
    return QueryPlan(SequencePolicy(sequence if capabilities else ()))


def random_query(
    models: ExtremeModels, start: State, xi: float, rng: random.Random, settings: Settings
) -> QueryPlan:
    """Ask for capabilities at random; neither the models nor the start matter."""
    return random_plan(len(models.graph.capabilities), settings.random_length, rng)
