"""What the experiments need of run directories beyond `capscope.load`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from capscope import Budget, Problem, Usage, load
from capscope.assessment import RunSpec
from capscope.assessment.loop import recall
from capscope.model import StateGraph
from capscope.record.run_directory import JOURNAL, RunDirectory
from capscope.run import Run
from capscope.symbolic import State

Stage = tuple[Usage, StateGraph]
"""What was spent up to the end of a query, and what was known then."""


def snapshots_of(run: Run) -> Mapping[State, Sequence[bytes]]:
    """Return the snapshots that a run has of each state."""
    with run.open_journal() as journal:
        found = {
            state: [position.snapshot for position in journal.positions(state)]
            for state in run.graph.nodes
        }
    return {state: snapshots for state, snapshots in found.items() if snapshots}


def open_or_create(path: Path, spec: RunSpec) -> RunDirectory:
    """Open a run to continue it, or create it; refuse one that was started differently."""
    if not (path / JOURNAL).exists():
        return RunDirectory.create(path, spec.meta())
    run = RunDirectory.open(path)
    try:
        run.admit(spec.identity, spec.budget)
    except BaseException:
        run.close()
        raise
    return run


def choose_next(path: Path, problem: Problem) -> None:
    """Recall a run and choose its next query, as a resumed run does before it asks anything."""
    with RunDirectory.open(path) as run:
        state = recall(run.journal, RunSpec.continuing(run.journal.read_meta(), problem))
        state.strategy.next(state.usage.queries)


def stages_within(path: Path, budget: Budget) -> Iterator[Stage]:
    """Replay a run up to the query that spent a budget; the graph is one object that grows."""
    for usage, graph in load(path).replay():
        yield usage, graph
        if budget.spent_by(usage):
            return


def finished_stages(path: Path, budget: Budget) -> Iterator[Stage]:
    """Leave out a query that was interrupted: it is completed when the run continues."""
    finished = load(path).executions.queries.finished
    for usage, graph in stages_within(path, budget):
        if finished[usage.queries - 1]:
            yield usage, graph
