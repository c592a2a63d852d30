"""`capscope compare NEW --against DIR`: does a new version behave as the last one did?"""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from capscope.assessment.workers import WorkerSettings
from capscope.cli.assess import under_way
from capscope.cli.options import (
    Json,
    Live,
    ProblemArguments,
    Seed,
    grouped,
    with_budget,
    with_workers,
)
from capscope.cli.output import print_answer
from capscope.insight.compare.wording import comparison_lines
from capscope.journal.run_meta import Budget
from capscope.journal.settings import OptionGroup, Settings
from capscope.logic import to_json
from capscope.problems import canonical_source, source_slug
from capscope.run import load

_AGAINST = "The run of the last version: what capscope assess or capscope compare kept."
_RUN = "Where to keep the executions.  [default: runs/PROBLEM-compare-SEED]"
_WITHIN = "Rate of executions in use that may differ for the agent to be called unchanged."
_MOST = 1000
"""Executions after which a comparison without a budget is given up."""


@with_budget
@with_workers
def compare_versions(
    problem: ProblemArguments,
    budget: Budget | None,
    workers: WorkerSettings,
    against: Annotated[str, grouped(OptionGroup.WHAT, _AGAINST, metavar="DIR")],
    within: Annotated[float, grouped(OptionGroup.CLAIM, _WITHIN)] = Settings().within,
    seed: Seed = 0,
    run: Annotated[
        str | None, grouped(OptionGroup.WHERE, _RUN, metavar="DIR", show_default=False)
    ] = None,
    live: Live = False,
    json: Json = False,
) -> None:
    """Execute a new version of an agent until it is shown to differ from a run, or not to.

    Exit codes: 0 unchanged, 1 changed, 3 undecided, 2 an error.
    """
    source = canonical_source(problem)
    slug = source_slug(source)
    directory = Path(run) if run else Path("runs") / f"{slug}-compare-{seed}"
    limits = budget or Budget(executions=_MOST)
    baseline = load(against)
    with under_way(directory, source, slug, live, limits) as listener:
        found = baseline.compare(
            source,
            within=within,
            seed=seed,
            budget=limits,
            run=directory,
            listener=listener,
            workers=replace(workers, ends_program=True),
        )
    lines = [*comparison_lines(found), f"kept in {directory}; compare the next version with it"]
    print_answer(json, lambda: to_json(found), lambda: lines)
    raise typer.Exit(found.exit_code)
