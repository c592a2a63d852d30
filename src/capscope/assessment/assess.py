"""The assessment: Algorithm 1 of the paper, and the same thing again on a resumed run.

`recall` replays what the journal holds; the loop then goes on from there. A query that was
interrupted is synthesized again from the same knowledge and the same seed, keeps the draws it has
and gets those it lacks. So starting and resuming are one call.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from capscope.assessment.ask import Query, ask
from capscope.assessment.discovery import intents_of, random_walks
from capscope.assessment.events import Event, Listener, ignore
from capscope.assessment.knowledge import Knowledge
from capscope.assessment.run import Run, RunSpec
from capscope.assessment.stopping import revisitation_bonus
from capscope.assessment.usage import Usage
from capscope.data.journal import Draw, Journal, QueryRecord
from capscope.errors import CapscopeError
from capscope.model import Models
from capscope.query.policy import Plan, Strategy
from capscope.query.starts import Start
from capscope.query.strategies import strategy_named
from capscope.seeds import child_seed

_POLICY = -4  # the place, below a query, that seeds its search


@dataclass(frozen=True)
class Assessment:
    """The outcome of a run: what is known, and why it stopped."""

    knowledge: Knowledge
    stopped_because: str

    @property
    def models(self) -> Models:
        """The pessimistic and the optimistic model."""
        return self.knowledge.models

    @property
    def usage(self) -> Usage:
        """What was spent."""
        return self.knowledge.usage


def run_assessment(run: Run, spec: RunSpec, listener: Listener = ignore) -> Assessment:
    """Ask, learn and repeat until there is no news or a budget is spent."""
    journal = run.journal
    strategy = strategy_named(spec.strategy)(spec.settings)
    if "discovery" not in journal.read_meta():
        discover(journal, spec)
    knowledge = recall(journal, spec)
    clock = time.perf_counter()
    while (reason := stop_reason(knowledge, spec)) is None:
        query, record = synthesize(knowledge, strategy, journal, spec)
        # A query that was interrupted took the time of the draws it has, too.
        earlier = sum(draw.seconds for draw in journal.draws(query.number))
        draws = list(answers(knowledge, journal, spec, query))
        now = time.perf_counter()
        seconds, clock = earlier + now - clock, now
        known = len(knowledge.models.capabilities)
        knowledge.absorb(record, draws, seconds)
        # Before the query is finished: a kill in between must not lose what it discovered.
        journal.add_intents(knowledge.models.capabilities[known:], known)
        if len(draws) == spec.settings.draws:
            journal.finish_query(query.number, query.policy.describe(), seconds)
        listener(progress(knowledge, record))
    return Assessment(knowledge, reason)


def stop_reason(knowledge: Knowledge, spec: RunSpec) -> str | None:
    """Say why the run is over; None while it is not."""
    if knowledge.quiet_queries >= spec.settings.patience:
        return "no news"
    spent = spec.budget.spent_by(knowledge.usage)
    return None if spent is None else f"budget of {spent} spent"


def discover(journal: Journal, spec: RunSpec) -> None:
    """Find the intents to begin with and write them down."""
    steps = 0
    intents = list(spec.intents)
    if not intents:
        effects, steps = random_walks(
            spec.problem, spec.settings, spec.seed, spec.budget.simulator_steps
        )
        intents = list(intents_of(effects, spec.problem.vocabulary))
    if not intents:
        raise CapscopeError(
            f"no change was seen in {steps} random steps of {spec.problem.name}, so there is "
            "nothing to ask for; raise --walks or --walk-steps, or name --intents"
        )
    journal.add_discovery(intents, steps)


def recall(journal: Journal, spec: RunSpec) -> Knowledge:
    """Rebuild what a run knows from the finished queries of its journal."""
    knowledge = Knowledge(spec.problem, spec.settings, spec.seed, bool(spec.intents))
    found = journal.read_meta().get("discovery", {"intents": 0, "simulator_steps": 0})
    knowledge.usage = Usage(simulator_steps=found["simulator_steps"])
    knowledge.models.extend(journal.intents()[: found["intents"]])
    initial = knowledge.initial()
    slot = knowledge.reservoir.slot(initial.state)
    if slot is not None and not journal.snapshots(initial.state):
        journal.keep_snapshot(initial.state, slot, initial.snapshot)
    while (record := journal.query(knowledge.usage.queries)) is not None and record.finished:
        draws = journal.draws(knowledge.usage.queries)
        for draw in draws:
            list(knowledge.slots(draw))
        knowledge.absorb(record, draws, record.seconds)
    return knowledge


def synthesize(
    knowledge: Knowledge, strategy: Strategy, journal: Journal, spec: RunSpec
) -> tuple[Query, QueryRecord]:
    """Choose the next query; one that the journal knows as begun is chosen again."""
    number = knowledge.usage.queries
    record = journal.query(number)
    xi = revisitation_bonus(knowledge.quiet_queries, spec.settings)

    def plan_from(start: Start) -> Plan:
        rng = random.Random(child_seed(spec.seed, number, _POLICY))
        return strategy.choose(knowledge.models, start.state, xi, rng)

    if record is None:
        start, plan = promising_start(knowledge, journal, plan_from)
        record = QueryRecord(
            start.state, start.snapshot, start.distance, xi, plan.predicted, plan.telling
        )
        journal.begin_query(number, record)
    else:
        start = Start(record.start, record.start_snapshot, record.distance)
        plan = plan_from(start)
    return Query(number, start, plan.policy, spec.seed), record


def promising_start(
    knowledge: Knowledge, journal: Journal, plan_from: Callable[[Start], Plan]
) -> tuple[Start, Plan]:
    """Search from one start after another until a query promises to tell something.

    Searching costs the agent nothing. If no start promises anything, the first one is taken.
    """
    first: tuple[Start, Plan] | None = None
    for start in knowledge.possible_starts(journal):
        plan = plan_from(start)
        first = first or (start, plan)
        if plan.telling:
            return start, plan
    assert first is not None, "there is always a start"
    return first


def answers(knowledge: Knowledge, journal: Journal, spec: RunSpec, query: Query) -> Iterator[Draw]:
    """Yield the draws of a query: those recorded before, then new ones while the budget lasts."""
    spent = knowledge.usage
    recorded = journal.draws(query.number)
    for index in range(spec.settings.draws):
        if index < len(recorded):
            draw = recorded[index]
            list(knowledge.slots(draw))
        elif spec.budget.spent_by(spent) is not None:
            return
        else:
            left = spec.budget.left_after(spent)
            answer = ask(spec.problem, query, index, knowledge.models.capabilities, left)
            draw = answer.draw
            kept = {
                (state, slot): answer.snapshots[execution]
                for execution, state, slot in knowledge.slots(draw)
            }
            journal.add_draw(query.number, index, draw, kept)
        spent += Usage(0, len(draw.executions), draw.simulator_steps, draw.llm_tokens, draw.seconds)
        yield draw


def progress(knowledge: Knowledge, record: QueryRecord) -> Event:
    """Say where the run stands."""
    return Event(
        usage=knowledge.usage,
        states=len(knowledge.dataset.states),
        capabilities=len(knowledge.models.capabilities),
        transitions=knowledge.dataset.distinct,
        pairs_tried=knowledge.models.pairs_tried,
        quiet_queries=knowledge.quiet_queries,
        predicted=record.predicted,
        models=knowledge.models,
    )
