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
from capscope.assessment.beginnings import META
from capscope.assessment.crew import Crew
from capscope.assessment.discovery import intents_of, random_walks
from capscope.assessment.events import Event, Listener, ignore
from capscope.assessment.inquiry import Inquiry, evidence_for, inquiry_for
from capscope.assessment.knowledge import Knowledge
from capscope.assessment.run import Run, RunSpec
from capscope.assessment.usage import UNRECORDED_COST, Budget, Usage
from capscope.data.journal import Draw, Journal, QueryRecord
from capscope.errors import CapscopeError
from capscope.model import Models


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
    inquiry = inquiry_for(spec)
    crew = Crew([spec.problem, *spec.colleagues], spec.longest_draw)
    if "discovery" not in journal.read_meta():
        discover(journal, spec)
    knowledge = recall(journal, spec)
    clock = time.perf_counter()
    while (reason := stop_reason(knowledge, inquiry, spec)) is None:
        query, record = inquiry.next(knowledge, journal)
        # A query that was interrupted took the time of the draws it has, too.
        earlier = sum(draw.seconds for draw in journal.draws(query.number))
        with _costs_kept(journal, crew):
            draws = list(answers(knowledge, journal, spec, query, crew))
        now = time.perf_counter()
        seconds, clock = earlier + now - clock, now
        known = len(knowledge.models.capabilities)
        knowledge.absorb(record, draws, seconds)
        # Before the query is finished: a kill in between must not lose what it discovered.
        journal.add_intents(knowledge.models.capabilities[known:], known)
        if len(draws) == len(query.tasks):
            journal.finish_query(query.number, inquiry.describe(query), seconds)
        listener(progress(knowledge, record))
    # For those who read the run: without this they would have to replay it to know that it is over.
    journal.write_meta({"stopped": {"because": reason, "budget": spec.budget.as_dict()}})
    return Assessment(knowledge, reason)


def stop_reason(knowledge: Knowledge, inquiry: Inquiry, spec: RunSpec) -> str | None:
    """Say why the run is over; None while it is not."""
    finished = inquiry.finished_because(knowledge)
    if finished is not None:
        return finished
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
    knowledge.evidence = evidence_for(spec, knowledge)
    meta = journal.read_meta()
    knowledge.usage = Usage.before_asking(meta)
    knowledge.models.extend(journal.intents()[: meta.get("discovery", {}).get("intents", 0)])
    _begin(knowledge, journal)
    while (record := journal.query(knowledge.usage.queries)) is not None and record.finished:
        draws = journal.draws(knowledge.usage.queries)
        for draw in draws:
            list(knowledge.slots(draw))
        knowledge.absorb(record, draws, record.seconds)
    return knowledge


def _begin(knowledge: Knowledge, journal: Journal) -> None:
    """Know the initial positions before anything is asked."""
    nothing_asked = journal.query(0) is None
    for initial in knowledge.initials:
        slot = knowledge.reservoir.slot(initial.state)
        if slot is not None and nothing_asked:
            journal.keep_snapshot(initial.state, slot, initial.snapshot)
    if nothing_asked:
        journal.write_meta({META: knowledge.beginnings().as_dict()})
    if knowledge.evidence is not None:
        for initial in knowledge.initials:
            knowledge.models.place(initial.state)
        knowledge.evidence.observe(())


def answers(
    knowledge: Knowledge, journal: Journal, spec: RunSpec, query: Query, crew: Crew
) -> Iterator[Draw]:
    """Yield the draws of a query: those recorded before, then new ones while the budget lasts."""
    spent = knowledge.usage

    def left() -> Budget | None:
        return None if spec.budget.spent_by(spent) else spec.budget.left_after(spent)

    recorded = journal.draws(query.number)
    for draw in recorded:
        list(knowledge.slots(draw))
        spent += Usage.of([draw], draw.seconds)
        yield draw
    intents = knowledge.models.capabilities
    with closing(crew.answers(query, len(recorded), intents, left)) as found:
        for index, answer in enumerate(found, len(recorded)):
            draw = answer.draw
            kept = {
                (state, slot): answer.snapshots[execution]
                for execution, state, slot in knowledge.slots(draw)
            }
            journal.add_draw(query.number, index, draw, kept)
            spent += Usage.of([draw], draw.seconds)
            yield draw


@contextmanager
def _costs_kept(journal: Journal, crew: Crew) -> Iterator[None]:
    """Write down what was paid for draws that an error keeps from being recorded.

    The answers are in the cache, so that they cost nothing when the run is resumed; yet they did.
    """
    try:
        yield
    except BaseException:
        if crew.unrecorded_cost:
            earlier = Usage.before_asking(journal.read_meta()).llm_cost
            journal.write_meta({UNRECORDED_COST: earlier + crew.unrecorded_cost})
        raise


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
