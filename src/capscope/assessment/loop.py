"""The assessment: Algorithm 1 of the paper, and the same thing again on a resumed run.

`recall` replays the journal; the loop continues from there. A query that was interrupted is chosen
again from the same seed, and gets the draws it lacks. So starting and resuming are one call. What a
budget cut short is made again if there is more to spend: the run then ends where it would have
ended with that budget from the beginning.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace

from capscope.assessment.ask import Query, retrace
from capscope.assessment.discovery import intents_of, random_walks
from capscope.assessment.known_positions import describe_initial, keep_carried, reset_positions
from capscope.assessment.replays import Replays
from capscope.assessment.run_state import RunSpec, RunState
from capscope.assessment.time_limit import SHORTEST_WORK, OutOfTime
from capscope.assessment.worker_pool import WorkerPool
from capscope.assessment.workers import WorkerSettings, start_workers
from capscope.errors import CapscopeError
from capscope.journal.draws import Draw, QueryRecord
from capscope.journal.execution_table import ExecutionTable
from capscope.journal.journal import Journal
from capscope.journal.journal_file import understood
from capscope.journal.run_meta import Budget, StopReason, Usage
from capscope.model import StateGraph
from capscope.phases import begin_phase
from capscope.strategy.base import BegunQuery


@dataclass(frozen=True, slots=True)
class Event:
    """Where a run stands after a query; the library itself prints nothing."""

    usage: Usage
    states: int
    capabilities: int
    transitions: int
    """Distinct transitions seen."""
    pairs_tried: int
    status: dict[str, str]
    """What the strategy says about where the run stands."""
    graph: StateGraph
    """The current graph, which is updated in place."""


Listener = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Do nothing."""


def run_assessment(journal: Journal, spec: RunSpec, listener: Listener = ignore) -> RunState:
    """Ask, learn and repeat until the strategy is finished or a budget is spent."""
    if not _discovered(journal, spec.budget):
        begin_phase("discovering intents")
        with spec.limit.by_force():
            discover(journal, spec)
    elif journal.asked:
        begin_phase("reading what was asked before")
    state, replays = recall(journal, spec)
    _forget_cut_draws(journal, state)
    begin_phase("asking")
    with spec.limit.by_force(SHORTEST_WORK if journal.asked else 0.0):
        reason = _ask(journal, spec, state, replays, listener)
    journal.set_stopped(reason, spec.budget, state.strategy.audit)
    return state


def _ask(
    journal: Journal, spec: RunSpec, state: RunState, replays: Replays, listener: Listener
) -> StopReason:
    """Ask until there is a reason to stop, and return it."""
    workers = spec.workers or start_workers(WorkerSettings(), spec.problem)
    pool = WorkerPool(workers, state.strategy.longest_draw, spec.problem.limits)
    clock, begun = time.perf_counter(), _begun(journal, state.usage.queries)
    if journal.read_meta().audit is not None and state.stop_reason() is None:
        journal.set_meta(audit=None)
    while (reason := state.stop_reason(begun=begun is not None)) is None:
        number = state.usage.queries
        try:
            choice = state.strategy.next(number, begun)
        except OutOfTime:  # the simulator did not return from a reset
            return StopReason.budget("seconds")
        if begun is None:
            journal.begin_query(number, choice.record, choice.own_starts)
        query = Query(number, choice.tasks, spec.seed, choice.in_order)
        recorded = journal.draws(number) if begun else []
        with _costs_kept(journal, pool):
            draws = list(answers(state, query, recorded, pool))
        replayed = _replay(state, replays, query, draws)
        # A query that was interrupted also took the time of the draws it had.
        now = time.perf_counter()
        seconds, clock = sum(draw.seconds for draw in recorded) + now - clock, now
        known = len(state.graph.capabilities)
        state.absorb(choice.record, draws, seconds)
        # Before the query is finished: a kill in between must not lose what it discovered.
        journal.add_intents(state.graph.capabilities[known:], known)
        whole = replayed and len(draws) == len(choice.tasks)
        if whole and not _cut_by_budget(draws, state):
            journal.finish_query(number, state.strategy.describe(choice), seconds)
        begun = None
        listener(progress(state, choice.record))
    return reason


def _discovered(journal: Journal, budget: Budget) -> bool:
    """Return whether intents were discovered, with all the steps that the budget allows."""
    meta = journal.read_meta()
    if meta.discovered is None:
        return False
    allowed = budget.simulator_steps
    more = allowed is None or allowed > meta.discovery_steps
    return not (meta.discovery_cut and more and journal.query(0) is None)


def _cut_by_budget(draws: Sequence[Draw], state: RunState) -> bool:
    """Return whether a draw is to be made again if the run ever has more to spend.

    It need not be the last: of parallel draws, one may hang and the next be complete.
    """
    return any(draw.cut for draw in draws) and state.stop_reason() is not None


