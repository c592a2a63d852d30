"""`capscope resume DIR`: go on with a run that was interrupted or whose budget is raised."""

from __future__ import annotations

import sys
from pathlib import Path

from capscope.api import resume
from capscope.assessment import Budget, RunDirectory
from capscope.cli.assess import interruptible, report
from capscope.cli.options import Json, RunArgument, Workers, with_budget
from capscope.cli.output import patience_of, progress
from capscope.problems import text_digest
from capscope.record.run_directory import TEXTS


@with_budget
def resume_run(
    run: RunArgument, budget: Budget | None, workers: Workers = 1, json: Json = False
) -> None:
    """Go on with a run; a budget given here replaces the one it was started with."""
    directory = Path(run)
    with RunDirectory.open(directory, read_only=True) as opened:
        meta = opened.journal.read_meta()
    shown = budget or Budget(**meta["budget"])
    patience = patience_of(meta["identity"]["strategy"], meta["identity"]["settings"]["patience"])
    with interruptible(directory), progress(directory.name, shown, patience) as listener:
        result = resume(directory, budget=budget, listener=listener, workers=workers)
    text = text_digest(result.spec.source)
    if text is not None and text not in meta.get(TEXTS, [text])[-1:]:
        sys.stderr.write(
            f"warning: {result.spec.source} has changed since the run was begun; another agent "
            "needs a run of its own: --run DIR\n"
        )
    report(result, json)
