"""`capscope resume DIR`: continue a run that was interrupted or whose budget is raised."""

from __future__ import annotations

import sys
from pathlib import Path

from capscope.cli.assess import interruptible, report
from capscope.cli.options import Json, RunArgument, Workers, with_budget
from capscope.cli.output import progress
from capscope.problems import text_digest
from capscope.record.run_directory import RunDirectory
from capscope.record.usage import Budget
from capscope.run import resume


@with_budget
def resume_run(
    run: RunArgument, budget: Budget | None, workers: Workers = 1, json: Json = False
) -> None:
    """Continue a run; a budget given here replaces the one it was started with."""
    directory = Path(run)
    with RunDirectory.open(directory, read_only=True) as opened:
        meta = opened.journal.read_meta()
    with interruptible(directory), progress(directory.name, budget or meta.budget) as listener:
        resumed = resume(directory, budget=budget, listener=listener, workers=workers)
    text = text_digest(meta.identity.source)
    if text is not None and meta.file_digests and text != meta.file_digests[-1]:
        sys.stderr.write(
            f"warning: {meta.identity.source} has changed since the run was started; another agent "
            "needs a run of its own: --run DIR\n"
        )
    report(resumed, json)
