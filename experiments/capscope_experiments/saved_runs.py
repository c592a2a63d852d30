"""Run directories, as the experiments read them. No other module of the experiments opens one."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from capscope.assessment import Budget, RunDirectory, RunSpec, Usage
from capscope.assessment.reading import Reading, read_journal, read_run, replay
from capscope.model import StateGraph
from capscope.record.journal import Draw
from capscope.record.run_directory import JOURNAL
from capscope.symbolic import State

Stage = tuple[Usage, StateGraph]
"""What was spent up to the end of a query, and what was known then."""


def read(path: Path) -> Reading:
    """Read a run: its graph, usage and settings."""
    return read_run(path)


def read_positions(path: Path) -> tuple[StateGraph, Mapping[State, Sequence[bytes]]]:
    """Read the graph of a run, and the snapshots it has of each state."""
    with RunDirectory.open(path, read_only=True) as run:
        graph = read_journal(path, run.journal).graph
        snapshots = {state: run.journal.snapshots(state) for state in graph.nodes}
    return graph, {state: found for state, found in snapshots.items() if found}


def read_stages(path: Path) -> Iterator[Stage]:
    """Replay a run query by query; the graph is one object that grows in place."""
    with RunDirectory.open(path, read_only=True) as run:
        yield from replay(run.journal)


def read_queries(path: Path) -> Iterator[Sequence[Draw]]:
    """Yield the draws of each query, in order."""
    with RunDirectory.open(path, read_only=True) as run:
        for number in itertools.count():
            if run.journal.query(number) is None:
                return
            yield run.journal.draws(number)


def open_or_create(path: Path, spec: RunSpec) -> RunDirectory:
    """Open a run to continue it, or create it; refuse one that was started differently."""
    if not (path / JOURNAL).exists():
        return RunDirectory.create(path, spec.meta())
    run = RunDirectory.open(path)
    try:
        run.admit(spec.identity(), spec.budget)
    except BaseException:
        run.close()
        raise
    return run


def reason_it_stopped(run: RunDirectory, budget: Budget) -> str | None:
    """Return why an open run stopped under a budget; None if it did not."""
    stopped = run.journal.read_meta().get("stopped", {})
    return str(stopped["because"]) if stopped.get("budget") == budget.as_dict() else None


def last_stage(run: RunDirectory) -> Stage:
    """Return the last stage of an open run, also if it asked no query."""
    reading = read_journal(run.path, run.journal)
    return reading.usage, reading.graph


def stages_within(run: RunDirectory, budget: Budget) -> Iterator[Stage]:
    """Replay an open run up to the query that spent a budget."""
    for usage, graph in replay(run.journal):
        yield usage, graph
        if budget.spent_by(usage):
            return


def finished_stages(run: RunDirectory, stages: Iterable[Stage]) -> Iterator[Stage]:
    """Skip queries that were interrupted: they are completed when the run continues."""
    for usage, graph in stages:
        record = run.journal.query(usage.queries - 1)
        if record is not None and record.finished:
            yield usage, graph
