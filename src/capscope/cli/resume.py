"""`capscope resume DIR`: go on with a run that was interrupted or whose budget is raised."""

from __future__ import annotations

from pathlib import Path

from capscope.api import resume
from capscope.assessment import Budget, Run
from capscope.cli.assess import interruptible, report
from capscope.cli.options import Json, RunDirectory, Workers, with_budget
from capscope.cli.output import patience_of, progress


@with_budget
def resume_run(
    run: RunDirectory, budget: Budget | None, workers: Workers = 1, json: Json = False
) -> None:
    """Go on with a run; a budget given here replaces the one it was started with."""
    directory = Path(run)
    with Run.open(directory, read_only=True) as opened:
        meta = opened.journal.read_meta()
    shown = budget or Budget(**meta["budget"])
    patience = patience_of(meta["identity"]["strategy"], meta["identity"]["settings"]["patience"])
    with interruptible(directory), progress(directory.name, shown, patience) as listener:
        result = resume(directory, budget=budget, listener=listener, workers=workers)
    report(result, json)