def _forget_cut_draws(journal: Journal, state: RunState) -> None:
    """Remove the draw that a budget cut short, and those after it, if there is more to spend now.

    All of them are made again. What they discovered may then come in another order.
    """
    number = state.usage.queries
    recorded = journal.draws(number) if journal.query(number) else []
    spent = sum((draw.usage for draw in recorded), state.usage)
    more = state.spec.budget.spent_by(spent) is None and state.spec.limit.to_ask()
    kept = next((index for index, draw in enumerate(recorded) if draw.cut), len(recorded))
    if more and kept < len(recorded):
        for index in reversed(range(kept, len(recorded))):
            journal.remove_draw(number, index)
            state.usage += Usage(llm_cost=recorded[index].llm_cost)
        journal.forget_intents(len(state.graph.capabilities))


def _begun(journal: Journal, number: int) -> BegunQuery | None:
    record = journal.query(number)
    return None if record is None else BegunQuery(record, journal.starts(number))


def discover(journal: Journal, spec: RunSpec) -> None:
    """Find the intents to begin with and record them."""
    steps = 0
    intents = list(spec.intents)
    if not intents:
        most = spec.budget.simulator_steps
        effects, steps = spec.limit.prepared(
            "intents were discovered",
            lambda: random_walks(spec.problem, spec.settings, spec.seed, most),
        )
        intents = list(intents_of(effects, spec.problem.vocabulary))
    if not intents:
        raise CapscopeError(
            f"no change was seen in {steps} random steps of {spec.problem.name}, so there is "
            "nothing to ask for; raise --set walks=… or walk-steps=…, or name --intents"
        )
    allowed = spec.budget.simulator_steps
    journal.add_discovery(intents, steps, cut=allowed is not None and steps >= allowed)


def _replay(state: RunState, replays: Replays, query: Query, draws: Sequence[Draw]) -> bool:
    """Replay what is new in the draws of a query; return whether the budget sufficed."""
    if not state.spec.limit.to_ask():
        return True
    steps, whole = replays.examine(query, draws, state.usage)
    state.usage += Usage(replay_steps=steps)
    return whole


def recall(journal: Journal, spec: RunSpec) -> tuple[RunState, Replays]:
    """Rebuild what a run knows from the finished queries of its journal."""
    initial = spec.limit.prepared(
        "the world was reset",
        lambda: reset_positions(spec.problem, spec.settings, spec.seed),
        at_least=SHORTEST_WORK if journal.asked else 0.0,
    )
    nothing_asked = journal.query(0) is None
    if nothing_asked and spec.carried:
        spec.limit.prepared(
            "positions of the other run were restored",
            lambda: keep_carried(spec.problem, spec.carried, journal, spec.seed),
        )
    state = RunState(spec, journal.read_meta(), journal, list(initial))
    replays = Replays(spec, journal, state.graph.capabilities)
    state.positions.count_initial_visits(keep=nothing_asked)
    if nothing_asked:
        began = spec.limit.prepared(
            "the world was reset",
            lambda: describe_initial(spec.problem, initial, spec.settings, spec.seed),
        )
        journal.set_meta(initial_positions=began)
    else:
        with understood(journal.path):
            journal.read_meta().require_known_atoms(journal.states)
        replays.recall(state.replay(ExecutionTable.read(journal)))
    return state, replays


def answers(
    state: RunState, query: Query, recorded: Sequence[Draw], pool: WorkerPool
) -> Iterator[Draw]:
    """Yield the draws of a query: those recorded before, then new ones while the budget lasts."""
    spent, budget, journal = state.usage, state.spec.budget, state.journal

    def left() -> Budget | None:
        seconds = state.spec.limit.to_ask()
        if budget.spent_by(spent) or not seconds:
            return None
        rest = budget.left_after(spent)
        return rest if rest.seconds is None else replace(rest, seconds=min(rest.seconds, seconds))

    resets = state.begins_with_resets
    for task, draw in zip(query.tasks, recorded, strict=False):
        if query.in_order:
            retrace(task, draw)
        state.positions.count_visits(draw, {}, task.start if resets else None)
        spent += draw.usage
        yield draw
    intents = state.graph.capabilities
    with closing(pool.answers(query, len(recorded), intents, left)) as found:
        for index, answer in enumerate(found, len(recorded)):
            start = query.tasks[index].start
            reset = start if resets else None
            kept = state.positions.count_visits(answer.draw, answer.positions, reset)
            journal.add_draw((query.number, index), start, answer.draw, kept)
            spent += answer.draw.usage
            yield answer.draw


@contextmanager
def _costs_kept(journal: Journal, pool: WorkerPool) -> Iterator[None]:
    """Record what was paid for draws that an error keeps from being recorded.

    Their answers are in the cache, so they cost nothing when the run is resumed; yet they did.
    """
    try:
        yield
    except BaseException:
        if pool.unrecorded_cost:
            earlier = journal.read_meta().unrecorded_cost
            journal.set_meta(unrecorded_cost=earlier + pool.unrecorded_cost)
        raise


def progress(state: RunState, record: QueryRecord) -> Event:
    """Describe where the run stands."""
    graph = state.graph
    return Event(
        usage=state.usage,
        states=len(graph.nodes),
        capabilities=len(graph.capabilities),
        transitions=graph.distinct_transitions,
        pairs_tried=graph.pairs_tried,
        status=dict(state.strategy.status(record)),
        graph=graph,
    )
