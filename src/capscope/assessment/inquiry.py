"""What to ask next and when to stop: the part of the loop in which strategies differ.

The paper's strategies choose a policy for a given start, execute it a fixed number of times, and
stop when nothing new was learned for a while. The adaptive one chooses starts and repeats itself,
and stops when the evidence supports a statement. Either way a query that the journal knows as begun
is chosen again, from the same knowledge and the same seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from capscope.assessment.ask import Query, Task
from capscope.assessment.run_state import LED_ELSEWHERE, RunState
from capscope.assessment.spec import RunSpec
from capscope.assessment.stopping import revisitation_bonus
from capscope.errors import JournalError
from capscope.record.journal import Journal, QueryRecord
from capscope.seeds import child_seed
from capscope.strategy.adaptive import choose_batch
from capscope.strategy.evidence import Evidence
from capscope.strategy.policy import QueryPlan
from capscope.strategy.registry import ADAPTIVE, strategy_named
from capscope.strategy.starts import Start

_POLICY = -4  # the place, below a query, that seeds its search
_BATCH = -5  # the place, below a query, that seeds the starts of a batch


class Inquiry(Protocol):
    """Chooses queries and says when there is nothing left to ask."""

    def next(self, run_state: RunState, journal: Journal) -> tuple[Query, QueryRecord]:
        """Choose the next query and write it down; one begun before is chosen again."""

    def finished_because(self, run_state: RunState) -> str | None:
        """Say why there is nothing left to ask; None while there is."""

    def describe(self, query: Query) -> dict[str, Any]:
        """Return what a person needs to follow the query, as JSON-ready values."""


def inquiry_for(spec: RunSpec) -> Inquiry:
    """Return the way in which a strategy asks."""
    return AdaptiveInquiry(spec) if spec.strategy == ADAPTIVE else RepeatedInquiry(spec)


def evidence_for(spec: RunSpec, run_state: RunState) -> Evidence | None:
    """Return what the strategy goes by beside the models, empty to begin with."""
    if spec.strategy != ADAPTIVE:
        return None
    return Evidence(run_state.graph, spec.settings, child_seed(spec.seed, _BATCH))


class RepeatedInquiry:
    """As in the paper: one policy from one start, executed again and again."""

    def __init__(self, spec: RunSpec) -> None:
        self._spec = spec
        self._strategy = strategy_named(spec.strategy)(spec.settings)

    def next(self, run_state: RunState, journal: Journal) -> tuple[Query, QueryRecord]:
        """Search for a telling policy from one start after another."""
        spec = self._spec
        number = run_state.usage.queries
        record = journal.query(number)
        xi = revisitation_bonus(run_state.quiet_queries, spec.settings)

        def plan_from(start: Start) -> QueryPlan:
            rng = random.Random(child_seed(spec.seed, number, _POLICY))
            return self._strategy.choose(run_state.graph, start.state, xi, rng)

        if record is None:
            start, plan = promising_start(run_state, journal, plan_from)
            record = QueryRecord(
                start.state, start.snapshot, start.distance, xi, plan.predicted, plan.informative
            )
            journal.begin_query(number, record)
        else:
            start = Start(record.start, record.start_snapshot, record.distance)
            plan = plan_from(start)
        tasks = [Task(start, plan.policy)] * spec.settings.draws
        return Query(number, tasks, spec.seed), record

    def finished_because(self, run_state: RunState) -> str | None:
        """Stop after a number of queries in a row without news."""
        return "no news" if run_state.quiet_queries >= self._spec.settings.patience else None

    def describe(self, query: Query) -> dict[str, Any]:
        """Describe the one policy of the query."""
        return dict(query.tasks[0].policy.describe())


def promising_start(
    run_state: RunState, journal: Journal, plan_from: Callable[[Start], QueryPlan]
) -> tuple[Start, QueryPlan]:
    """Search from one start after another until a query promises to tell something.

    Searching costs the agent nothing. If no start promises anything, the first one is taken.
    """
    first: tuple[Start, QueryPlan] | None = None
    for start in run_state.possible_starts(journal):
        plan = plan_from(start)
        first = first or (start, plan)
        if plan.informative:
            return start, plan
    assert first is not None, "there is always a start"
    return first


class AdaptiveInquiry:
    """A batch of draws, each where the evidence promises most."""

    def __init__(self, spec: RunSpec) -> None:
        self._spec = spec

    def next(self, run_state: RunState, journal: Journal) -> tuple[Query, QueryRecord]:
        """Choose different pairs to begin with, and a position to reach each from."""
        spec = self._spec
        number = run_state.usage.queries
        evidence = _evidence(run_state)
        policies = choose_batch(run_state.graph, evidence, spec.settings)
        record = journal.query(number)
        if record is None:
            rng = random.Random(child_seed(spec.seed, number, _BATCH))
            starts = [run_state.start_at(p.target.state, journal, rng) for p in policies]
            gain = policies[0].target.gain
            record = QueryRecord(
                starts[0].state, starts[0].snapshot, 0, 0.0, gain, gain > spec.settings.threshold
            )
            own = [(start.state, start.snapshot) for start in starts] if len(starts) > 1 else []
            journal.begin_query(number, record, own)
        else:
            own = journal.starts(number)
            starts = [Start(*at) for at in own or [(record.start, record.start_snapshot)]]
            if [start.state for start in starts] != [p.target.state for p in policies]:
                raise JournalError(
                    f"{journal.path}: query {number} was begun elsewhere than it would be now; "
                    f"{LED_ELSEWHERE}. If that finds nothing, another version of capscope began "
                    "it: finish the run with that version. It was left untouched"
                )
        tasks = [Task(start, policy) for start, policy in zip(starts, policies, strict=True)]
        return Query(number, tasks, spec.seed), record

    def finished_because(self, run_state: RunState) -> str | None:
        """Stop when the statement that was asked for is supported."""
        return "nothing left to settle" if _evidence(run_state).settled() else None

    def describe(self, query: Query) -> dict[str, Any]:
        """Describe what each draw began with."""
        targets: Sequence[Any] = [dict(task.policy.describe()) for task in query.tasks]
        return {"kind": "targets", "targets": targets}


def _evidence(run_state: RunState) -> Evidence:
    assert run_state.evidence is not None, "an adaptive run keeps its evidence"
    return run_state.evidence
