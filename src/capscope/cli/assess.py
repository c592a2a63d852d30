"""`capscope assess PROBLEM` and `capscope resume DIR`: find out what an agent can do."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer

from capscope.assessment.workers import WorkerSettings
from capscope.cli.options import (
    Json,
    ProblemArguments,
    RecordedProblem,
    RunArgument,
    Seed,
    Trust,
    with_budget,
    with_settings,
    with_workers,
)
from capscope.cli.output import interruptible, print_json, print_lines, progress
from capscope.cli.streams import write_message
from capscope.cli.view import Live, live_page
from capscope.errors import CapscopeError
from capscope.present.overview import run_document, run_lines
from capscope.problems import canonical_source, runs_python_file, source_slug
from capscope.record.run_directory import JOURNAL, RunDirectory
from capscope.record.settings import Settings
from capscope.record.usage import Budget
from capscope.run import Run, assess, resume
from capscope.strategy.registry import DEFAULT_STRATEGY, STRATEGIES


@with_settings
@with_budget
@with_workers
def assess_problem(
    problem: ProblemArguments,
    budget: Budget | None,
    settings: Settings,
    workers: WorkerSettings,
    strategy: Annotated[
        str,
        typer.Option(
            help=f"One of {', '.join(STRATEGIES.built_in)}, or a strategy of another package."
        ),
    ] = DEFAULT_STRATEGY,
    seed: Seed = 0,
    run: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="Where to keep the run.  [default: runs/PROBLEM-STRATEGY-SEED]",
            show_default=False,
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            help="'audited' or 'settled': what to stop at; 'settled' is --strategy exhaustive."
        ),
    ] = None,
    live: Live = False,
    json: Json = False,
) -> None:
    """Assess an agent and keep everything that was observed in a run directory."""
    strategy = _strategy_until(until, strategy)
    source = canonical_source(problem)
    slug = source_slug(source)
    directory = Path(run) if run else Path("runs") / f"{slug}-{strategy}-{seed}"
    with (
        _interruptible(directory, source),
        live_page(directory, live, budget),
        progress(slug, budget) as listener,
    ):
        result = assess(
            source,
            strategy=strategy,
            seed=seed,
            settings=settings,
            budget=budget,
            run=directory,
            listener=listener,
            workers=workers,
        )
    _print_result(result, json)


def _strategy_until(until: str | None, strategy: str) -> str:
    """Return the strategy that stops at what was asked for."""
    stops_at = {None: strategy, "audited": "adaptive", "settled": "exhaustive"}
    if until not in stops_at:
        raise CapscopeError(f"--until takes 'audited' or 'settled', not {until!r}")
    if strategy not in (DEFAULT_STRATEGY, stops_at[until]):
        raise CapscopeError(f"--until {until} is what --strategy {stops_at[until]} stops at")
    return stops_at[until]


@with_budget
@with_workers
def resume_run(
    run: RunArgument,
    budget: Budget | None,
    workers: WorkerSettings,
    problem: RecordedProblem = None,
    trust: Trust = False,
    live: Live = False,
    json: Json = False,
) -> None:
    """Continue a run; a budget given here replaces the one it was started with."""
    path = Path(run)
    source = canonical_source(problem) if problem else None
    with RunDirectory.open(path, read_only=True) as opened:
        before = opened.journal.read_meta()
    with (
        _interruptible(path, before.identity.source),
        live_page(path, live, budget or before.budget),
        progress(path.name, budget or before.budget) as listener,
    ):
        resumed = resume(
            path, problem=source, trust=trust, budget=budget, listener=listener, workers=workers
        )
    digests = before.file_digests
    if digests and resumed.meta.file_digests != digests:
        write_message(
            f"warning: {before.identity.source} has changed since the run was started; assess "
            "another agent in a run of its own: --run DIR"
        )
    _print_result(resumed, json)


def _interruptible(directory: Path, source: str) -> AbstractContextManager[None]:
    trust = " --trust" if runs_python_file(source) else ""

    def kept() -> str:
        if not (directory / JOURNAL).exists():
            return "nothing was started"
        return f"everything observed is kept. Continue with: capscope resume {directory}{trust}"

    return interruptible(kept)


def _print_result(run: Run, json: bool) -> None:
    if json:
        print_json(run_document(run))
    else:
        print_lines(run_lines(run))
