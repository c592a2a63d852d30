"""What the experiments need of run directories beyond `capscope.load`, and saved results.

A result that takes long to compute is in a JSON file with the terms it was computed under. It is
reused only under the same terms, so an interrupted or changed bench never shows a number that
belongs to another question.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from capscope import Budget, Problem, Usage, load
from capscope.assessment import RunSpec
from capscope.assessment.loop import recall
from capscope.journal.run_directory import JOURNAL, RunDirectory, write_atomically
from capscope.logic import State
from capscope.model import StateGraph
from capscope.run import Run

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
        state, _ = recall(run.journal, RunSpec.continuing(run.journal.read_meta(), problem))
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


def load_result(path: Path, terms: Any) -> Any | None:
    """Return the result in a file; None if there is none that was computed under these terms."""
    try:
        document = json.loads(path.read_text("utf-8"))
        # Compared as JSON: a tuple comes back as a list.
        same = document["terms"] == json.loads(json.dumps(terms))
        return document["result"] if same else None
    except (OSError, ValueError, KeyError, TypeError):
        return None  # missing, or not written by us: it is computed again


def save_result(path: Path, terms: Any, result: Any) -> None:
    """Save a result with its terms; its folder is made if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps({"terms": terms, "result": result}) + "\n")
