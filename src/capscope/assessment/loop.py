"""The assessment: Algorithm 1 of the paper, and the same thing again on a resumed run.

`recall` replays what the journal holds; the loop then goes on from there. A query that was
interrupted is synthesized again from the same knowledge and the same seed, keeps the draws it has
and gets those it lacks. So starting and resuming are one call.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from capscope.assessment.ask import Query
from capscope.assessment.discovery import intents_of, random_walks
from capscope.assessment.events import Event, Listener, ignore
from capscope.assessment.inquiry import Inquiry, evidence_for, inquiry_for
from capscope.assessment.run_state import RunState
from capscope.assessment.spec import RunSpec
from capscope.assessment.worker_pool import WorkerPool
from capscope.errors import CapscopeError
from capscope.model import StateGraph
from capscope.record.initial_positions import META
from capscope.record.journal import Draw, Journal, QueryRecord
from capscope.record.run_directory import RunDirectory
from capscope.record.usage import UNRECORDED_COST, Budget, Usage


@dataclass(frozen=True)
class Assessment:
    """The outcome of a run: what is known, and why it stopped."""

    run_state: RunState
    stopped_because: str

    @property
    def graph(self) -> StateGraph:
        """The pessimistic and the optimistic model."""
        return self.run_state.graph

    @property
    def usage(self) -> Usage:
        """What was spent."""
        return self.run_state.usage


def run_assessment(run: RunDirectory, spec: RunSpec, listener: Listener = ignore) -> Assessment:
    """Ask, learn and repeat until there is no news or a budget is spent."""
    journal = run.journal
    inquiry = inquiry_for(spec)
    pool = WorkerPool([spec.problem, *spec.colleagues], spec.longest_draw)
    if "discovery" not in journal.read_meta():
        discover(journal, spec)
    run_state = recall(journal, spec)
    clock = time.perf_counter()
    while (reason := stop_reason(run_state, inquiry, spec)) is None:
        query, record = inquiry.next(run_state, journal)
        # A query that was interrupted took the time of the draws it has, too.
        earlier = sum(draw.seconds for draw in journal.draws(query.number))
        with _costs_kept(journal, pool):
            draws = list(answers(run_state, journal, spec, query, pool))
        now = time.perf_counter()
        seconds, clock = earlier + now - clock, now
        known = len(run_state.graph.capabilities)
        run_state.absorb(record, draws, seconds)
        # Before the query is finished: a kill in between must not lose what it discovered.
        journal.add_intents(run_state.graph.capabilities[known:], known)
        if len(draws) == len(query.tasks):
            journal.finish_query(query.number, inquiry.describe(query), seconds)
        listener(progress(run_state, record))
    # For those who read the run: without this they would have to replay it to know that it is over.
    journal.write_meta({"stopped": {"because": reason, "budget": spec.budget.as_dict()}})
    return Assessment(run_state, reason)


def stop_reason(run_state: RunState, inquiry: Inquiry, spec: RunSpec) -> str | None:
    """Say why the run is over; None while it is not."""
    finished = inquiry.finished_because(run_state)
    if finished is not None:
        return finished
    spent = spec.budget.spent_by(run_state.usage)
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


def recall(journal: Journal, spec: RunSpec) -> RunState:
    """Rebuild what a run knows from the finished queries of its journal."""
    run_state = RunState(spec.problem, spec.settings, spec.seed, bool(spec.intents))
    run_state.evidence = evidence_for(spec, run_state)
    meta = journal.read_meta()
    run_state.usage = Usage.before_asking(meta)
    run_state.graph.extend(journal.intents()[: meta.get("discovery", {}).get("intents", 0)])
    _begin(run_state, journal)
    while (record := journal.query(run_state.usage.queries)) is not None and record.finished:
        draws = journal.draws(run_state.usage.queries)
        for draw in draws:
            list(run_state.slots(draw))
        run_state.absorb(record, draws, record.seconds)
    return run_state


def _begin(run_state: RunState, journal: Journal) -> None:
    """Know the initial positions before anything is asked."""
    nothing_asked = journal.query(0) is None
    for initial in run_state.initials:
        slot = run_state.reservoir.slot(initial.state)
        if slot is not None and nothing_asked:
            journal.keep_snapshot(initial.state, slot, initial.snapshot)
    if nothing_asked:
        journal.write_meta({META: run_state.initial_positions().as_dict()})
    if run_state.evidence is not None:
        for initial in run_state.initials:
            run_state.graph.node(initial.state)
        run_state.evidence.observe(())


def answers(
    run_state: RunState, journal: Journal, spec: RunSpec, query: Query, pool: WorkerPool
) -> Iterator[Draw]:
    """Yield the draws of a query: those recorded before, then new ones while the budget lasts."""
    spent = run_state.usage

    def left() -> Budget | None:
        return None if spec.budget.spent_by(spent) else spec.budget.left_after(spent)

    recorded = journal.draws(query.number)
    for draw in recorded:
        list(run_state.slots(draw))
        spent += Usage.of([draw], draw.seconds)
        yield draw
    intents = run_state.graph.capabilities
    with closing(pool.answers(query, len(recorded), intents, left)) as found:
        for index, answer in enumerate(found, len(recorded)):
            draw = answer.draw
            kept = {
                (state, slot): answer.snapshots[execution]
                for execution, state, slot in run_state.slots(draw)
            }
            journal.add_draw(query.number, index, draw, kept)
            spent += Usage.of([draw], draw.seconds)
            yield draw


@contextmanager
def _costs_kept(journal: Journal, pool: WorkerPool) -> Iterator[None]:
    """Write down what was paid for draws that an error keeps from being recorded.

    The answers are in the cache, so that they cost nothing when the run is resumed; yet they did.
    """
    try:
        yield
    except BaseException:
        if pool.unrecorded_cost:
            earlier = Usage.before_asking(journal.read_meta()).llm_cost
            journal.write_meta({UNRECORDED_COST: earlier + pool.unrecorded_cost})
        raise


def progress(run_state: RunState, record: QueryRecord) -> Event:
    """Say where the run stands."""
    return Event(
        usage=run_state.usage,
        states=len(run_state.dataset.states),
        capabilities=len(run_state.graph.capabilities),
        transitions=run_state.dataset.distinct,
        pairs_tried=run_state.graph.pairs_tried,
        quiet_queries=run_state.quiet_queries,
        predicted=record.predicted,
        graph=run_state.graph,
    )
